#include "execution/build_sink.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include <hwy/cache_control.h>

#include "base/check.hpp"
#include "execution/row_numbers.hpp"
#include "table/word_mix.hpp"

namespace crossdock::execution {
namespace {

using operators::Side;

constexpr int64_t kCopiedBatchRows = int64_t{1} << kChunkRowBits;
constexpr int32_t kBuildSegmentRows = 256;

void narrow_decimal(DataType& type) {
  if (type.id != TypeId::kDecimal128 || type.precision > kNarrowDecimalDigits) return;
  type = DataType();
  type.id = TypeId::kInt64;
  type.arrow_format = "l";
}

// Partitions whose tables are built at once; few where rows are few.
int bits_for(int64_t rows) {
  constexpr int64_t kRowsPerPartition = int64_t{1} << 14;
  const auto parts = static_cast<uint64_t>(std::max<int64_t>(1, rows / kRowsPerPartition));
  return std::min(8, static_cast<int>(std::bit_width(parts)) - 1);
}

}  // namespace

struct BuildSink::Worker {
  Worker(const BuildSink& sink)
      : keys(sink.options_.input, sink.join_->keys().columns(Side::kRight)),
        payload(sink.options_.input, sink.options_.payload, Decimals::kAsStored),
        encoder(sink.join_->keys(), *sink.options_.input.schema, Side::kRight),
        writer(sink.store_schema_, sink.options_.memory, "the build side", sink.copied_schema_),
        scatter(*sink.options_.memory,
                {sink.partition_bits_, 1, kBuildSegmentRows, "the build side"}),
        written(sink.options_.payload),
        referred(sink.options_.referred.size() * kBlockRows) {
    const int first = sink.options_.input.schema->column_count();
    for (size_t i = 0; i < sink.options_.referred.size(); ++i) {
      written.push_back(first + static_cast<int>(i));
    }
  }

