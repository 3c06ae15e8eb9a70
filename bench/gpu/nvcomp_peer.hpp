// nvCOMP's cascades, from a library that is loaded where it is at hand.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.hpp"

namespace crossdock {

// A column in chunks of 64 KiB, there and back. Seconds are medians.
struct NvcompTimes {
  double encode_s = 0;
  double decode_s = 0;
  double coded_bytes = 0;
  bool is_right = false;
};

// Of integers of 4 or 8 bytes. `library` is the path of libnvcomp.so.6. CD-603 with the loader's reason, or where the
// library has other calls; CD-901 with what nvCOMP answers.
Result<NvcompTimes> time_nvcomp(const std::string& library,
                                std::span<const std::byte> values,
                                int width);

}  // namespace crossdock
