#include "execution/batch_writer.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "execution/string_reader.hpp"
#include "table/key_read.hpp"

namespace crossdock::execution {
namespace {

constexpr int64_t kFirstRows = 1024;

int64_t bitmap_bytes(int64_t rows) { return (rows + 63) / 64 * 8; }

// `count` bits from bit `first` of `from` on, to bit `at` on; from == nullptr: ones.
void copy_bits(const uint8_t* from, int64_t first, int64_t count, uint8_t* to, int64_t at) {
  for (int64_t i = 0; i < count; ++i) {
    const bool bit = from == nullptr || ((from[(first + i) >> 3] >> ((first + i) & 7)) & 1) != 0;
    const auto mask = static_cast<uint8_t>(1U << ((at + i) & 7));
    uint8_t& byte = to[(at + i) >> 3];
    byte = static_cast<uint8_t>(bit ? byte | mask : byte & ~mask);
  }
}

}  // namespace

// One column's memory. Blocks grow by doubling, so a value is copied twice at most.
class BatchWriter::Column {
 public:
  Column(const DataType& from,
         const DataType& type,
         std::shared_ptr<Memory> memory,
         const std::string& who)
      : from_(from),
        converts_(from.id != type.id),
        layout_(layout(type)),
        width_(fixed_bytes(type)),
        memory_(std::move(memory)),
        who_(who) {}

  Status append(const ColumnView& from, int64_t rows, int64_t at) {
    CD_TRY(append_validity(from, rows, at));
    if (from.is_narrow) return append_words(from, rows, at);
    if (converts_) return append_converted(from, rows, at);
    // Columns of nulls alone come with an empty dictionary.
    const bool is_new = from.dictionary != nullptr && from.dictionary != dictionary_;
    if (is_new && (dictionary_ == nullptr || from.dictionary->length > 0)) {
      dictionary_ = from.dictionary;
    }
    longest_ = from.longest_text < 0 ? -1 : std::max(longest_, from.longest_text);
    switch (layout_) {
      case Layout::kBits:
        CD_TRY(grow(values_, bitmap_bytes(at), bitmap_bytes(at + rows)));
        copy_bits(from.values, from.offset, rows, values_.data(), at);
        return {};
      case Layout::kFixed:
        CD_TRY(grow(values_, at * width_, (at + rows) * width_));
        std::memcpy(values_.data() + at * width_,
                    from.values + from.offset * width_,
                    static_cast<size_t>(rows * width_));
        return {};
      case Layout::kViews:
        return append_views(from, rows, at);
      case Layout::kOffsets32:
        return append_strings<int32_t>(from, rows, at);
      case Layout::kOffsets64:
        return append_strings<int64_t>(from, rows, at);
    }
    return {};
  }

  int64_t string_bytes() const { return string_bytes_; }
  bool takes(const ColumnView& from) const {
    return converts_ || from.dictionary == nullptr || dictionary_ == nullptr ||
           from.dictionary == dictionary_ || from.dictionary->length == 0 ||
           dictionary_->length == 0;
  }

  // The column as a view; `keep` takes over its memory.
  struct Kept {
    Block values, validity, offsets, bytes;
    const uint8_t* heap = nullptr;
    int64_t heap_bytes = 0;
  };
  ColumnView finish(int64_t rows, Kept& keep) {
    keep.values = std::move(values_);
    keep.validity = std::move(validity_);
    keep.offsets = std::move(offsets_);
    keep.bytes = std::move(bytes_);
    ColumnView view;
    view.length = rows;
    view.null_count = any_null_ ? -1 : 0;
    view.validity = any_null_ ? keep.validity.data() : nullptr;
    view.values = keep.values.data();
    view.dictionary = dictionary_;
    view.longest_text = longest_;
    if (layout_ == Layout::kOffsets32 || layout_ == Layout::kOffsets64) {
      view.values = keep.bytes.data();
      view.offsets = keep.offsets.data();
    }
    if (layout_ == Layout::kViews && string_bytes_ > 0) {
      keep.heap = keep.bytes.data();
      keep.heap_bytes = string_bytes_;
      view.heaps = &keep.heap;
      view.heap_bytes = &keep.heap_bytes;
      view.heap_count = 1;
    }
    any_null_ = false;
    string_bytes_ = 0;
    longest_ = 0;
    dictionary_ = nullptr;
    return view;
  }

