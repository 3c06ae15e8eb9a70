#include "operators/sort/sorted_output.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/integer_types.hpp"
#include "table/bitmap.hpp"
#include "table/gather.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kDecodeRows = 1024;

void narrow_to(int width, const uint64_t* from, int64_t count, uint8_t* to) {
  with_unsigned(width, [=](auto zero) {
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<decltype(zero)>(from[i]);
      std::memcpy(to + i * sizeof(value), &value, sizeof(value));
    }
  });
}

bool is_bits(const Field& field) { return layout(field.type) == Layout::kBits; }

}  // namespace

SortedOutput::SortedOutput(const SortRun& sort, const SortLayout& layout)
    : sort_(&sort), layout_(&layout) {
  int64_t row = 0;
  const std::vector<Batch>& batches = sort.store->batches();
  for (size_t b = 0; b < batches.size(); ++b) {
    const RowRef chunk = sort.store->first_ref(static_cast<int>(b)) >> kChunkRowBits;
    CD_CHECK(chunk == chunk_rows_.size(), "chunk {} after {}", chunk, chunk_rows_.size());
    int64_t begin = 0;
    do {
      chunk_rows_.push_back(row + begin);
      begin += int64_t{1} << kChunkRowBits;
    } while (begin < batches[b].rows);
    row += batches[b].rows;
  }
  for (size_t i = 0; i < layout.columns.size() && in_place_ < 0; ++i) {
    const SortColumn& column = layout.columns[i];
    const bool is_word = column.source == SortColumn::Source::kWord;
    if (is_word && !is_bits(column.field) && fixed_bytes(column.field.type) == 8) {
      in_place_ = static_cast<int>(i);
    }
  }
}

Result<Block> SortedOutput::get(int64_t bytes) const {
  return sort_->memory->get(bytes, "sort: columns of the result");
}

// Bytes that are 0 or 1 as bits, which `owners` keep; *ones = how many are 1.
Result<const uint8_t*> SortedOutput::pack(const uint8_t* bytes,
                                          int64_t rows,
                                          Owners& owners,
                                          int64_t* ones) const {
  CD_ASSIGN(Block bits, get((rows + 63) / 64 * 8));
  *ones = pack_bits(bytes, rows, bits.data());
  const uint8_t* data = bits.data();
  owners.push_back(std::make_shared<Block>(std::move(bits)));
  return data;
}

Status SortedOutput::set_validity(ColumnView& column, const uint8_t* valid, Owners& owners) const {
  int64_t ones = 0;
  CD_ASSIGN(column.validity, pack(valid, column.length, owners, &ones));
  column.null_count = column.length - ones;
  if (column.null_count == 0) column.validity = nullptr;
  return {};
}

Result<ColumnView> SortedOutput::lane_column(const SortColumn& column,
                                             const SortedRows& rows,
                                             Owners& owners) const {
  ColumnView view;
  view.length = rows.rows;
  view.values = rows.lanes[column.lane];
  view.dictionary = sort_->store->column(column.column).dictionary;
  int64_t ones = 0;
  if (is_bits(column.field)) {
    CD_ASSIGN(view.values, pack(rows.lanes[column.lane], rows.rows, owners, &ones));
  }
  if (column.valid_lane >= 0) {
    CD_TRY(set_validity(view, rows.lanes[column.valid_lane], owners));
  }
  return view;
}

Result<ColumnView> SortedOutput::word_column(const SortColumn& column,
                                             const SortedRows& rows,
                                             bool in_place,
                                             Owners& owners) const {
  const OrderKeyPlan& keys = sort_->keys;
  const bool bits = is_bits(column.field);
  const int width = bits ? 1 : fixed_bytes(column.field.type);
  ColumnView view;
  view.length = rows.rows;
  Block values;
  if (!in_place) {
    CD_ASSIGN(values, get(rows.rows * width));
  }
  uint8_t* const out = in_place ? reinterpret_cast<uint8_t*>(rows.words) : values.data();
  Block valid;
  if (keys.has_nulls(column.part)) {
    CD_ASSIGN(valid, get(rows.rows));
  }
  uint64_t decoded[kDecodeRows];
  for (int64_t at = 0; at < rows.rows; at += kDecodeRows) {
    const int64_t count = std::min(kDecodeRows, rows.rows - at);
    const uint64_t* words = rows.words + at;
    if (valid.bytes() > 0) keys.decode_valid(column.part, words, count, valid.data() + at);
    if (keys.decodes_wide(column.part)) {
      keys.decode_wide(column.part, words, count, reinterpret_cast<Int128*>(out) + at);
    } else {
      keys.decode(column.part, words, count, decoded);
      narrow_to(width, decoded, count, out + at * width);
    }
  }
  view.values = out;
  int64_t ones = 0;
  if (bits) {
    CD_ASSIGN(view.values, pack(out, rows.rows, owners, &ones));
  }
  if (valid.bytes() > 0) CD_TRY(set_validity(view, valid.data(), owners));
  if (!bits && !in_place) owners.push_back(std::make_shared<Block>(std::move(values)));
  return view;
}

