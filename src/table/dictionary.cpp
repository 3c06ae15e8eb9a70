// Merging dictionaries: every value is looked up once by its bytes; batches whose dictionary is the
// beginning of the merged one keep their indices.
#include "table/dictionary.hpp"

#include <cstring>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "base/integer_types.hpp"

namespace crossdock {
namespace {

constexpr uint64_t kInlineViewBytes = 12;
constexpr uint64_t kMaxHeapBytes = std::numeric_limits<int32_t>::max();

// The bytes of one value. A bool is one byte here.
std::string_view value_bytes(const DataType& type, const ColumnView& values, int64_t row) {
  static constexpr char kBools[2] = {0, 1};
  const auto* bytes = reinterpret_cast<const char*>(values.values);
  const int64_t at = values.offset + row;
  switch (layout(type)) {
    case Layout::kBits:
      return {kBools + ((bytes[at >> 3] >> (at & 7)) & 1), 1};
    case Layout::kFixed: {
      const auto width = static_cast<size_t>(fixed_bytes(type));
      return {bytes + static_cast<size_t>(at) * width, width};
    }
    case Layout::kOffsets32: {
      const auto* offsets = static_cast<const int32_t*>(values.offsets) + at;
      return {bytes + offsets[0], static_cast<size_t>(offsets[1] - offsets[0])};
    }
    case Layout::kOffsets64: {
      const auto* offsets = static_cast<const int64_t*>(values.offsets) + at;
      return {bytes + offsets[0], static_cast<size_t>(offsets[1] - offsets[0])};
    }
    case Layout::kViews:
      break;
  }
  int32_t view[4];
  std::memcpy(view, bytes + at * 16, sizeof view);
  const auto length = static_cast<size_t>(view[0]);
  if (length <= kInlineViewBytes) return {bytes + at * 16 + 4, length};
  return {reinterpret_cast<const char*>(values.heaps[view[2]]) + view[3], length};
}

// The merged values in order, and where each of them stands.
class Merger {
 public:
  explicit Merger(const DataType& type) : type_(type) {}

  // Takes every value of the first dictionary at its own position, duplicates included.
  void start(const ColumnView& first) {
    for (int64_t row = 0; row < first.length; ++row) {
      if (first.is_valid(row)) {
        const std::string_view bytes = value_bytes(type_, first, row);
        positions_.try_emplace(bytes, size());
        append(bytes);
      } else {
        append_null();
      }
    }
  }

  // Where the values of `dictionary` stand in the merged one.
  std::vector<int64_t> add(const ColumnView& dictionary) {
    std::vector<int64_t> positions(static_cast<size_t>(dictionary.length));
    for (int64_t row = 0; row < dictionary.length; ++row) {
      if (!dictionary.is_valid(row)) {
        if (null_position_ < 0) append_null();
        positions[row] = null_position_;
        continue;
      }
      const std::string_view bytes = value_bytes(type_, dictionary, row);
      const auto [position, is_new] = positions_.try_emplace(bytes, size());
      if (is_new) append(bytes);
      positions[row] = position->second;
    }
    return positions;
  }

  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  uint64_t bytes() const { return bytes_; }
  bool has_nulls() const { return null_position_ >= 0; }
  const DataType& type() const { return type_; }

  // A null has no data pointer.
  const std::vector<std::string_view>& values() const { return values_; }

 private:
  void append(std::string_view bytes) {
    values_.push_back(bytes.data() == nullptr ? std::string_view("") : bytes);
    bytes_ += bytes.size();
  }

  void append_null() {
    if (null_position_ < 0) null_position_ = size();
    values_.emplace_back();
  }

  const DataType& type_;
  std::unordered_map<std::string_view, int64_t> positions_;
  std::vector<std::string_view> values_;
  int64_t null_position_ = -1;
  uint64_t bytes_ = 0;
};

// The merged dictionary as a column, in memory of its own.
class MergedDictionary {
 public:
  explicit MergedDictionary(const Merger& merger) {
    view_.length = merger.size();
    if (merger.has_nulls()) write_validity(merger);
    switch (layout(merger.type())) {
      case Layout::kBits:
        write_bits(merger);
        break;
      case Layout::kFixed:
        write_fixed(merger);
        break;
      case Layout::kOffsets32:
        write_offsets<int32_t>(merger);
        break;
      case Layout::kOffsets64:
        write_offsets<int64_t>(merger);
        break;
      case Layout::kViews:
        write_views(merger);
        break;
    }
    values_.reserve(1);  // never a null pointer, even if all strings are empty
    view_.values = values_.data();
  }
  MergedDictionary(const MergedDictionary&) = delete;
  MergedDictionary& operator=(const MergedDictionary&) = delete;

