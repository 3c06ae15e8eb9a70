// Blocks of rows become images (intern_kernels.hpp), which are looked up together; only values that
// are new take the way one by one.
#include "table/bytes_interner.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"

namespace crossdock {
namespace {

using intern::Image;
using intern::ImageBlock;
using intern::ImageTable;
using intern::kBlockRows;
using keys::RangeRows;

constexpr std::string_view kWho = "the codes of a string key";
constexpr int32_t kSlotBitsMin = 11;
constexpr uint64_t kEntriesMin = 512;
constexpr int64_t kHeapBytesMin = int64_t{64} << 10;
constexpr int kHeapDoublings = 6;  // up to 4 MiB, or one value

KeySide side_of(const DataType& type) {
  const KeySide side = make_key_side(type, KeyKind{KeyForm::kBytes});
  CD_CHECK(side.stored == Stored::kBytes32 || side.stored == Stored::kBytes64 ||
               side.stored == Stored::kByteViews,
           "type {}",
           type_name(type));
  return side;
}

}  // namespace

BytesInterner::Scratch::Scratch(const DataType& type) : side_(side_of(type)) {}

BytesInterner::BytesInterner(Memory& memory, uint32_t values_max, uint64_t seed)
    : memory_(&memory),
      values_max_(std::min(values_max, kNoCode - 1)),
      index_mask_(static_cast<uint32_t>((uint64_t{1} << std::bit_width(values_max_)) - 1)),
      seed_(intern::ImageSeed::from(seed)) {}

ImageTable BytesInterner::table() const {
  return {slots_.as<uint32_t>(), entries_.as<Image>(), index_mask_, slot_bits_};
}

int64_t BytesInterner::memory_bytes() const {
  int64_t bytes = slots_.bytes() + entries_.bytes() + longs_.bytes();
  for (const Block& heap : heaps_) bytes += heap.bytes();
  return bytes;
}

std::string_view BytesInterner::value(uint32_t code) const {
  const Image& image = entries_.as<Image>()[code + 1];
  if (image.is_long()) {
    return {reinterpret_cast<const char*>(long_bytes(code + 1)), image.words[1]};
  }
  return {reinterpret_cast<const char*>(image.words), image.words[3] >> 32};
}

// The entry of a value, or 0.
uint32_t BytesInterner::find_one(const Image& image, const uint8_t* data) const {
  if (slot_bits_ == 0) return 0;
  const ImageTable table = this->table();
  const uint64_t hash = intern::hash_image(image, seed_);
  for (uint64_t at = table.slot(hash);; at = (at + 1) & table.slot_mask()) {
    const uint32_t slot = table.slots[at];
    if (slot == 0) return 0;
    const uint32_t index = slot & index_mask_;
    if ((slot & ~index_mask_) != table.tag(hash)) continue;
    if (!intern::same_image(table.entries[index], image)) continue;
    if (!image.is_long() || std::memcmp(long_bytes(index), data, image.words[1]) == 0) return index;
  }
}

void BytesInterner::find_block(const ImageBlock& block, int32_t count, uint32_t* indices) const {
  if (slot_bits_ == 0) {
    std::fill_n(indices, count, 0);
    return;
  }
  intern::find_images(table(), block, count, indices);
  if (!block.any_long) return;
  for (int32_t i = 0; i < count; ++i) {
    const Image& image = block.images[i];
    if (!image.is_long() || indices[i] == 0) continue;
    if (std::memcmp(long_bytes(indices[i]), block.data[i], image.words[1]) == 0) continue;
    // Another value of this hash and length came first.
    indices[i] = find_one(image, block.data[i]);
  }
}

void BytesInterner::find_rows(const RangeRows& rows,
                              Stored stored,
                              int32_t count,
                              uint32_t* codes) const {
  ImageBlock block;
  for (int32_t done = 0; done < count; done += kBlockRows) {
    const int32_t part = std::min(kBlockRows, count - done);
    uint32_t* const out = codes + done;
    intern::read_images(RangeRows{rows.column, rows.begin + done}, stored, part, seed_, block);
    find_block(block, part, out);
    static_assert(kNoCode == uint32_t{0} - 1, "what index 0, no entry, becomes");
    for (int32_t i = 0; i < part; ++i) out[i] -= 1;
    if (!block.any_nulls) continue;
    for (int32_t i = 0; i < part; ++i) out[i] |= block.valid[i] != 0 ? 0 : kNoCode;
  }
}

// Makes scratch.codes_ those of the dictionary's values.
void BytesInterner::translate(const ColumnView& dictionary, Scratch& scratch) const {
  const bool known = scratch.owner_ == this && scratch.value_count_ == value_count_ &&
                     !scratch.codes_.empty() && same_memory(dictionary, scratch.known_);
  if (known) return;
  scratch.owner_ = this;
  scratch.value_count_ = value_count_;
  scratch.known_ = dictionary;
  // One at least, so that the index of a null row can be clamped to something.
  scratch.codes_.assign(std::max<int64_t>(dictionary.length, 1), kNoCode);
  for (int64_t begin = 0; begin < dictionary.length; begin += kMaxKeyRows) {
    const auto part =
        static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, dictionary.length - begin));
    uint32_t* codes = scratch.codes_.data() + begin;
    find_rows(RangeRows{dictionary, begin}, scratch.side_.stored, part, codes);
  }
}

