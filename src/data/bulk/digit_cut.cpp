#include "data/bulk/digit_cut.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace crossdock::bulk {
namespace {

struct Pair {
  uint64_t word = 0;
  int64_t row = 0;  // among those of all ranks
};

class DigitSorter {
 public:
  DigitSorter(const RankRun& run, const RowStore& store, const DigitOptions& options)
      : ranks_(run.ranks),
        store_(&store),
        team_(run.team),
        memory_(run.memory),
        options_(options),
        tasks_(run.team->worker_count()),
        buckets_(int64_t{1} << options.digit_bits) {}

  Result<DigitCut> cut(std::span<const CutKey> keys);

 private:
  Status open();
  Status make_pairs(const OrderKeyPlan& keys);
  Status pass(int shift);
  void lay_out();
  Status put_runs();
  Status put_run(const Pair* from, int64_t at, int64_t count);
  Status tell_rows(uint16_t* destinations);
  int64_t block_begin(int64_t rank) const { return model::part_begin(all_, ranks_->size(), rank); }
  int owner_of(int64_t at) const;

  ranks::Communicator* ranks_;
  const RowStore* store_;
  Team* team_;
  std::shared_ptr<Memory> memory_;
  DigitOptions options_;
  int tasks_;
  int64_t buckets_;
  int64_t all_ = 0;
  std::vector<int64_t> first_rows_;  // by rank: the number of its first row; and the end
  std::shared_ptr<const void> counters_;
  Block pairs_;                            // of this rank's rows, before the first pass
  Block staged_;                           // by digit
  std::shared_ptr<ranks::Window> window_;  // pairs at their places
  const Pair* from_ = nullptr;
  int64_t count_ = 0;
  std::unique_ptr<BucketCounts> bucket_counts_;
  std::vector<int64_t> counts_;   // [task][bucket]
  std::vector<int64_t> starts_;   // among the pairs of all ranks
  std::vector<int64_t> cursors_;  // among the staged ones
  DigitCut done_;
};

Result<DigitCut> DigitSorter::cut(std::span<const CutKey> keys) {
  if (options_.digit_bits < 1 || options_.digit_bits > 16) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a digit has {} bits; it can have 1 to 16",
                      options_.digit_bits);
  }
  CD_ASSIGN(const OrderKeyPlan plan, agree_on_keys(*ranks_, *store_, keys, *team_));
  if (!plan.is_exact()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a radix sort over ranks takes keys that fit 64 bits together, and these do "
                      "not\n  try      the sort by splitters, which takes all keys");
  }
  CD_TRY(open());
  CD_TRY(make_pairs(plan));
  const int digits = (plan.word_bits() + options_.digit_bits - 1) / options_.digit_bits;
  done_.passes = std::max(1, digits);  // equal keys move to their ranks, too
  for (int i = 0; i < done_.passes; ++i) CD_TRY(pass(i * options_.digit_bits));
  done_.counts = bucket_counts_->count_traffic();
  done_.starts = bucket_counts_->start_traffic();
  CD_TRY(tell_rows(done_.cut.destination_block.as<uint16_t>()));
  done_.cut.rows = store_->rows();
  for (int rank = 0; rank < ranks_->size(); ++rank) {
    done_.cut.rows_of.push_back(block_begin(rank + 1) - block_begin(rank));
  }
  return std::move(done_);
}