  const ColumnView& view() const { return view_; }

 private:
  void write_validity(const Merger& merger) {
    validity_.resize((merger.values().size() + 7) / 8);
    view_.null_count = 0;
    for (size_t i = 0; i < merger.values().size(); ++i) {
      const bool valid = merger.values()[i].data() != nullptr;
      validity_[i >> 3] |= static_cast<uint8_t>(valid << (i & 7));
      view_.null_count += valid ? 0 : 1;
    }
    view_.validity = validity_.data();
  }

  void write_bits(const Merger& merger) {
    values_.resize((merger.values().size() + 7) / 8);
    for (size_t i = 0; i < merger.values().size(); ++i) {
      const std::string_view value = merger.values()[i];
      if (!value.empty() && value[0] != 0) values_[i >> 3] |= static_cast<uint8_t>(1 << (i & 7));
    }
  }

  void write_fixed(const Merger& merger) {
    const auto width = static_cast<size_t>(fixed_bytes(merger.type()));
    values_.resize(merger.values().size() * width);
    for (size_t i = 0; i < merger.values().size(); ++i) {
      const std::string_view value = merger.values()[i];
      if (!value.empty()) std::memcpy(values_.data() + i * width, value.data(), width);
    }
  }

  template <class Offset>
  void write_offsets(const Merger& merger) {
    offsets_.resize((merger.values().size() + 1) * sizeof(Offset));
    auto* offsets = reinterpret_cast<Offset*>(offsets_.data());
    values_.reserve(merger.bytes());
    for (const std::string_view value : merger.values()) {
      values_.insert(values_.end(), value.begin(), value.end());
      *++offsets = static_cast<Offset>(values_.size());
    }
    view_.offsets = offsets_.data();
  }

  void write_views(const Merger& merger) {
    values_.resize(merger.values().size() * 16);
    uint8_t* out = values_.data();
    for (const std::string_view value : merger.values()) {
      const auto length = static_cast<int32_t>(value.size());
      std::memcpy(out, &length, sizeof length);
      if (value.size() <= kInlineViewBytes) {
        if (!value.empty()) std::memcpy(out + 4, value.data(), value.size());
      } else {
        write_long_view(value, out);
      }
      out += 16;
    }
    for (const std::vector<uint8_t>& heap : heaps_) {
      heap_pointers_.push_back(heap.data());
      heap_bytes_.push_back(static_cast<int64_t>(heap.size()));
    }
    view_.heaps = heap_pointers_.data();
    view_.heap_bytes = heap_bytes_.data();
    view_.heap_count = static_cast<int32_t>(heaps_.size());
  }

  void write_long_view(std::string_view value, uint8_t* out) {
    if (heaps_.empty() || heaps_.back().size() + value.size() > kMaxHeapBytes)
      heaps_.emplace_back();
    std::vector<uint8_t>& heap = heaps_.back();
    const int32_t place[2] = {static_cast<int32_t>(heaps_.size() - 1),
                              static_cast<int32_t>(heap.size())};
    std::memcpy(out + 4, value.data(), 4);
    std::memcpy(out + 8, place, sizeof place);
    heap.insert(heap.end(), value.begin(), value.end());
  }

