// What processes of one host tell each other about their parts of channels, as notes of Neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace crossdock::channels {

struct PartNote {
  enum class Kind : uint8_t {
    kPart,  // here is the memory of my part
    kOver,  // the channel is over, because of `cause`
  } kind = Kind::kPart;
  uint64_t channel = 0;
  Error cause;
};

// At most kNoteBytesMax bytes: a long cause is cut.
std::string note_text(const PartNote& note);
// Nothing if it is no such note.
std::optional<PartNote> parse_note(const std::string& text);

}  // namespace crossdock::channels
