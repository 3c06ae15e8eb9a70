// Packed bits in groups of eight values.
#include "scan/run_decoder.hpp"

#include <algorithm>
#include <cstring>

#include "scan/code_kernels.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kGroup = 8;  // values that are packed together

}  // namespace

bool RunDecoder::next_run() {
  uint64_t head = 0;
  for (int shift = 0;; shift += 7) {
    if (at_ == end_ || shift > 28) return false;
    const uint8_t part = *at_++;
    head |= uint64_t{part & 0x7FU} << shift;
    if ((part & 0x80) == 0) break;
  }
  is_packed_ = (head & 1) != 0;
  const auto count = static_cast<int64_t>(head >> 1);
  if (!is_packed_) {
    const int64_t bytes = (bits_ + 7) / 8;
    if (end_ - at_ < bytes) return false;
    value_ = 0;
    std::memcpy(&value_, at_, static_cast<size_t>(bytes));
    at_ += bytes;
    left_ = count;
    return true;
  }
  if (bits_ == 0) {  // nothing is stored
    is_packed_ = false;
    value_ = 0;
    left_ = count * kGroup;
    return true;
  }
  // The last run may be cut where the values end.
  const int64_t bytes = std::min<int64_t>(count * bits_, end_ - at_);
  packed_ = at_;
  packed_at_ = 0;
  left_ = bytes * 8 / bits_;
  at_ += bytes;
  return true;
}

// From any place of the packed run. Whole groups are unpacked in place, the others beside.
void RunDecoder::unpack(int64_t count, uint32_t* out) {
  while (count > 0) {
    const int64_t group = packed_at_ / kGroup;
    const int64_t in_group = packed_at_ % kGroup;
    const uint8_t* in = packed_ + group * bits_;
    const int64_t readable = end_ - in;
    int64_t groups = in_group == 0 ? count / kGroup : 0;
    groups = std::min(groups, std::max<int64_t>(0, readable - kUnpackAhead) / bits_);
    int64_t some = groups * kGroup;
    if (groups > 0) {
      unpack_groups(bits_, in, groups, out);
    } else {
      uint8_t bytes[RunDecoder::kMaxBits + kUnpackAhead] = {};
      uint32_t values[kGroup];
      std::memcpy(bytes, in, static_cast<size_t>(std::min<int64_t>(readable, bits_)));
      unpack_groups(bits_, bytes, 1, values);
      some = std::min(count, kGroup - in_group);
      std::copy_n(values + in_group, some, out);
    }
    packed_at_ += some;
    out += some;
    count -= some;
  }
}

bool RunDecoder::read(int64_t count, uint32_t* out) {
  while (count > 0) {
    if (left_ == 0 && !next_run()) return false;
    const int64_t some = std::min(count, left_);
    if (is_packed_) {
      unpack(some, out);
    } else {
      std::fill_n(out, some, value_);
    }
    out += some;
    count -= some;
    left_ -= some;
  }
  return true;
}

bool RunDecoder::skip(int64_t count) {
  while (count > 0) {
    if (left_ == 0 && !next_run()) return false;
    const int64_t some = std::min(count, left_);
    if (is_packed_) packed_at_ += some;
    count -= some;
    left_ -= some;
  }
  return true;
}

bool RunDecoder::take_run(int64_t count, uint32_t* value) {
  if (left_ == 0 && !next_run()) return false;
  if (is_packed_ || left_ < count) return false;
  *value = value_;
  left_ -= count;
  return true;
}

}  // namespace crossdock::scan
