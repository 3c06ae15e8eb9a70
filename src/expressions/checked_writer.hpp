// Writes integers of a step row by row, each checked against a range. Internal to the room.
#pragma once

#include <bit>
#include <cstdint>

#include "expressions/step_frame.hpp"

namespace crossdock::expressions::steps {

constexpr int32_t kWordBits = 63;

inline int32_t bits_of(UInt128 magnitude) {
  const auto high = static_cast<uint64_t>(magnitude >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<uint64_t>(magnitude));
}

inline UInt128 magnitude_of(Int128 value) { return static_cast<UInt128>(value ^ (value >> 127)); }

// `out` is what open_value has opened; finish() narrows the whole when it fits words.
class CheckedWriter {
 public:
  CheckedWriter(const Frame& frame, int32_t index, Value& out, const IntegerRange& range)
      : frame_(frame), index_(index), out_(out), range_(range), slot_(frame.slot(index)) {}

  void put(int32_t row, Int128 value, bool failed) {
    if (failed || value < range_.min || value > range_.max) [[unlikely]] {
      frame_.poison(index_, out_, row);
      value = 0;
    }
    magnitude_ |= magnitude_of(value);
    slot_.low[row] = static_cast<uint64_t>(value);
    slot_.high[row] = static_cast<uint64_t>(value >> 64);
  }

  void finish() {
    out_.low = slot_.low;
    out_.bits = bits_of(magnitude_);
    out_.high = out_.bits <= kWordBits ? nullptr : slot_.high;
  }

 private:
  const Frame& frame_;
  int32_t index_;
  Value& out_;
  IntegerRange range_;
  Slot slot_;
  UInt128 magnitude_ = 0;
};

}  // namespace crossdock::expressions::steps