Result<ColumnView> SortedOutput::gathered_column(const SortColumn& column,
                                                 const RowRef* refs,
                                                 int64_t count,
                                                 Owners& owners) const {
  const ChunkedColumn& input = sort_->store->column(column.column);
  auto gathered = gather(input, {refs, static_cast<size_t>(count)}, sort_->store, *sort_->memory);
  if (!gathered.ok()) {
    return Error{gathered.error().code, "sort: " + gathered.error().message};
  }
  owners.push_back(std::move(gathered.value().owner));
  return gathered.value().view;
}

Result<ColumnView> SortedOutput::index_column(const RowRef* refs,
                                              int64_t count,
                                              Owners& owners) const {
  CD_ASSIGN(Block values, get(count * int64_t{sizeof(int64_t)}));
  auto* out = values.as<int64_t>();
  const int64_t* chunk_rows = chunk_rows_.data();
  for (int64_t i = 0; i < count; ++i) {
    out[i] = chunk_rows[refs[i] >> kChunkRowBits] + (refs[i] & kChunkRowMask);
  }
  ColumnView view;
  view.length = count;
  view.values = values.data();
  owners.push_back(std::make_shared<Block>(std::move(values)));
  return view;
}

Status SortedOutput::add_referenced(const SortedRows& rows,
                                    std::vector<ColumnView>& columns,
                                    Owners& owners) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    const SortColumn& column = layout_->columns[i];
    if (column.source == SortColumn::Source::kRowIndex) {
      CD_ASSIGN(columns[i], index_column(rows.refs, rows.rows, owners));
    } else if (column.source == SortColumn::Source::kGathered) {
      auto gathered = gathered_column(column, rows.refs, rows.rows, owners);
      if (gathered.ok()) {
        columns[i] = gathered.value();
      } else if (gathered.error().code != ErrorCode::kValueOutOfRange) {
        return gathered.error();
      }
    }
  }
  return {};
}

// The blocks of lanes are given back as soon as they are not needed: those of the words are what text
// is then gathered into.
Result<std::vector<ColumnView>> SortedOutput::whole_columns(SortedRows& rows,
                                                            Owners& owners) const {
  std::vector<ColumnView> columns(layout_->columns.size());
  // The column that overwrites the words comes after all others that read them.
  const int last = rows.blocks != nullptr ? in_place_ : -1;
  for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
    const SortColumn& column = layout_->columns[i];
    if (column.source == SortColumn::Source::kLane) {
      CD_ASSIGN(columns[i], lane_column(column, rows, owners));
    } else if (column.source == SortColumn::Source::kWord && i != last) {
      CD_ASSIGN(columns[i], word_column(column, rows, false, owners));
    }
  }
  if (last >= 0) {
    CD_ASSIGN(columns[last], word_column(layout_->columns[last], rows, true, owners));
  } else if (rows.blocks != nullptr) {
    (*rows.blocks)[0].reset();
  }
  CD_TRY(add_referenced(rows, columns, owners));
  return columns;
}

Status SortedOutput::emit(
    SortedRows& rows, int64_t begin, int64_t end, int64_t part, OrderedEmitter& out) const {
  struct Owner {
    Owners shared;
    std::shared_ptr<std::vector<Block>> blocks;
    std::shared_ptr<const RowStore> store;
  };
  auto shared = std::make_shared<Owner>();
  shared->blocks = rows.blocks;
  shared->store = sort_->store;  // dictionaries
  CD_ASSIGN(const std::vector<ColumnView> whole, whole_columns(rows, shared->shared));
  bool all_whole = true;
  for (const ColumnView& column : whole) all_whole &= column.values != nullptr;
  if (all_whole && rows.blocks != nullptr && layout_->needs_refs()) {
    (*rows.blocks)[layout_->ref_lane].reset();
  }
  for (int64_t at = begin; at < end; at += sort_->batch_rows) {
    CD_TRY(sort_->run->check_cancelled());
    const int64_t count = std::min(sort_->batch_rows, end - at);
    Owners owners{shared};
    Batch batch;
    batch.schema = layout_->schema;
    batch.rows = count;
    for (size_t i = 0; i < whole.size(); ++i) {
      ColumnView view;
      if (whole[i].values != nullptr) {
        view = slice(whole[i], at, count);
      } else {
        CD_ASSIGN(view, gathered_column(layout_->columns[i], rows.refs + at, count, owners));
      }
      batch.columns.push_back(view);
    }
    batch.owner = std::make_shared<Owners>(std::move(owners));
    CD_TRY(out.put(part, std::move(batch)));
  }
  return {};
}

}  // namespace crossdock::operators
