// Sizes first, then one block, then column by column.
#include "table/copy_rows.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace crossdock {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int64_t kViewBytes = 16;
constexpr uint32_t kCopiedInlineBytes = 12;  // a shorter text lies in its view

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// One view as Arrow lays it out.
struct TextView {
  uint32_t bytes;
  uint32_t prefix;
  uint32_t heap;
  uint32_t begin;
};
static_assert(sizeof(TextView) == kViewBytes);

std::string_view text_at(const ColumnView& column, Layout from, int64_t row) {
  if (!column.is_valid(row)) return {};
  const auto* bytes = reinterpret_cast<const char*>(column.values);
  if (from == Layout::kOffsets32 || from == Layout::kOffsets64) {
    const auto at = [&](int64_t i) {
      return from == Layout::kOffsets32
               ? int64_t{static_cast<const int32_t*>(column.offsets)[column.offset + i]}
               : static_cast<const int64_t*>(column.offsets)[column.offset + i];
    };
    return {bytes + at(row), static_cast<size_t>(at(row + 1) - at(row))};
  }
  const char* place = bytes + (column.offset + row) * kViewBytes;
  TextView view;
  std::memcpy(&view, place, sizeof view);
  if (view.bytes <= kCopiedInlineBytes) return {place + sizeof view.bytes, view.bytes};
  return {reinterpret_cast<const char*>(column.heaps[view.heap]) + view.begin, view.bytes};
}

// Where the parts of a copied column begin in its block.
struct Places {
  int64_t validity = -1;
  int64_t values = 0;
  int64_t offsets = 0;
  int64_t text_bytes = 0;
};

class Copier {
 public:
  Copier(const Batch& batch, SchemaPtr target) : batch_(batch), target_(std::move(target)) {}

  Result<Batch> run(Memory& memory) {
    for (int column = 0; column < target_->column_count(); ++column) CD_TRY(place(column));
    CD_ASSIGN(block_, memory.get(std::max<int64_t>(bytes_, 1), "rows that are kept"));
    Batch copy;
    copy.schema = target_;
    copy.rows = batch_.rows;
    auto owner = std::make_shared<Owner>();
    owner->heaps.resize(places_.size());
    owner->heap_bytes.resize(places_.size());
    for (size_t column = 0; column < places_.size(); ++column) {
      copy.columns.push_back(copied(column, *owner));
    }
    owner->block = std::move(block_);
    copy.owner = std::move(owner);
    return copy;
  }

 private:
  struct Owner {
    Block block;
    std::vector<const uint8_t*> heaps;
    std::vector<int64_t> heap_bytes;
  };

  int64_t reserve(int64_t bytes) { return std::exchange(bytes_, bytes_ + padded(bytes)); }

  Status place(int column) {
    const Field& field = target_->fields[static_cast<size_t>(column)];
    const DataType& from = batch_.schema->fields[static_cast<size_t>(column)].type;
    const bool is_alike = from == field.type || (is_string(from.id) && is_string(field.type.id)) ||
                          (is_binary(from.id) && is_binary(field.type.id));
    if (!is_alike || field.type.id == TypeId::kDictionary) {
      return make_error(ErrorCode::kUnsupportedType,
                        "column {:?} of {} cannot be copied as {}",
                        field.name,
                        type_name(from),
                        type_name(field.type));
    }
    const ColumnView& view = batch_.columns[static_cast<size_t>(column)];
    Places places;
    if (view.validity != nullptr) places.validity = reserve((batch_.rows + 7) / 8);
    switch (layout(field.type)) {
      case Layout::kBits:
        places.values = reserve((batch_.rows + 7) / 8);
        break;
      case Layout::kFixed:
        places.values = reserve(batch_.rows * fixed_bytes(field.type));
        break;
      default:
        CD_TRY(place_strings(field, from, view, places));
    }
    places_.push_back(places);
    return {};
  }

  Status place_strings(const Field& field,
                       const DataType& from,
                       const ColumnView& view,
                       Places& to) {
    const Layout into = layout(field.type);
    for (int64_t row = 0; row < batch_.rows; ++row) {
      const size_t bytes = text_at(view, layout(from), row).size();
      if (into != Layout::kViews || bytes > kCopiedInlineBytes)
        to.text_bytes += static_cast<int64_t>(bytes);
    }
    constexpr int64_t kBytesMax = std::numeric_limits<int32_t>::max();
    if (into != Layout::kOffsets64 && to.text_bytes > kBytesMax) {
      return make_error(
          ErrorCode::kValueOutOfRange,
          "the strings of column {:?} take {} bytes in {} rows\n  limit    {} for {}\n"
          "  try      batches of fewer rows, or large_utf8",
          field.name,
          to.text_bytes,
          batch_.rows,
          kBytesMax,
          type_name(field.type));
    }
    const int64_t offset_bytes = into == Layout::kOffsets64 ? 8 : 4;
    to.offsets = reserve(into == Layout::kViews ? batch_.rows * kViewBytes
                                                : (batch_.rows + 1) * offset_bytes);
    to.values = reserve(to.text_bytes);
    return {};
  }