  // Empty columns have memory, too: readers of Arrow expect their buffers.
  Status reserve() {
    CD_TRY(grow(values_, 0, 16));
    CD_TRY(grow(bytes_, 0, 16));
    CD_TRY(grow(offsets_, 0, 16));
    std::memset(offsets_.data(), 0, 16);
    return {};
  }

 private:
  Status grow(Block& block, int64_t used, int64_t needed) {
    if (block.bytes() >= needed) return {};
    const int64_t least =
        std::max<int64_t>(kFirstRows * std::max<int64_t>(width_, 1), 2 * block.bytes());
    CD_ASSIGN(Block larger, memory_->get(std::max(needed, least), who_));
    if (used > 0) std::memcpy(larger.data(), block.data(), static_cast<size_t>(used));
    block = std::move(larger);
    return {};
  }

  Status append_validity(const ColumnView& from, int64_t rows, int64_t at) {
    if (from.validity == nullptr && !any_null_) return {};
    CD_TRY(grow(validity_, any_null_ ? bitmap_bytes(at) : 0, bitmap_bytes(at + rows)));
    if (!any_null_) copy_bits(nullptr, 0, at, validity_.data(), 0);
    any_null_ = true;
    copy_bits(from.validity, from.offset, rows, validity_.data(), at);
    return {};
  }

  Status append_views(const ColumnView& from, int64_t rows, int64_t at) {
    CD_TRY(grow(values_, at * 16, (at + rows) * 16));
    uint8_t* to = values_.data() + at * 16;
    std::memcpy(to, from.values + from.offset * 16, static_cast<size_t>(rows * 16));
    for (int64_t i = 0; i < rows; ++i, to += 16) {
      if (!from.is_valid(i)) {
        std::memset(to, 0, 16);
        continue;
      }
      int32_t place[4];  // bytes, prefix, heap, offset
      std::memcpy(place, to, 16);
      if (place[0] <= keys::kInlineBytes) continue;
      CD_TRY(grow(bytes_, string_bytes_, string_bytes_ + place[0]));
      std::memcpy(bytes_.data() + string_bytes_,
                  from.heaps[place[2]] + place[3],
                  static_cast<size_t>(place[0]));
      place[2] = 0;
      place[3] = static_cast<int32_t>(string_bytes_);
      std::memcpy(to, place, 16);
      string_bytes_ += place[0];
    }
    return {};
  }

  template <class Offset>
  Status append_strings(const ColumnView& from, int64_t rows, int64_t at) {
    CD_TRY(grow(offsets_,
                at == 0 ? 0 : (at + 1) * int64_t{sizeof(Offset)},
                (at + rows + 1) * int64_t{sizeof(Offset)}));
    auto* offsets = offsets_.as<Offset>();
    if (at == 0) offsets[0] = 0;
    const auto* of = static_cast<const Offset*>(from.offsets) + from.offset;
    const int64_t bytes = of[rows] - of[0];
    CD_TRY(grow(bytes_, string_bytes_, string_bytes_ + bytes));
    std::memcpy(bytes_.data() + string_bytes_, from.values + of[0], static_cast<size_t>(bytes));
    const auto moved = static_cast<Offset>(string_bytes_ - of[0]);
    for (int64_t i = 1; i <= rows; ++i) offsets[at + i] = of[i] + moved;
    string_bytes_ += bytes;
    return {};
  }

