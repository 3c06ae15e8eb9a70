#include "scan/delta_reader.hpp"

#include <algorithm>
#include <cstring>

namespace crossdock::scan {
namespace {

constexpr uint64_t kBlockValuesMost = uint64_t{1} << 24;
constexpr uint64_t kMiniblockUnit = 32;  // values of a miniblock are a multiple

Error malformed() {
  return make_error(ErrorCode::kSourceFailed, "differences of a page are malformed");
}

// Reads bytes one after the other; after a fault, zeros.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  size_t position() const { return at_; }

  uint8_t byte() {
    if (at_ == bytes_.size()) {
      failed_ = true;
      return 0;
    }
    return bytes_[at_++];
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t part = byte();
      value |= uint64_t{part & 0x7FU} << shift;
      if ((part & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  uint64_t zigzag() {
    const uint64_t value = varint();
    return (value >> 1) ^ (~(value & 1) + 1);
  }
  // The next bytes, fewer where these end: the last miniblock may be cut.
  std::span<const uint8_t> take(size_t count) {
    const auto taken = bytes_.subspan(at_, std::min(count, bytes_.size() - at_));
    at_ += taken.size();
    return taken;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

// Value `number` of those of `width` bits that are packed in `bytes`.
uint64_t packed_value(std::span<const uint8_t> bytes, size_t number, unsigned width) {
  const size_t bit = number * width;
  uint8_t around[16] = {};
  const size_t first = bit / 8;
  std::memcpy(around, bytes.data() + first, std::min<size_t>(9, bytes.size() - first));
  uint64_t low = 0;
  std::memcpy(&low, around, 8);
  const unsigned shift = bit % 8;
  uint64_t value = low >> shift;
  if (shift > 0) value |= uint64_t{around[8]} << (64 - shift);
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

struct Shape {
  uint64_t miniblocks = 0;
  uint64_t miniblock_values = 0;
  uint64_t values = 0;
};

// Adds the values of one block, up to `shape.values` in all.
bool read_block(ByteReader& in, const Shape& shape, uint64_t& last, std::vector<int64_t>& values) {
  const uint64_t least = in.zigzag();
  const auto widths = in.take(shape.miniblocks);
  if (in.failed() || widths.size() < shape.miniblocks) return false;
  for (const uint8_t width : widths) {
    if (values.size() >= shape.values) break;  // no bytes are stored for these
    if (width > 64) return false;
    const auto count = static_cast<size_t>(
        std::min<uint64_t>(shape.miniblock_values, shape.values - values.size()));
    const auto packed = in.take(shape.miniblock_values * width / 8);
    if (packed.size() < (count * width + 7) / 8) return false;
    for (size_t i = 0; i < count; ++i) {
      last += least + (width == 0 ? 0 : packed_value(packed, i, width));
      values.push_back(static_cast<int64_t>(last));
    }
  }
  return true;
}

}  // namespace

Result<DeltaNumbers> read_deltas(std::span<const uint8_t> bytes, int64_t most) {
  ByteReader in(bytes);
  Shape shape;
  const uint64_t block_values = in.varint();
  shape.miniblocks = in.varint();
  shape.values = in.varint();
  uint64_t last = in.zigzag();
  if (in.failed() || block_values == 0 || block_values > kBlockValuesMost ||
      shape.miniblocks == 0 || block_values % shape.miniblocks != 0 ||
      block_values / shape.miniblocks % kMiniblockUnit != 0 ||
      shape.values > static_cast<uint64_t>(most)) {
    return malformed();
  }
  shape.miniblock_values = block_values / shape.miniblocks;
  DeltaNumbers numbers;
  if (shape.values > 0) numbers.values.push_back(static_cast<int64_t>(last));
  while (numbers.values.size() < shape.values) {
    if (!read_block(in, shape, last, numbers.values)) return malformed();
  }
  numbers.bytes = in.position();
  return numbers;
}

}  // namespace crossdock::scan
