// Values of CSV that are none of a type, for readers of CSV outside of the engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <crossdock/crossdock.hpp>

namespace crossdock {

// Strings as Arrow has them, one more end than there are strings.
struct CsvStrings {
  std::span<const int32_t> ends;
  std::span<const uint8_t> bytes;
};

// The strings, without quotes, that the first column of `like` does not take from CSV, in order; `nulls` are taken.
// Throws CD-102 for a type that is not read from CSV, CD-201.
std::vector<int64_t> csv_bad_values(const Engine& engine,
                                    const CsvStrings& strings,
                                    const ArrowTable& like,
                                    const std::vector<std::string>& nulls);

}  // namespace crossdock