void BytesInterner::find(const ColumnView& column,
                         int64_t begin,
                         int32_t count,
                         uint32_t* codes,
                         Scratch& scratch) const {
  CD_CHECK(count <= kMaxKeyRows, "rows {}", count);
  const RangeRows rows{column, begin};
  if (!scratch.side_.dictionary) {
    find_rows(rows, scratch.side_.stored, count, codes);
    return;
  }
  translate(*column.dictionary, scratch);
  uint64_t positions[kMaxKeyRows];
  keys::read_words(rows, scratch.side_.index, count, positions);
  const uint64_t size = scratch.codes_.size();
  for (int32_t i = 0; i < count; ++i)
    codes[i] = scratch.codes_[positions[i] < size ? positions[i] : 0];
  if (!rows.any_nulls()) return;
  for (int32_t i = 0; i < count; ++i) codes[i] |= rows.valid(i) ? 0 : kNoCode;
}

Status BytesInterner::add(const DataType& type,
                          const ColumnView& column,
                          int64_t begin,
                          int32_t count) {
  CD_CHECK(count <= kMaxKeyRows, "rows {}", count);
  const KeySide side = side_of(type);
  return side.dictionary ? add_encoded(column, side, begin, count)
                         : add_rows(column, side.stored, begin, count);
}

Status BytesInterner::add_rows(const ColumnView& column,
                               Stored stored,
                               int64_t begin,
                               int32_t count) {
  ImageBlock block;
  uint32_t indices[kBlockRows];
  for (int32_t done = 0; done < count && !is_full_; done += kBlockRows) {
    const int32_t part = std::min(kBlockRows, count - done);
    intern::read_images(RangeRows{column, begin + done}, stored, part, seed_, block);
    find_block(block, part, indices);
    for (int32_t i = 0; i < part; ++i) {
      if (indices[i] != 0 || (block.any_nulls && block.valid[i] == 0)) continue;
      CD_TRY(add_value(block.images[i], block.data[i]));
    }
  }
  return {};
}

Status BytesInterner::add_encoded(const ColumnView& column,
                                  const KeySide& side,
                                  int64_t begin,
                                  int32_t count) {
  const ColumnView& dictionary = *column.dictionary;
  if (added_.empty() || !same_memory(dictionary, added_dictionary_)) {
    added_dictionary_ = dictionary;
    added_.assign(std::max<int64_t>(dictionary.length, 1), 0);
  }
  const RangeRows rows{column, begin};
  uint64_t positions[kMaxKeyRows];
  keys::read_words(rows, side.index, count, positions);
  for (int32_t i = 0; i < count && !is_full_; ++i) {
    if (rows.any_nulls() && !rows.valid(i)) continue;
    const uint64_t position = positions[i];
    if (added_[position] != 0) continue;
    CD_TRY(add_rows(dictionary, side.stored, static_cast<int64_t>(position), 1));
    added_[position] = 1;
  }
  return {};
}