  FlatColumns keys;
  FlatColumns payload;
  JoinKeyEncoder encoder;
  BatchWriter writer;  // of copied rows
  sorters::RadixScatter scatter;
  operators::KeyRange range;
  // Words of the rows in the writer, and their numbers in the batch: they have refs when the batch has.
  std::vector<uint64_t> words;
  std::vector<uint64_t> numbers;
  std::vector<RowRef> keyless;  // refs, or numbers until their batch has refs
  size_t keyless_with_refs = 0;
  std::vector<int>
      written;  // columns of a block's batch that are copied, references behind the others
  std::vector<RowRef> referred;  // of a block, by origin
};

BuildSink::BuildSink(Options options, std::shared_ptr<JoinTable> join)
    : options_(std::move(options)), join_(std::move(join)) {
  partition_bits_ = bits_for(options_.rows_expected);
  workers_.resize(options_.workers);
  if (options_.table != nullptr) {
    store_schema_ = options_.table->schema();
    return;
  }
  auto copied = std::make_shared<Schema>();
  auto schema = std::make_shared<Schema>();
  for (const int column : options_.payload) {
    copied->fields.push_back(options_.input.schema->fields[column]);
    schema->fields.push_back(copied->fields.back());
    const bool is_compared =
        std::find(options_.compared.begin(), options_.compared.end(), column) !=
        options_.compared.end();
    if (!is_compared) narrow_decimal(schema->fields.back().type);
  }
  for (size_t i = 0; i < options_.referred.size(); ++i) {
    copied->fields.push_back(reference_field(i));
    schema->fields.push_back(copied->fields.back());
  }
  copied_schema_ = std::move(copied);
  store_schema_ = std::move(schema);
  copies_ = std::make_shared<RowStore>(store_schema_);
}

BuildSink::~BuildSink() = default;

int BuildSink::store_column(int column) const {
  if (options_.table != nullptr) return options_.input.places[column].column;
  const auto at = std::find(options_.payload.begin(), options_.payload.end(), column);
  CD_CHECK(at != options_.payload.end(), "column {} is no payload", column);
  return static_cast<int>(at - options_.payload.begin());
}

std::optional<ColumnPlace> BuildSink::place_behind(const ColumnPlace& input, int first) const {
  for (const int column : options_.payload) {
    if (options_.input.places[column] == input) return ColumnPlace{first, store_column(column)};
  }
  const auto at = std::find(options_.referred.begin(), options_.referred.end(), input.origin);
  if (at == options_.referred.end()) return {};
  const auto number = static_cast<int>(at - options_.referred.begin());
  return ColumnPlace{first + 1 + number, input.column};
}

int BuildSink::referring_column(int number) const {
  return static_cast<int>(options_.payload.size()) + number;
}

Result<BuildSink::Worker*> BuildSink::worker(int index) {
  if (workers_[index] == nullptr) {
    workers_[index] = std::make_unique<Worker>(*this);
    CD_TRY(workers_[index]->scatter.open());
  }
  return workers_[index].get();
}

Status BuildSink::push_keys(Worker& state, const RowBlock& block) {
  uint64_t words[kBlockRows];
  RowRef refs[kBlockRows];
  uint8_t live[kBlockRows];
  const Batch& keys = state.keys.load(block);
  int32_t rows = state.encoder.encode(keys, block.rows, words, live);
  if (join_->keys().is_one_integer()) state.encoder.widen(keys, block.rows, state.range);
  if (copies_ == nullptr) {
    write_refs(block.origins[0], block.rows, refs);
  } else {
    std::iota(refs, refs + block.rows, static_cast<RowRef>(state.writer.rows()));
  }
  if (rows < block.rows) {  // rows with a null key have no partner
    int32_t kept = 0;
    for (int32_t i = 0; i < block.rows; ++i) {
      if (options_.keeps_keyless && live[i] == 0) {
        state.keyless.push_back(refs[i]);
      }
      words[kept] = words[i];
      refs[kept] = refs[i];
      kept += live[i];
    }
  }
  if (join_->keys().is_packed()) mix_words(join_->keys().plan().mix, words, rows);
  if (copies_ == nullptr) {
    uint64_t carried[kBlockRows];
    std::copy_n(refs, rows, carried);
    CD_TRY(state.scatter.put(words, carried, rows));
    hwy::FlushStream();
    return {};
  }
  state.words.insert(state.words.end(), words, words + rows);
  state.numbers.insert(state.numbers.end(), refs, refs + rows);
  return {};
}

// Gives the copied rows their refs.
Status BuildSink::end_batch(Worker& state) {
  if (state.writer.rows() == 0) return {};
  CD_ASSIGN(const RowRef first, copies_->add(state.writer.finish()));
  for (uint64_t& number : state.numbers) number += first;
  for (; state.keyless_with_refs < state.keyless.size(); ++state.keyless_with_refs) {
    state.keyless[state.keyless_with_refs] += first;
  }
  for (size_t at = 0; at < state.words.size(); at += kBlockRows) {
    const size_t rows = std::min<size_t>(kBlockRows, state.words.size() - at);
    CD_TRY(state.scatter.put(
        state.words.data() + at, state.numbers.data() + at, static_cast<int32_t>(rows)));
  }
  hwy::FlushStream();
  state.words.clear();
  state.numbers.clear();
  return {};
}

Status BuildSink::append(Worker& state, const RowBlock& block) {
  const Batch& values = state.payload.load(block);
  if (options_.referred.empty()) return state.writer.append(values, state.written);
  Batch all = values;
  for (size_t i = 0; i < options_.referred.size(); ++i) {
    RowRef* refs = state.referred.data() + i * kBlockRows;
    write_refs(block.origins[options_.referred[i]], block.rows, refs);
    ColumnView column;
    column.length = block.rows;
    column.values = reinterpret_cast<const uint8_t*>(refs);
    all.columns.push_back(column);
  }
  return state.writer.append(all, state.written);
}

Status BuildSink::push(int index, const RowBlock& block) {
  CD_ASSIGN(Worker * state, worker(index));
  CD_TRY(push_keys(*state, block));
  if (copies_ == nullptr) return {};
  if (state->writer.shares_dictionaries()) keep_owners(block, options_.stores, state->writer);
  CD_TRY(append(*state, block));
  const bool has_room = state->writer.rows() + kBlockRows <= kCopiedBatchRows;
  if (has_room && state->writer.string_bytes() < kStringBytesFull) return {};
  return end_batch(*state);
}

Status BuildSink::finish(operators::OperatorRun& run) {
  JoinTable::Input input;
  input.partition_bits = partition_bits_;
  for (const auto& state : workers_) {
    if (state == nullptr) continue;
    CD_TRY(end_batch(*state));
    CD_TRY(state->scatter.finish());
    input.scatters.push_back(&state->scatter);
    input.range.widen(state->range);
    input.keyless.insert(input.keyless.end(), state->keyless.begin(), state->keyless.end());
  }
  input.marks = options_.marks;
  if (copies_ != nullptr) copies_->freeze();
  input.rows = copies_ != nullptr ? copies_ : options_.table;
  CD_TRY(join_->build(run, input));
  workers_.clear();
  return {};
}

}  // namespace crossdock::execution