  // Decimals that come in 64 bits: as they are, or widened.
  Status append_words(const ColumnView& from, int64_t rows, int64_t at) {
    CD_TRY(grow(values_, at * width_, (at + rows) * width_));
    const auto* words = from.data<int64_t>();
    if (converts_) {
      std::copy_n(words, rows, values_.as<int64_t>() + at);
      return {};
    }
    auto* to = values_.as<int64_t>() + 2 * at;  // low, high
    for (int64_t i = 0; i < rows; ++i) {
      to[2 * i] = words[i];
      to[2 * i + 1] = words[i] >> 63;
    }
    return {};
  }

  // Rows that are null may hold anything.
  Status append_narrowed(const ColumnView& from, int64_t rows, int64_t at) {
    CD_TRY(grow(values_, at * 8, (at + rows) * 8));
    auto* to = values_.as<int64_t>() + at;
    const uint8_t* values = from.values + from.offset * 16;
    for (int64_t i = 0; i < rows; ++i) {
      int64_t words[2];  // low, high
      std::memcpy(words, values + i * 16, 16);
      to[i] = words[0];
      if (words[1] == words[0] >> 63 || !from.is_valid(i)) continue;
      return make_error(ErrorCode::kValueOutOfRange,
                        "a value of a column of type {} has more digits than the type",
                        type_name(from_));
    }
    return {};
  }

  // Strings of another layout, or of a dictionary; decimals as integers.
  Status append_converted(const ColumnView& from, int64_t rows, int64_t at) {
    if (from_.id == TypeId::kDecimal128) return append_narrowed(from, rows, at);
    longest_ = -1;
    const StringReader strings(from_, from);
    switch (layout_) {
      case Layout::kOffsets32:
        return append_read<int32_t>(strings, rows, at);
      case Layout::kOffsets64:
        return append_read<int64_t>(strings, rows, at);
      default:
        return append_read_views(strings, rows, at);
    }
  }

  template <class Offset>
  Status append_read(const StringReader& strings, int64_t rows, int64_t at) {
    CD_TRY(grow(offsets_,
                at == 0 ? 0 : (at + 1) * int64_t{sizeof(Offset)},
                (at + rows + 1) * int64_t{sizeof(Offset)}));
    auto* const offsets = offsets_.as<Offset>();
    if (at == 0) offsets[0] = 0;
    StringReader::Strings block;
    for (int64_t begin = 0; begin < rows; begin += StringReader::kBlockRows) {
      const int64_t count = std::min(StringReader::kBlockRows, rows - begin);
      const int64_t bytes = strings.read(begin, count, block);
      CD_TRY(grow(bytes_, string_bytes_, string_bytes_ + bytes));
      for (int64_t i = 0; i < count; ++i) {
        copy_string(bytes_.data() + string_bytes_, block[i]);
        string_bytes_ += static_cast<int64_t>(block[i].size());
        offsets[at + begin + i + 1] = static_cast<Offset>(string_bytes_);
      }
    }
    return {};
  }

  Status append_read_views(const StringReader& strings, int64_t rows, int64_t at) {
    CD_TRY(grow(values_, at * 16, (at + rows) * 16));
    StringReader::Strings block;
    for (int64_t begin = 0; begin < rows; begin += StringReader::kBlockRows) {
      const int64_t count = std::min(StringReader::kBlockRows, rows - begin);
      const int64_t bytes = strings.read(begin, count, block);
      CD_TRY(grow(bytes_, string_bytes_, string_bytes_ + bytes));
      uint8_t* const to = values_.data() + (at + begin) * 16;
      for (int64_t i = 0; i < count; ++i) append_view(block[i], to + i * 16);
    }
    return {};
  }

