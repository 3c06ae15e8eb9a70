#include "data/bulk/order_cut.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <string>

#include "data/bulk/cut_targets.hpp"
#include "data/sorters/splitters.hpp"
#include "model/bucket_messages.hpp"
#include "table/word_mix.hpp"

namespace crossdock::bulk {
namespace {

// So fine that some range nearly always begins within a fair share's tolerance: a range is 1/64 of a share, and a
// sample of 16 to a range says its rows within a quarter.
constexpr int kRangesPerRank = 64;
constexpr int kRangesMax = 4096;
constexpr int kOpenRanges = 256;  // of rows that are cut in turn
constexpr int kSamplePerRange = 16;
constexpr int64_t kBlockRows = 1 << 14;

// Rows of all ranks that several destinations share, in the order of their words.
struct Rows {
  int64_t count = 0;  // of this rank
  int64_t all = 0;    // of all
  Block rows;  // uint32_t: their numbers in the table, ascending; no block: they are all rows of it
  Block words;
  std::optional<OrderKeyPlan::Ties> ties;  // where the words began to read; none: with the keys
  int first_destination = 0;
  std::vector<int64_t> targets;
  int ranges = kOpenRanges;
};

class OrderCutter {
 public:
  OrderCutter(const RankRun& run, const RowStore& store, const CutOptions& options)
      : ranks_(run.ranks),
        store_(&store),
        team_(run.team),
        memory_(run.memory),
        options_(options),
        pieces_(pieces_of(store)) {}

  Result<OrderCut> cut(std::span<const CutKey> keys);

 private:
  struct Counted {
    Block ranges;  // uint16_t by row
    std::vector<int64_t> local;
    std::vector<int64_t> all;
  };

  Result<Rows> all_rows();
  Status solve(const Rows& rows);
  Result<std::vector<uint64_t>> sample(const Rows& rows);
  Result<Counted> count(const Rows& rows, const sorters::RangeMap& map);
  bool is_equal(const Rows& rows, const sorters::Splitter& splitter) const;
  OrderKeyPlan::Ties next_ties(const Rows& rows, uint64_t word) const {
    return rows.ties.has_value() ? keys_->ties_after(*rows.ties, word) : keys_->ties_of(word);
  }
  Status assign(const Rows& rows, const Counted& counted, const RangeCuts& cuts);
  Status cut_equal(const Rows& rows, const Counted& counted, const std::vector<OpenRange>& equal);
  Status open_further(const Rows& rows,
                      const Counted& counted,
                      const RangeCuts& cuts,
                      const sorters::RangeMap& map);
  Result<Rows> rows_within(const Rows& rows, const Counted& counted, const OpenRange& open);
  void read_on(Rows& rows) const;
  Status in_blocks(int64_t rows, const std::function<Status(int, int64_t, int64_t)>& call);