  void copy_bits(const uint8_t* from, int64_t offset, int64_t to) {
    uint8_t* bits = block_.data() + to;
    const int64_t bytes = (batch_.rows + 7) / 8;
    if (offset % 8 == 0) {
      std::memcpy(bits, from + offset / 8, static_cast<size_t>(bytes));
      return;
    }
    std::memset(bits, 0, static_cast<size_t>(bytes));
    for (int64_t row = 0; row < batch_.rows; ++row) {
      const int64_t bit = offset + row;
      bits[row / 8] |= static_cast<uint8_t>(((from[bit / 8] >> (bit % 8)) & 1) << (row % 8));
    }
  }

  ColumnView copied(size_t column, Owner& owner) {
    const DataType& type = target_->fields[column].type;
    const ColumnView& from = batch_.columns[column];
    const Places& places = places_[column];
    uint8_t* begin = block_.data();
    ColumnView view;
    view.length = batch_.rows;
    view.null_count = from.null_count;
    view.values = begin + places.values;
    if (from.validity != nullptr) {
      copy_bits(from.validity, from.offset, places.validity);
      view.validity = begin + places.validity;
    }
    switch (layout(type)) {
      case Layout::kBits:
        copy_bits(from.values, from.offset, places.values);
        break;
      case Layout::kFixed: {
        const int64_t width = fixed_bytes(type);
        std::memcpy(begin + places.values,
                    from.values + from.offset * width,
                    static_cast<size_t>(batch_.rows * width));
        break;
      }
      case Layout::kOffsets32:
        view.offsets = copy_strings<int32_t>(column);
        break;
      case Layout::kOffsets64:
        view.offsets = copy_strings<int64_t>(column);
        break;
      case Layout::kViews:
        copy_views(column);
        owner.heaps[column] = begin + places.values;
        owner.heap_bytes[column] = places.text_bytes;
        view.values = begin + places.offsets;
        view.heaps = &owner.heaps[column];
        view.heap_bytes = &owner.heap_bytes[column];
        view.heap_count = 1;
        break;
    }
    return view;
  }

  template <class Offset>
  const void* copy_strings(size_t column) {
    const Places& places = places_[column];
    const Layout from = layout(batch_.schema->fields[column].type);
    auto* offsets = reinterpret_cast<Offset*>(block_.data() + places.offsets);
    uint8_t* bytes = block_.data() + places.values;
    Offset end = 0;
    offsets[0] = 0;
    for (int64_t row = 0; row < batch_.rows; ++row) {
      const std::string_view text = text_at(batch_.columns[column], from, row);
      if (!text.empty()) std::memcpy(bytes + end, text.data(), text.size());
      end += static_cast<Offset>(text.size());
      offsets[row + 1] = end;
    }
    return offsets;
  }

  void copy_views(size_t column) {
    const Places& places = places_[column];
    const Layout from = layout(batch_.schema->fields[column].type);
    uint8_t* views = block_.data() + places.offsets;
    uint8_t* bytes = block_.data() + places.values;
    uint32_t end = 0;
    for (int64_t row = 0; row < batch_.rows; ++row) {
      const std::string_view text = text_at(batch_.columns[column], from, row);
      uint8_t* place = views + row * kViewBytes;
      TextView view{static_cast<uint32_t>(text.size()), 0, 0, 0};
      if (text.size() <= kCopiedInlineBytes) {
        std::memcpy(place, &view, sizeof view);
        if (!text.empty()) std::memcpy(place + sizeof view.bytes, text.data(), text.size());
        continue;
      }
      std::memcpy(&view.prefix, text.data(), sizeof view.prefix);
      view.begin = end;
      std::memcpy(place, &view, sizeof view);
      std::memcpy(bytes + end, text.data(), text.size());
      end += view.bytes;
    }
  }

  const Batch& batch_;
  SchemaPtr target_;
  Block block_;
  int64_t bytes_ = 0;
  std::vector<Places> places_;
};

}  // namespace

Result<Batch> copy_rows(const Batch& batch, const SchemaPtr& target, Memory& memory) {
  if (batch.columns.size() != target->fields.size()) {
    return make_error(ErrorCode::kUnsupportedType,
                      "a batch of {} columns cannot be copied as one of {}",
                      batch.columns.size(),
                      target->fields.size());
  }
  return Copier(batch, target).run(memory);
}

SchemaPtr without_dictionaries(const Schema& schema) {
  auto plain = std::make_shared<Schema>(schema);
  for (Field& field : plain->fields) {
    if (field.type.dictionary == nullptr) continue;
    field.type = DataType(*field.type.dictionary);
    field.nullable = true;  // a dictionary may hold NULLs
  }
  return plain;
}

}  // namespace crossdock