Status BytesInterner::add_all(const BytesInterner& other) {
  CD_CHECK(std::equal(seed_.words, seed_.words + 4, other.seed_.words), "two seeds");
  const auto* images = other.entries_.as<Image>();
  for (uint32_t index = 1; index <= other.value_count_ && !is_full_; ++index) {
    const Image& image = images[index];
    CD_TRY(add_value(image, image.is_long() ? other.long_bytes(index) : nullptr));
  }
  is_full_ |= other.is_full_;
  return {};
}

Status BytesInterner::add_value(const Image& image, const uint8_t* data) {
  if (is_full_ || find_one(image, data) != 0) return {};
  if (value_count_ == values_max_) {
    is_full_ = true;
    return {};
  }
  CD_TRY(make_room());
  const uint32_t index = value_count_ + 1;
  if (image.is_long()) {
    CD_TRY(store_long(index, data, static_cast<int64_t>(image.words[1])));
  }
  entries_.as<Image>()[index] = image;
  intern::place(slots_.as<uint32_t>(), table(), intern::hash_image(image, seed_), index);
  value_count_ = index;
  return {};
}

// For one more entry, and so that no more than a quarter of the slots are in use: nearly every value
// is then found in its own slot, which makes finding a fifth faster than with half of them in use.
Status BytesInterner::make_room() {
  const uint64_t entries = uint64_t{value_count_} + 2;
  if (entries > entries_room_) {
    const uint64_t room = std::max(kEntriesMin, 2 * entries_room_);
    CD_ASSIGN(Block grown, memory_->get(static_cast<int64_t>(room * sizeof(Image)), kWho));
    if (entries_room_ == 0) {
      grown.as<Image>()[0] = Image{{0, 0, 0, intern::kAbsentMark << 32}};
    } else {
      std::memcpy(grown.data(), entries_.data(), (entries - 1) * sizeof(Image));
    }
    entries_ = std::move(grown);
    entries_room_ = room;
  }
  if (slot_bits_ != 0 && 4 * entries <= uint64_t{1} << slot_bits_) return {};
  const int32_t bits = slot_bits_ == 0 ? kSlotBitsMin : slot_bits_ + 1;
  const int64_t bytes = static_cast<int64_t>(sizeof(uint32_t)) << bits;
  CD_ASSIGN(Block slots, memory_->get(bytes, kWho));
  std::memset(slots.data(), 0, static_cast<size_t>(bytes));
  slots_ = std::move(slots);
  slot_bits_ = bits;
  const auto* images = entries_.as<Image>();
  for (uint32_t index = 1; index <= value_count_; ++index) {
    intern::place(slots_.as<uint32_t>(), table(), intern::hash_image(images[index], seed_), index);
  }
  return {};
}

Status BytesInterner::store_long(uint32_t index, const uint8_t* data, int64_t bytes) {
  const auto pointers = static_cast<int64_t>(entries_room_ * sizeof(const uint8_t*));
  if (longs_.bytes() < pointers) {
    CD_ASSIGN(Block grown, memory_->get(pointers, kWho));
    if (longs_.bytes() > 0) std::memcpy(grown.data(), longs_.data(), longs_.bytes());
    longs_ = std::move(grown);
  }
  if (heaps_.empty() || heaps_.back().bytes() - heap_used_ < bytes) {
    const auto doublings = std::min<int>(kHeapDoublings, static_cast<int>(heaps_.size()));
    CD_ASSIGN(Block heap, memory_->get(std::max(bytes, kHeapBytesMin << doublings), kWho));
    heaps_.push_back(std::move(heap));
    heap_used_ = 0;
  }
  uint8_t* to = heaps_.back().data() + heap_used_;
  std::memcpy(to, data, static_cast<size_t>(bytes));
  heap_used_ += bytes;
  longs_.as<const uint8_t*>()[index] = to;
  return {};
}

}  // namespace crossdock