  ranks::Communicator* ranks_;
  const RowStore* store_;
  Team* team_;
  std::shared_ptr<Memory> memory_;
  CutOptions options_;
  std::vector<RowPiece> pieces_;
  std::optional<OrderKeyPlan> keys_;
  int64_t tolerance_ = 0;
  uint16_t* destinations_ = nullptr;
  std::deque<Rows> open_;
  int64_t samples_ = 0;
};

// call(worker, begin, end)
Status OrderCutter::in_blocks(int64_t rows,
                              const std::function<Status(int, int64_t, int64_t)>& call) {
  const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  return in_turns(*team_, blocks, [&](int worker, int64_t i) {
    return call(worker, i * kBlockRows, std::min(rows, (i + 1) * kBlockRows));
  });
}

Result<OrderCut> OrderCutter::cut(std::span<const CutKey> keys) {
  CD_ASSIGN(keys_, agree_on_keys(*ranks_, *store_, keys, *team_));
  OrderCut result;
  result.rows = store_->rows();
  CD_TRY(ranks_->agree_with_room([&]() -> Status {
    result.destination_block = {};
    CD_ASSIGN(result.destination_block,
              memory_->get(std::max<int64_t>(1, result.rows) * 2, "the ranks that rows go to"));
    return {};
  }));
  destinations_ = result.destination_block.as<uint16_t>();
  CD_ASSIGN(Rows all, all_rows());
  open_.push_back(std::move(all));
  // Every turn has fewer rows than the one it came from, or reads further in their keys.
  while (!open_.empty()) {
    const Rows rows = std::move(open_.front());
    open_.pop_front();
    CD_TRY(solve(rows));
  }
  std::vector<int64_t> rows_to(static_cast<size_t>(ranks_->size()));
  for (int64_t row = 0; row < result.rows; ++row) ++rows_to[destinations_[row]];
  CD_ASSIGN(result.rows_of, ranks_->fold(rows_to, ranks::Fold::kSum));
  result.samples = samples_;
  return result;
}

Result<Rows> OrderCutter::all_rows() {
  Rows rows;
  rows.count = store_->rows();
  CD_ASSIGN(rows.all, ranks_->fold(rows.count, ranks::Fold::kSum));
  const int64_t size = ranks_->size();
  for (int64_t rank = 1; rank < size; ++rank) {
    rows.targets.push_back(model::part_begin(rows.all, size, rank));
  }
  rows.ranges = static_cast<int>(std::min<int64_t>(kRangesMax, kRangesPerRank * size));
  // Half of the slack at either end.
  tolerance_ = static_cast<int64_t>(options_.slack / 2 * static_cast<double>(rows.all / size));
  CD_TRY(ranks_->agree_with_room([&]() -> Status {
    rows.words = {};
    CD_ASSIGN(rows.words, memory_->get(std::max<int64_t>(1, rows.count) * 8, "key words"));
    return {};
  }));
  auto* out = rows.words.as<uint64_t>();
  CD_TRY(in_turns(*team_, static_cast<int64_t>(pieces_.size()), [&](int, int64_t i) -> Status {
    const RowPiece& piece = pieces_[static_cast<size_t>(i)];
    keys_->encode(0, *piece.batch, piece.begin, piece.rows, out + piece.first_row);
    return {};
  }));
  return rows;
}

Status OrderCutter::solve(const Rows& rows) {
  CD_ASSIGN(const std::vector<uint64_t> words, sample(rows));
  const sorters::RangeMap map(sorters::choose_splitters(words, rows.ranges));
  CD_ASSIGN(const Counted counted, count(rows, map));
  const RangeCuts cuts = cut_ranges(counted.all, rows.targets, rows.first_destination, tolerance_);
  CD_TRY(assign(rows, counted, cuts));
  std::vector<OpenRange> equal;
  for (const OpenRange& open : cuts.open) {
    if (is_equal(rows, map.splitter(open.range))) equal.push_back(open);
  }
  if (!equal.empty()) CD_TRY(cut_equal(rows, counted, equal));
  return open_further(rows, counted, cuts, map);
}

// A word of every so many rows of each rank, all ranks' together, sorted.
Result<std::vector<uint64_t>> OrderCutter::sample(const Rows& rows) {
  ++samples_;
  const auto sample_rows = static_cast<double>(rows.ranges * kSamplePerRange);
  const double share =
      std::min(1.0, sample_rows / static_cast<double>(std::max<int64_t>(1, rows.all)));
  const auto picked = std::min(
      rows.count, static_cast<int64_t>(share * static_cast<double>(rows.count)) + (share < 1));
  std::string mine(static_cast<size_t>(picked) * 8, '\0');
  uint64_t state = options_.seed + static_cast<uint64_t>(ranks_->rank());
  const auto* words = rows.words.as<const uint64_t>();
  for (int64_t i = 0; i < picked; ++i) {
    const int64_t begin = model::part_begin(rows.count, picked, i);
    const int64_t stride = model::part_begin(rows.count, picked, i + 1) - begin;
    const auto row =
        begin + static_cast<int64_t>(next_random(state) % static_cast<uint64_t>(stride));
    std::memcpy(mine.data() + i * 8, words + row, 8);
  }
  CD_ASSIGN(const std::vector<std::string> all, ranks_->gather(mine, ranks_->limit()));
  std::vector<uint64_t> sampled;
  for (const std::string& text : all) {
    if (text.empty()) continue;  // a rank without rows
    const size_t before = sampled.size();
    sampled.resize(before + text.size() / 8);
    std::memcpy(sampled.data() + before, text.data(), text.size() / 8 * 8);
  }
  std::sort(sampled.begin(), sampled.end());
  return sampled;
}

Result<OrderCutter::Counted> OrderCutter::count(const Rows& rows, const sorters::RangeMap& map) {
  Counted counted;
  CD_TRY(ranks_->agree_with_room([&]() -> Status {
    counted.ranges = {};
    CD_ASSIGN(counted.ranges,
              memory_->get(std::max<int64_t>(1, rows.count) * 2, "the ranges of rows"));
    return {};
  }));
  auto* ranges = counted.ranges.as<uint16_t>();
  const auto* words = rows.words.as<const uint64_t>();
  const auto range_count = static_cast<size_t>(map.range_count());
  std::vector<std::vector<int64_t>> by_worker(static_cast<size_t>(team_->worker_count()));
  CD_TRY(in_blocks(rows.count, [&](int worker, int64_t begin, int64_t end) -> Status {
    std::vector<int64_t>& counts = by_worker[static_cast<size_t>(worker)];
    counts.resize(range_count);
    map.find(words + begin, static_cast<int32_t>(end - begin), ranges + begin);
    for (int64_t i = begin; i < end; ++i) ++counts[ranges[i]];
    return {};
  }));
  counted.local.assign(range_count, 0);
  for (const std::vector<int64_t>& counts : by_worker) {
    for (size_t range = 0; range < counts.size(); ++range) counted.local[range] += counts[range];
  }
  CD_ASSIGN(counted.all, ranks_->fold(counted.local, ranks::Fold::kSum));
  return counted;
}

// Rows of open ranges are given a destination further on.
Status OrderCutter::assign(const Rows& rows, const Counted& counted, const RangeCuts& cuts) {
  const auto* ranges = counted.ranges.as<const uint16_t>();
  const auto* numbers = rows.rows.as<const uint32_t>();
  const uint16_t* destination = cuts.destination.data();
  return in_blocks(rows.count, [&](int, int64_t begin, int64_t end) -> Status {
    if (numbers == nullptr) {
      for (int64_t i = begin; i < end; ++i) destinations_[i] = destination[ranges[i]];
    } else {
      for (int64_t i = begin; i < end; ++i) destinations_[numbers[i]] = destination[ranges[i]];
    }
    return {};
  });
}

// Whether all rows of the range have equal keys.
bool OrderCutter::is_equal(const Rows& rows, const sorters::Splitter& splitter) const {
  return splitter.is_heavy && next_ties(rows, splitter.word).part == keys_->part_count();
}

// Rows that nothing but their places tell apart: those of the ranks before come first.
Status OrderCutter::cut_equal(const Rows& rows,
                              const Counted& counted,
                              const std::vector<OpenRange>& equal) {
  struct Next {
    int64_t position = 0;
    size_t target = 0;
  };
  std::vector<int64_t> equal_rows;
  std::vector<const OpenRange*> open_of(counted.local.size(), nullptr);
  std::vector<Next> next_of(counted.local.size());
  for (const OpenRange& open : equal)
    equal_rows.push_back(counted.local[static_cast<size_t>(open.range)]);
  CD_ASSIGN(const std::vector<int64_t> before, ranks_->exclusive_sum(equal_rows));
  for (size_t i = 0; i < equal.size(); ++i) {
    open_of[static_cast<size_t>(equal[i].range)] = &equal[i];
    next_of[static_cast<size_t>(equal[i].range)].position = before[i];
  }
  const auto* ranges = counted.ranges.as<const uint16_t>();
  const auto* numbers = rows.rows.as<const uint32_t>();
  for (int64_t i = 0; i < rows.count; ++i) {
    const OpenRange* const open = open_of[ranges[i]];
    if (open == nullptr) continue;
    Next& next = next_of[ranges[i]];
    while (next.target < open->targets.size() && open->targets[next.target] <= next.position) {
      ++next.target;
    }
    ++next.position;
    destinations_[numbers == nullptr ? i : numbers[i]] =
        static_cast<uint16_t>(open->first_destination + static_cast<int>(next.target));
  }
  return {};
}

// What is still open is cut in a turn of its own.
Status OrderCutter::open_further(const Rows& rows,
                                 const Counted& counted,
                                 const RangeCuts& cuts,
                                 const sorters::RangeMap& map) {
  for (const OpenRange& open : cuts.open) {
    const sorters::Splitter& splitter = map.splitter(open.range);
    if (is_equal(rows, splitter)) continue;
    Result<Rows> within = rows_within(rows, counted, open);
    CD_TRY(ranks_->agree(within.ok() ? Status() : Status(within.error())));
    Rows& further = within.value();
    further.ties = rows.ties;
    if (splitter.is_heavy) {
      further.ties = next_ties(rows, splitter.word);
      read_on(further);
    }
    open_.push_back(std::move(further));
  }
  return {};
}

Result<Rows> OrderCutter::rows_within(const Rows& rows,
                                      const Counted& counted,
                                      const OpenRange& open) {
  Rows within;
  within.count = counted.local[static_cast<size_t>(open.range)];
  within.all = counted.all[static_cast<size_t>(open.range)];
  within.first_destination = open.first_destination;
  within.targets = open.targets;
  CD_ASSIGN(within.rows, memory_->get(std::max<int64_t>(1, within.count) * 4, "rows to be cut"));
  CD_ASSIGN(within.words, memory_->get(std::max<int64_t>(1, within.count) * 8, "key words"));
  const auto* ranges = counted.ranges.as<const uint16_t>();
  const auto* numbers = rows.rows.as<const uint32_t>();
  const auto* words = rows.words.as<const uint64_t>();
  auto* to_rows = within.rows.as<uint32_t>();
  auto* to_words = within.words.as<uint64_t>();
  for (int64_t i = 0; i < rows.count; ++i) {
    if (ranges[i] != open.range) continue;
    *to_rows++ = numbers == nullptr ? static_cast<uint32_t>(i) : numbers[i];
    *to_words++ = words[i];
  }
  return within;
}

// The next words of rows whose words so far are equal.
void OrderCutter::read_on(Rows& rows) const {
  const auto* numbers = rows.rows.as<const uint32_t>();
  auto* words = rows.words.as<uint64_t>();
  RowRef refs[kOrderBlockRows];
  size_t piece = 0;
  for (int64_t begin = 0; begin < rows.count; begin += kOrderBlockRows) {
    const int64_t count = std::min<int64_t>(kOrderBlockRows, rows.count - begin);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = numbers[begin + i];
      while (row >= pieces_[piece].first_row + pieces_[piece].rows) ++piece;
      refs[i] = pieces_[piece].first_ref + static_cast<RowRef>(row - pieces_[piece].first_row);
    }
    keys_->encode_ties(0, *rows.ties, refs, count, words + begin);
  }
}

}  // namespace

Result<OrderCut> cut_by_order(const RankRun& run,
                              const RowStore& store,
                              std::span<const CutKey> keys,
                              const CutOptions& options) {
  return OrderCutter(run, store, options).cut(keys);
}

}  // namespace crossdock::bulk
