// The least and the greatest of words, as signed numbers.
#pragma once

#include <cstdint>

#include "data/rings/annotations.hpp"

namespace crossdock::operators {

struct WordRange {
  int64_t least;
  int64_t most;

  bool operator==(const WordRange&) const = default;
  CD_HOST_DEVICE constexpr bool is_empty() const { return least > most; }
  CD_HOST_DEVICE constexpr WordRange with(const WordRange& other) const {
    return {other.least < least ? other.least : least, other.most > most ? other.most : most};
  }
};
inline constexpr WordRange kNoRange{INT64_MAX, INT64_MIN};

}  // namespace crossdock::operators
