// Key words into a scatter, payload into batches.
#include "execution/build_sink.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <hwy/cache_control.h>

#include "base/check.hpp"
#include "table/word_mix.hpp"

namespace crossdock::execution {
namespace {

using operators::Side;

constexpr int64_t kCopiedBatchRows = int64_t{1} << kChunkRowBits;
constexpr int32_t kBuildSegmentRows = 256;

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
        payload(sink.options_.input, sink.options_.payload),
        encoder(sink.join_->keys(), *sink.options_.input.schema, Side::kRight),
        writer(sink.store_schema_, sink.options_.memory, "the build side"),
        scatter(*sink.options_.memory,
                {sink.partition_bits_, 1, kBuildSegmentRows, "the build side"}) {}

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
};

BuildSink::BuildSink(Options options, std::shared_ptr<JoinTable> join)
    : options_(std::move(options)), join_(std::move(join)) {
  partition_bits_ = bits_for(options_.rows_expected);
  workers_.resize(options_.workers);
  if (options_.table != nullptr) {
    store_schema_ = options_.table->schema();
    return;
  }
  auto schema = std::make_shared<Schema>();
  for (const int column : options_.payload) {
    schema->fields.push_back(options_.input.schema->fields[column]);
  }
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

Result<BuildSink::Worker*> BuildSink::worker(int index) {
  if (workers_[index] == nullptr) {
    workers_[index] = std::make_unique<Worker>(*this);
    CD_TRY(workers_[index]->scatter.open());
  }
  return workers_[index].get();
}

void BuildSink::make_refs(const RowBlock& block, uint64_t* refs) const {
  const Origin& origin = block.origins[0];
  if (origin.store != nullptr) {
    std::copy_n(origin.rows, block.rows, refs);
  } else if (origin.rows != nullptr) {
    for (int32_t i = 0; i < block.rows; ++i) refs[i] = uint64_t{origin.first_ref} + origin.rows[i];
  } else {
    const uint64_t first = origin.first_ref + static_cast<uint64_t>(origin.begin);
    for (int32_t i = 0; i < block.rows; ++i) refs[i] = first + static_cast<uint64_t>(i);
  }
}

Status BuildSink::push_keys(Worker& state, const RowBlock& block) {
  uint64_t words[kBlockRows];
  uint64_t refs[kBlockRows];
  uint8_t live[kBlockRows];
  const Batch& keys = state.keys.load(block);
  int32_t rows = state.encoder.encode(keys, block.rows, words, live);
  if (join_->keys().is_one_integer()) state.encoder.widen(keys, block.rows, state.range);
  if (copies_ == nullptr) {
    make_refs(block, refs);
  } else {
    const auto first = static_cast<uint64_t>(state.writer.rows());
    for (int32_t i = 0; i < block.rows; ++i) refs[i] = first + static_cast<uint64_t>(i);
  }
  if (rows < block.rows) {  // rows with a null key have no partner
    int32_t kept = 0;
    for (int32_t i = 0; i < block.rows; ++i) {
      if (options_.keeps_keyless && live[i] == 0) {
        state.keyless.push_back(static_cast<RowRef>(refs[i]));
      }
      words[kept] = words[i];
      refs[kept] = refs[i];
      kept += live[i];
    }
  }
  if (join_->keys().is_packed()) mix_words(join_->keys().plan().mix, words, rows);
  if (copies_ == nullptr) {
    CD_TRY(state.scatter.put(words, refs, rows));
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

Status BuildSink::push(int index, const RowBlock& block) {
  CD_ASSIGN(Worker * state, worker(index));
  CD_TRY(push_keys(*state, block));
  if (copies_ == nullptr) return {};
  if (state->writer.shares_dictionaries()) keep_owners(block, options_.stores, state->writer);
  CD_TRY(state->writer.append(state->payload.load(block), options_.payload));
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