  ColumnView view_;
  std::vector<uint8_t> validity_, values_, offsets_;
  std::vector<std::vector<uint8_t>> heaps_;
  std::vector<const uint8_t*> heap_pointers_;
  std::vector<int64_t> heap_bytes_;
};

// What owns a batch after its column was changed.
struct Rewritten {
  std::shared_ptr<const void> batch;
  std::shared_ptr<const void> dictionary_owner;
  ColumnView dictionary;
  std::vector<uint8_t> indices;
};

template <class Index>
void write_indices(ColumnView& column,
                   const std::vector<int64_t>& positions,
                   std::vector<uint8_t>& memory) {
  // Values and validity share one offset; keeping its last three bits lets the bitmap stay.
  const int64_t first = column.offset & 7;
  memory.resize(static_cast<size_t>(first + column.length) * sizeof(Index));
  auto* out = reinterpret_cast<Index*>(memory.data()) + first;
  const Index* in = column.data<Index>();
  for (int64_t row = 0; row < column.length; ++row) {
    out[row] = column.is_valid(row) ? static_cast<Index>(positions[static_cast<size_t>(in[row])])
                                    : Index{0};
  }
  if (column.validity != nullptr) column.validity += column.offset >> 3;
  column.offset = first;
  column.values = memory.data();
}

// Positions are the same for signed and unsigned indices, so only the width matters.
void rewrite_indices(const DataType& type,
                     ColumnView& column,
                     const std::vector<int64_t>& positions,
                     std::vector<uint8_t>& memory) {
  with_unsigned(fixed_bytes(type),
                [&](auto zero) { write_indices<decltype(zero)>(column, positions, memory); });
}

bool is_identity(const std::vector<int64_t>& positions) {
  for (size_t i = 0; i < positions.size(); ++i) {
    if (positions[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

Status check_merged(const Field& field, const Merger& merger) {
  const DataType& type = field.type;
  const int bits = 8 * fixed_bytes(type) - (is_signed_integer(dictionary_index(type)) ? 1 : 0);
  const auto values = static_cast<uint64_t>(merger.size());
  if (bits < 63 && values > uint64_t{1} << bits) {
    return make_error(ErrorCode::kValueOutOfRange,
                      "column \"{}\": the dictionaries of its batches have {} different values "
                      "together, and indices of {} can name {}\n"
                      "  try      casting it to a wider index type, or decoding it",
                      field.name,
                      values,
                      type_name(type),
                      uint64_t{1} << bits);
  }
  if (layout(*type.dictionary) == Layout::kOffsets32 && merger.bytes() > kMaxHeapBytes) {
    return make_error(ErrorCode::kValueOutOfRange,
                      "column \"{}\": the dictionaries of its batches have {} bytes of values "
                      "together, and {} can hold {}\n"
                      "  try      casting its values to large_{}",
                      field.name,
                      merger.bytes(),
                      type_name(type),
                      kMaxHeapBytes,
                      type_name(*type.dictionary));
  }
  return {};
}

using Positions = std::shared_ptr<const std::vector<int64_t>>;

// Positions per batch; neighbours that share a dictionary share them.
std::vector<Positions> merge_all(const std::vector<Batch>& batches, int column, Merger& merger) {
  std::vector<Positions> positions;
  const ColumnView* last = nullptr;
  for (const Batch& batch : batches) {
    const ColumnView* dictionary = batch.columns[column].dictionary;
    if (last != nullptr && same_memory(*last, *dictionary)) {
      positions.push_back(positions.back());
    } else if (last == nullptr) {
      merger.start(*dictionary);
      auto unchanged = std::vector<int64_t>(static_cast<size_t>(dictionary->length));
      for (size_t i = 0; i < unchanged.size(); ++i) unchanged[i] = static_cast<int64_t>(i);
      positions.push_back(std::make_shared<const std::vector<int64_t>>(std::move(unchanged)));
    } else {
      positions.push_back(std::make_shared<const std::vector<int64_t>>(merger.add(*dictionary)));
    }
    last = dictionary;
  }
  return positions;
}

}  // namespace

Status unify_dictionaries(std::vector<Batch>& batches, int column) {
  if (batches.empty()) return {};
  const ColumnView first = *batches[0].columns[column].dictionary;
  bool all_same = true;
  for (const Batch& batch : batches) {
    all_same = all_same && same_memory(first, *batch.columns[column].dictionary);
  }
  if (all_same) return {};

  const Field& field = batches[0].schema->fields[column];
  Merger merger(*field.type.dictionary);
  const std::vector<Positions> positions = merge_all(batches, column, merger);
  CD_TRY(check_merged(field, merger));
  ColumnView merged = first;
  std::shared_ptr<const void> merged_owner = batches[0].owner;
  if (merger.size() > first.length) {
    auto dictionary = std::make_shared<const MergedDictionary>(merger);
    merged = dictionary->view();
    merged_owner = std::move(dictionary);
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    ColumnView& view = batches[i].columns[column];
    auto rewritten = std::make_shared<Rewritten>();
    rewritten->batch = batches[i].owner;
    rewritten->dictionary_owner = merged_owner;
    rewritten->dictionary = merged;
    if (!is_identity(*positions[i])) {
      rewrite_indices(field.type, view, *positions[i], rewritten->indices);
    }
    view.dictionary = &rewritten->dictionary;
    batches[i].owner = std::move(rewritten);
  }
  return {};
}

}  // namespace crossdock