  // There is room for its bytes.
  void append_view(std::string_view text, uint8_t* to) {
    int32_t place[4] = {static_cast<int32_t>(text.size()), 0, 0, 0};  // bytes, prefix, heap, offset
    if (place[0] <= keys::kInlineBytes) {
      text.copy(reinterpret_cast<char*>(&place[1]), keys::kInlineBytes);
    } else {
      copy_string(bytes_.data() + string_bytes_, text);
      std::memcpy(&place[1], text.data(), 4);
      place[3] = static_cast<int32_t>(string_bytes_);
      string_bytes_ += place[0];
    }
    std::memcpy(to, place, 16);
  }

  const DataType from_;
  const bool converts_;
  Layout layout_;
  int64_t width_;
  std::shared_ptr<Memory> memory_;
  const std::string& who_;
  Block values_, validity_, offsets_, bytes_;
  bool any_null_ = false;
  int64_t string_bytes_ = 0;
  int64_t longest_ = 0;
  const ColumnView* dictionary_ = nullptr;
};

BatchWriter::BatchWriter(SchemaPtr schema,
                         std::shared_ptr<Memory> memory,
                         std::string who,
                         const SchemaPtr& from)
    : schema_(std::move(schema)), memory_(std::move(memory)), who_(std::move(who)) {
  const std::vector<Field>& given = (from == nullptr ? schema_ : from)->fields;
  for (size_t c = 0; c < given.size(); ++c) {
    columns_.push_back(
        std::make_unique<Column>(given[c].type, schema_->fields[c].type, memory_, who_));
  }
}

BatchWriter::~BatchWriter() = default;

bool BatchWriter::takes(const Batch& rows, const std::vector<int>& columns) const {
  for (size_t i = 0; i < columns_.size() && rows_ > 0; ++i) {
    if (!columns_[i]->takes(rows.columns[columns[i]])) return false;
  }
  return true;
}

Status BatchWriter::append(const Batch& rows, const std::vector<int>& columns) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (rows_ == 0) CD_TRY(columns_[i]->reserve());
    CD_TRY(columns_[i]->append(rows.columns[columns[i]], rows.rows, rows_));
  }
  rows_ += rows.rows;
  return {};
}

void BatchWriter::keep(const std::shared_ptr<const void>& owner) {
  if (std::find(kept_.begin(), kept_.end(), owner) == kept_.end()) kept_.push_back(owner);
}

bool BatchWriter::shares_dictionaries() const {
  return std::any_of(schema_->fields.begin(), schema_->fields.end(), [](const Field& field) {
    return field.type.id == TypeId::kDictionary;
  });
}

int64_t BatchWriter::string_bytes() const {
  int64_t bytes = 0;
  for (const auto& column : columns_) bytes = std::max(bytes, column->string_bytes());
  return bytes;
}

Batch BatchWriter::finish() {
  struct Owner {
    std::vector<Column::Kept> columns;
    std::vector<std::shared_ptr<const void>> shared;
  };
  auto kept = std::make_shared<Owner>();
  kept->columns.resize(columns_.size());
  kept->shared = kept_;
  Batch batch{schema_, rows_, {}, nullptr};
  for (size_t i = 0; i < columns_.size(); ++i) {
    batch.columns.push_back(columns_[i]->finish(rows_, kept->columns[i]));
  }
  batch.owner = std::move(kept);
  rows_ = 0;
  return batch;
}

Result<std::vector<Batch>> concatenate(const std::vector<Batch>& batches,
                                       const SchemaPtr& schema,
                                       const std::shared_ptr<Memory>& memory) {
  BatchWriter writer(schema, memory, "the result");
  std::vector<int> columns(schema->fields.size());
  std::iota(columns.begin(), columns.end(), 0);
  std::vector<Batch> whole;
  for (const Batch& batch : batches) {
    if (!writer.takes(batch, columns)) whole.push_back(writer.finish());
    if (writer.shares_dictionaries()) writer.keep(batch.owner);
    CD_TRY(writer.append(batch, columns));
  }
  if (writer.rows() > 0) whole.push_back(writer.finish());
  return whole;
}

}  // namespace crossdock::execution