Status DigitSorter::open() {
  const int64_t local_rows = store_->rows();
  CD_ASSIGN(const std::vector<int64_t> rows, ranks_->all_gather({&local_rows, 1}));
  first_rows_ = {0};
  for (const int64_t of_rank : rows) first_rows_.push_back(first_rows_.back() + of_rank);
  all_ = first_rows_.back();
  const int64_t block = block_begin(ranks_->rank() + 1) - block_begin(ranks_->rank());
  const auto get = [&]() -> Status {
    const int64_t some = std::max<int64_t>(1, local_rows);
    for (Block* held : {&done_.cut.destination_block, &pairs_, &staged_}) *held = {};
    counters_.reset();
    CD_ASSIGN(done_.cut.destination_block, memory_->get(some * 2, "the ranks that rows go to"));
    CD_ASSIGN(pairs_, memory_->get(some * int64_t{sizeof(Pair)}, "words and rows"));
    CD_ASSIGN(staged_, memory_->get(std::max(some, block) * int64_t{sizeof(Pair)}, "staged words"));
    const int64_t counters = 3 * tasks_ * buckets_ * int64_t{sizeof(int64_t)};
    CD_ASSIGN(counters_, memory_->charge(counters, "the counters of digits"));
    return {};
  };
  CD_TRY(ranks_->agree_with_room(get));
  CD_ASSIGN(window_, ranks_->open_window(block * int64_t{sizeof(Pair)}, memory_, "sorted words"));
  model::BucketShape shape;
  shape.ranks = ranks_->size();
  shape.tasks = tasks_;
  shape.buckets = buckets_;
  shape.buffer_elements = options_.buffer_elements;
  CD_ASSIGN(bucket_counts_, BucketCounts::open(*ranks_, shape, options_.form, memory_));
  counts_.resize(static_cast<size_t>(tasks_ * buckets_));
  starts_.resize(counts_.size());
  cursors_.resize(counts_.size());
  return {};
}

Status DigitSorter::make_pairs(const OrderKeyPlan& keys) {
  auto* pairs = pairs_.as<Pair>();
  const int64_t first = first_rows_[static_cast<size_t>(ranks_->rank())];
  const std::vector<RowPiece> pieces = pieces_of(*store_);
  from_ = pairs;
  count_ = store_->rows();
  return in_turns(*team_, static_cast<int64_t>(pieces.size()), [&](int, int64_t i) -> Status {
    const RowPiece& piece = pieces[static_cast<size_t>(i)];
    uint64_t words[kOrderBlockRows];
    for (int64_t begin = 0; begin < piece.rows; begin += kOrderBlockRows) {
      const int64_t rows = std::min<int64_t>(kOrderBlockRows, piece.rows - begin);
      keys.encode(0, *piece.batch, piece.begin + begin, rows, words);
      const int64_t row = piece.first_row + begin;
      for (int64_t k = 0; k < rows; ++k) pairs[row + k] = {words[k], first + row + k};
    }
    return {};
  });
}

Status DigitSorter::pass(int shift) {
  const uint64_t mask = static_cast<uint64_t>(buckets_) - 1;
  const auto count_task = [&](int task) -> Status {
    int64_t* const counts = counts_.data() + task * buckets_;
    std::fill_n(counts, buckets_, 0);
    const int64_t end = model::part_begin(count_, tasks_, task + 1);
    for (int64_t i = model::part_begin(count_, tasks_, task); i < end; ++i) {
      ++counts[from_[i].word >> shift & mask];
    }
    return {};
  };
  auto* staged = staged_.as<Pair>();
  const auto stage_task = [&](int task) -> Status {
    int64_t* const cursors = cursors_.data() + task * buckets_;
    const int64_t end = model::part_begin(count_, tasks_, task + 1);
    for (int64_t i = model::part_begin(count_, tasks_, task); i < end; ++i) {
      staged[cursors[from_[i].word >> shift & mask]++] = from_[i];
    }
    return {};
  };
  CD_TRY(team_->run(count_task));
  lay_out();
  CD_TRY(team_->run(stage_task));
  // When it returns, all ranks have staged their pairs, and windows may be written.
  CD_TRY(bucket_counts_->exchange(counts_, starts_));
  CD_TRY(put_runs());
  CD_TRY(window_->fence());
  from_ = reinterpret_cast<const Pair*>(window_->data());
  count_ = block_begin(ranks_->rank() + 1) - block_begin(ranks_->rank());
  return {};
}

// Staged pairs lie by bucket and then by task, as they will among those of all ranks.
void DigitSorter::lay_out() {
  int64_t at = 0;
  for (int64_t b = 0; b < buckets_; ++b) {
    for (int64_t task = 0; task < tasks_; ++task) {
      const auto i = static_cast<size_t>(task * buckets_ + b);
      cursors_[i] = at;
      at += counts_[i];
    }
  }
}

// Runs that follow one another in both places go together.
Status DigitSorter::put_runs() {
  const auto* staged = staged_.as<const Pair>();
  int64_t begin = 0;  // of the run, staged
  int64_t at = 0;     // and where it goes
  int64_t count = 0;
  for (int64_t b = 0; b < buckets_; ++b) {
    const int64_t start = starts_[static_cast<size_t>(b)];  // of the first task
    if (start != at + count && count > 0) {
      CD_TRY(put_run(staged + begin, at, count));
      begin += count;
      count = 0;
    }
    if (count == 0) at = start;
    for (int64_t task = 0; task < tasks_; ++task) {
      count += counts_[static_cast<size_t>(task * buckets_ + b)];
    }
  }
  return put_run(staged + begin, at, count);
}

int DigitSorter::owner_of(int64_t at) const {
  auto rank = static_cast<int>(at * ranks_->size() / all_);
  while (at >= block_begin(rank + 1)) ++rank;
  while (at < block_begin(rank)) --rank;
  return rank;
}

Status DigitSorter::put_run(const Pair* from, int64_t at, int64_t count) {
  constexpr auto kBytes = int64_t{sizeof(Pair)};
  while (count > 0) {
    const int owner = owner_of(at);
    const int64_t here = std::min(count, block_begin(owner + 1) - at);
    const int64_t to = (at - block_begin(owner)) * kBytes;
    const auto* bytes = reinterpret_cast<const std::byte*>(from);
    if (owner == ranks_->rank()) {
      std::memcpy(window_->data() + to, bytes, static_cast<size_t>(here * kBytes));
    } else {
      CD_TRY(window_->put(owner, to, {bytes, static_cast<size_t>(here * kBytes)}));
      done_.run_messages += 1;
    }
    from += here;
    at += here;
    count -= here;
  }
  return {};
}

// Every rank has rows of all ranks now; each of these learns which of its rows they are.
Status DigitSorter::tell_rows(uint16_t* destinations) {
  const auto ranks = static_cast<size_t>(ranks_->size());
  const auto source_of = [&](const Pair& pair) {
    return static_cast<size_t>(
        std::upper_bound(first_rows_.begin() + 1, first_rows_.end(), pair.row) -
        first_rows_.begin() - 1);
  };
  std::vector<int64_t> counts(ranks);
  for (int64_t i = 0; i < count_; ++i) ++counts[source_of(from_[i])];
  CD_ASSIGN(const std::vector<int64_t> coming, ranks_->all_to_all(counts));
  std::vector<int64_t> places(ranks + 1);  // of what each rank tells this one
  for (size_t rank = 0; rank < ranks; ++rank) places[rank + 1] = places[rank] + coming[rank];
  CD_ASSIGN(const std::vector<int64_t> to,
            ranks_->all_to_all(std::span<const int64_t>(places).first(ranks)));
  CD_ASSIGN(const std::shared_ptr<ranks::Window> rows,
            ranks_->open_window(store_->rows() * 4, memory_, "rows and their ranks"));
  auto* numbers = staged_.as<uint32_t>();
  std::vector<int64_t> cursors(ranks + 1);
  for (size_t rank = 0; rank < ranks; ++rank) cursors[rank + 1] = cursors[rank] + counts[rank];
  const std::vector<int64_t> begins = cursors;
  for (int64_t i = 0; i < count_; ++i) {
    const size_t source = source_of(from_[i]);
    numbers[cursors[source]++] = static_cast<uint32_t>(from_[i].row - first_rows_[source]);
  }
  for (size_t rank = 0; rank < ranks; ++rank) {
    if (counts[rank] == 0) continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(numbers + begins[rank]);
    CD_TRY(rows->put(
        static_cast<int>(rank), to[rank] * 4, {bytes, static_cast<size_t>(counts[rank] * 4)}));
  }
  CD_TRY(rows->fence());
  const auto* came = reinterpret_cast<const uint32_t*>(rows->data());
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (int64_t i = places[rank]; i < places[rank + 1]; ++i) {
      destinations[came[i]] = static_cast<uint16_t>(rank);
    }
  }
  return {};
}

}  // namespace

Result<DigitCut> cut_by_digits(const RankRun& run,
                               const RowStore& store,
                               std::span<const CutKey> keys,
                               const DigitOptions& options) {
  return DigitSorter(run, store, options).cut(keys);
}

}  // namespace crossdock::bulk
