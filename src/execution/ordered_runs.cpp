#include "execution/ordered_runs.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "execution/stage.hpp"
#include "table/key_word.hpp"

namespace crossdock::execution {
namespace {

using expressions::BlockEvaluator;
using expressions::ExpressionLane;
using expressions::ExpressionPtr;
using expressions::ValueDomain;
using operators::OperatorRun;
using operators::PairList;
using operators::RunTable;

constexpr const char* kOrderPhase = "order build table";
constexpr int64_t kRowsPerTurn = int64_t{1} << 16;
// Of pairs that are only to show that a row has one.
constexpr uint32_t kPairsBeforeALook = 32;

// The first word of a row without a value: beyond the top, unless that is as large.
constexpr uint64_t kNoValue = ~uint64_t{0};
constexpr uint64_t kInfinityWord = 0x7FF0'0000'0000'0000 | kSignBit;

// A row of a run that is being sorted.
struct RunRow {
  uint64_t word;
  uint64_t first;
  uint64_t second;
  uint64_t carry;

  friend bool operator<(const RunRow& a, const RunRow& b) {
    if (a.word != b.word) return a.word < b.word;
    return a.first != b.first ? a.first < b.first : a.carry < b.carry;
  }
};

// Words that are ordered as the values are, or equal where these differ by what 64 bits do not hold.
uint64_t word_of_string(std::string_view string) {
  uint64_t word = 0;
  std::memcpy(&word, string.data(), std::min<size_t>(string.size(), 8));
  return __builtin_bswap64(word);
}

// Decimals beyond 64 bits are all alike.
uint64_t word_of_wide(uint64_t low, uint64_t high) {
  const uint64_t sign = (low >> 63) != 0 ? ~uint64_t{0} : 0;
  if (high == sign) return low ^ kSignBit;
  return (high >> 63) != 0 ? 0 : ~uint64_t{0};
}

// The words of an output, and which rows have a value that compares.
struct OrderWords {
  uint64_t words[kBlockRows];
  uint8_t live[kBlockRows];
  bool are_exact = true;  // words are equal only of equal values

  // After compute().
  void load(BlockEvaluator& evaluator, int32_t output, int32_t rows);
};

void OrderWords::load(BlockEvaluator& evaluator, int32_t output, int32_t rows) {
  const DataType& type = evaluator.program().output_type(output);
  const ValueDomain domain = expressions::value_domain(type).value();
  const bool are_strings = domain == ValueDomain::kText;
  const ExpressionLane lane = are_strings ? ExpressionLane{} : evaluator.lane(output);
  const uint8_t* valid = are_strings ? evaluator.valid(output) : lane.valid;
  if (valid == nullptr) {
    std::fill_n(live, rows, 1);
  } else {
    std::copy_n(valid, rows, live);
  }
  if (are_strings) {
    const std::string_view* strings = evaluator.strings(output);
    for (int32_t i = 0; i < rows; ++i) words[i] = live[i] != 0 ? word_of_string(strings[i]) : 0;
    are_exact = false;
  } else if (domain == ValueDomain::kReal) {
    for (int32_t i = 0; i < rows; ++i) {
      words[i] = order_of_float(lane.words[i]);
      live[i] &= words[i] <= kInfinityWord ? 1 : 0;  // NaN compares with nothing
    }
  } else if (type.id == TypeId::kUInt64) {
    std::copy_n(lane.words, rows, words);
  } else if (lane.high == nullptr) {
    for (int32_t i = 0; i < rows; ++i) words[i] = lane.words[i] ^ kSignBit;
  } else {
    for (int32_t i = 0; i < rows; ++i) words[i] = word_of_wide(lane.words[i], lane.high[i]);
    are_exact = false;
  }
}

bool is_same(const ExpressionPtr& a, const ExpressionPtr& b) {
  return expressions::expression_text(*a) == expressions::expression_text(*b);
}

Result<std::unique_ptr<BlockEvaluator>> evaluator_of(const std::vector<ExpressionPtr>& outputs,
                                                     Memory& memory) {
  CD_ASSIGN(auto program, expressions::Program::create({}, outputs));
  CD_ASSIGN(BlockEvaluator evaluator, BlockEvaluator::create(std::move(program), memory));
  return std::make_unique<BlockEvaluator>(std::move(evaluator));
}

}  // namespace

// Computes the values of the build side and sorts its runs by them.
class RunSorter {
 public:
  RunSorter(OperatorRun& run, OrderedRuns& runs)
      : run_(run), runs_(runs), table_(runs.table_->runs()) {}

  Status sort() {
    CD_ASSIGN(rows_,
              run_.memory->get((table_.rows + 1) * sizeof(RunRow), "the order of the build side"));
    tops_.assign(run_.team->worker_count(), 0);
    evaluators_.resize(run_.team->worker_count());
    const int64_t turns = (table_.rows + kRowsPerTurn - 1) / kRowsPerTurn;
    CD_TRY(run_.for_indices(kOrderPhase, turns, 0, [&](int worker, int64_t turn) {
      return load(worker, turn * kRowsPerTurn, std::min(table_.rows, (turn + 1) * kRowsPerTurn));
    }));
    runs_.top_ = *std::max_element(tops_.begin(), tops_.end());
    runs_.is_exact_ = runs_.is_exact_ && is_exact_.load() && runs_.top_ < kNoValue;
    CD_TRY(sort_runs());
    return write();
  }

 private:
  struct Values {
    Values(const BlockSchema& pairs, std::vector<int> read)
        : columns(pairs, std::move(read), Decimals::kAsStored) {}
    FlatColumns columns;
    std::unique_ptr<BlockEvaluator> evaluator;
  };

  Result<Values*> values(int worker) {
    if (evaluators_[worker] == nullptr) {
      std::vector<ExpressionPtr> outputs = {runs_.first_value_};
      if (runs_.second_value_ != nullptr) outputs.push_back(runs_.second_value_);
      auto values = std::make_unique<Values>(runs_.pairs_, columns_of(outputs));
      CD_ASSIGN(values->evaluator, evaluator_of(outputs, *run_.memory));
      evaluators_[worker] = std::move(values);
    }
    return evaluators_[worker].get();
  }

  Status load(int worker, int64_t begin, int64_t end) {
    CD_ASSIGN(Values * state, values(worker));
    RowRef refs[kBlockRows];
    OrderWords first;
    OrderWords second;
    std::fill_n(second.words, kBlockRows, 0);
    bool is_exact = true;
    RowBlock block;
    block.origins.resize(runs_.pairs_.stores.size());
    block.origins.back().store = &runs_.table_->store();
    block.origins.back().rows = refs;
    auto* rows = rows_.as<RunRow>();
    for (int64_t at = begin; at < end; at += kBlockRows) {
      const auto count = static_cast<int32_t>(std::min<int64_t>(kBlockRows, end - at));
      for (int32_t i = 0; i < count; ++i) refs[i] = static_cast<RowRef>(table_.carry[at + i]);
      block.rows = count;
      CD_TRY(state->evaluator->filter(state->columns.load(block), 0, count));
      CD_TRY(state->evaluator->compute());
      first.load(*state->evaluator, 0, count);
      for (int32_t i = 0; i < count; ++i) {
        if (first.live[i] == 0) first.words[i] = kNoValue;
        const bool has_top = first.live[i] != 0;
        tops_[worker] = std::max(tops_[worker], has_top ? first.words[i] : 0);
      }
      if (runs_.second_value_ != nullptr) {
        second.load(*state->evaluator, 1, count);
        const uint64_t turn = runs_.second_bound_.is_lower ? 0 : ~uint64_t{0};
        for (int32_t i = 0; i < count; ++i) {
          second.words[i] = second.live[i] != 0 ? second.words[i] ^ turn : 0;
          is_exact = is_exact && second.live[i] != 0;
        }
      }
      is_exact = is_exact && first.are_exact && second.are_exact;
      for (int32_t i = 0; i < count; ++i) {
        rows[at + i] = {
            table_.words[at + i], first.words[i], second.words[i], table_.carry[at + i]};
      }
    }
    if (!is_exact) is_exact_.store(false, std::memory_order_relaxed);
    return {};
  }

  // Slots by all workers; runs that are longer than a turn in parts, which are merged.
  Status sort_runs() {
    const auto* directory = static_cast<const uint32_t*>(table_.directory);
    const int64_t slots = int64_t{1} << table_.slot_bits;
    std::vector<std::pair<int64_t, int64_t>> long_runs;
    for (int64_t slot = 0; slot < slots; ++slot) {
      if (directory[slot + 1] - directory[slot] > kRowsPerTurn) {
        long_runs.emplace_back(directory[slot], directory[slot + 1]);
      }
    }
    auto* rows = rows_.as<RunRow>();
    constexpr int64_t kSlotsPerTurn = int64_t{1} << 12;
    const int64_t turns = (slots + kSlotsPerTurn - 1) / kSlotsPerTurn;
    CD_TRY(run_.for_indices(kOrderPhase, turns, 0, [&](int, int64_t turn) -> Status {
      const int64_t end = std::min(slots, (turn + 1) * kSlotsPerTurn);
      for (int64_t slot = turn * kSlotsPerTurn; slot < end; ++slot) {
        const uint32_t length = directory[slot + 1] - directory[slot];
        if (length > 1 && length <= kRowsPerTurn) {
          std::sort(rows + directory[slot], rows + directory[slot + 1]);
        }
      }
      return {};
    }));
    for (const auto& [begin, end] : long_runs) CD_TRY(sort_long_run(rows + begin, end - begin));
    return {};
  }

  Status sort_long_run(RunRow* rows, int64_t count) {
    const int64_t parts = (count + kRowsPerTurn - 1) / kRowsPerTurn;
    const auto part = [&](int64_t index) { return rows + std::min(count, index * kRowsPerTurn); };
    CD_TRY(run_.for_indices(kOrderPhase, parts, 0, [&](int, int64_t index) -> Status {
      std::sort(part(index), part(index + 1));
      return {};
    }));
    for (int64_t width = 1; width < parts; width *= 2) {
      const int64_t merges = (parts + 2 * width - 1) / (2 * width);
      CD_TRY(run_.for_indices(kOrderPhase, merges, 0, [&](int, int64_t index) -> Status {
        const int64_t begin = index * 2 * width;
        std::inplace_merge(part(begin), part(begin + width), part(begin + 2 * width));
        return {};
      }));
    }
    return {};
  }

  Status write() {
    CD_ASSIGN(runs_.first_, run_.memory->get((table_.rows + 1) * 8, "the order of the build side"));
    if (runs_.second_value_ != nullptr) {
      CD_ASSIGN(Block second,
                run_.memory->get((table_.rows + 1) * 8, "the order of the build side"));
      runs_.maxima_.push_back(std::move(second));
    }
    const auto* rows = rows_.as<const RunRow>();
    const int64_t turns = (table_.rows + kRowsPerTurn - 1) / kRowsPerTurn;
    return run_.for_indices(kOrderPhase, turns, 0, [&](int, int64_t turn) -> Status {
      const int64_t end = std::min(table_.rows, (turn + 1) * kRowsPerTurn);
      for (int64_t at = turn * kRowsPerTurn; at < end; ++at) {
        table_.words[at] = rows[at].word;
        table_.carry[at] = rows[at].carry;
        runs_.first_.as<uint64_t>()[at] = rows[at].first;
        if (!runs_.maxima_.empty()) runs_.maxima_[0].as<uint64_t>()[at] = rows[at].second;
      }
      return {};
    });
  }

  OperatorRun& run_;
  OrderedRuns& runs_;
  const RunTable& table_;
  Block rows_;
  std::vector<uint64_t> tops_;  // by worker
  std::atomic<bool> is_exact_{true};
  std::vector<std::unique_ptr<Values>> evaluators_;
};

bool OrderedRuns::pay_for(const JoinTable& table) {
  constexpr double kLeastCandidates = 16;  // of a row with a partner
  if (table.is_array() || table.is_unique()) return false;
  const RunTable& runs = table.runs();
  const auto* directory = static_cast<const uint32_t*>(runs.directory);
  double candidates = 0;
  for (int64_t slot = 0; slot < int64_t{1} << runs.slot_bits; ++slot) {
    const double length = directory[slot + 1] - directory[slot];
    candidates += length * length;
  }
  return candidates >= kLeastCandidates * static_cast<double>(runs.rows);
}

Result<std::shared_ptr<const OrderedRuns>> OrderedRuns::create(OperatorRun& run,
                                                               const JoinTable& table,
                                                               const BlockSchema& pairs,
                                                               const RangeConditions& conditions) {
  std::shared_ptr<OrderedRuns> runs(new OrderedRuns(table, pairs));
  runs->choose(conditions.all);
  const size_t used = runs->first_bounds_.size() + (runs->second_value_ != nullptr ? 1 : 0);
  runs->is_exact_ = conditions.are_everything && used == conditions.all.size();
  const Status sorted = RunSorter(run, *runs).sort();
  if (!sorted.ok() && sorted.error().code == ErrorCode::kExpressionFailed) {
    return std::shared_ptr<const OrderedRuns>();
  }
  CD_TRY(sorted);
  CD_TRY(runs->build_maxima(run));
  return std::shared_ptr<const OrderedRuns>(std::move(runs));
}

// The value with bounds on both sides first, if there is one: its rows are a range then, whatever the bounds.
void OrderedRuns::choose(const std::vector<RangeCondition>& conditions) {
  const auto bounds_of = [&](const ExpressionPtr& value) {
    std::vector<Bound> bounds;
    for (const RangeCondition& each : conditions) {
      if (is_same(each.build, value))
        bounds.push_back({each.probe, each.build_is_above, each.is_strict});
    }
    return bounds;
  };
  const auto has_both = [&](const RangeCondition& condition) {
    const std::vector<Bound> bounds = bounds_of(condition.build);
    return std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) {
      return bound.is_lower != bounds[0].is_lower;
    });
  };
  const auto both = std::find_if(conditions.begin(), conditions.end(), has_both);
  first_value_ = both != conditions.end() ? both->build : conditions[0].build;
  first_bounds_ = bounds_of(first_value_);
  const auto other = std::find_if(conditions.begin(), conditions.end(), [&](const auto& each) {
    return !is_same(each.build, first_value_);
  });
  if (other == conditions.end()) return;
  second_value_ = other->build;
  second_bound_ = {other->probe, other->build_is_above, other->is_strict};
}

Status OrderedRuns::build_maxima(OperatorRun& run) {
  if (maxima_.empty()) return {};
  constexpr int64_t kFan = int64_t{1} << kFanBits;
  for (int64_t below = table_->rows(); below > kFan;) {
    const int64_t count = (below + kFan - 1) / kFan;
    CD_ASSIGN(Block level, run.memory->get((count + 1) * 8, "the order of the build side"));
    const auto* values = maxima_.back().as<const uint64_t>();
    for (int64_t i = 0; i < count; ++i) {
      level.as<uint64_t>()[i] =
          *std::max_element(values + i * kFan, values + std::min(below, (i + 1) * kFan));
    }
    maxima_.push_back(std::move(level));
    below = count;
  }
  return {};
}

// The first position in [at, end) whose second word is at least `least`, or end.
uint32_t OrderedRuns::next_above(uint32_t at, uint32_t end, uint64_t least) const {
  int level = 0;
  while (at < end) {
    if (maxima_[level].as<const uint64_t>()[at >> (kFanBits * level)] >= least) {
      if (level == 0) return at;
      --level;
      continue;
    }
    at = ((at >> (kFanBits * level)) + 1) << (kFanBits * level);
    const auto levels = static_cast<int>(maxima_.size());
    while (level + 1 < levels && (at & ((uint32_t{1} << (kFanBits * (level + 1))) - 1)) == 0) {
      ++level;
    }
  }
  return end;
}

OrderedFinder::OrderedFinder(std::shared_ptr<const OrderedRuns> runs, std::vector<ExpressionPtr> of)
    : runs_(std::move(runs)), columns_(runs_->pairs_, columns_of(of), Decimals::kAsStored) {}

Result<std::unique_ptr<OrderedFinder>> OrderedFinder::create(
    std::shared_ptr<const OrderedRuns> runs, Memory& memory) {
  std::vector<ExpressionPtr> outputs;
  for (const auto& bound : runs->first_bounds_) outputs.push_back(bound.probe);
  if (runs->second_value_ != nullptr) outputs.push_back(runs->second_bound_.probe);
  std::unique_ptr<OrderedFinder> finder(new OrderedFinder(std::move(runs), outputs));
  CD_ASSIGN(finder->evaluator_, evaluator_of(outputs, memory));
  return finder;
}

Status OrderedFinder::load_bounds(const RowBlock& block) {
  CD_TRY(evaluator_->filter(columns_.load(block), 0, block.rows));
  CD_TRY(evaluator_->compute());
  OrderWords values;
  // A strict bound is the next word, where those of both sides are exact; there is none behind the last.
  const auto take = [&](int32_t output, const OrderedRuns::Bound& bound, const auto& use) {
    values.load(*evaluator_, output, block.rows);
    is_exact_ = is_exact_ && values.are_exact;
    const uint64_t turn = bound.is_lower ? 0 : ~uint64_t{0};
    const bool is_next = bound.is_strict && is_exact_;
    for (int32_t i = 0; i < block.rows; ++i) {
      const uint64_t word = values.words[i] ^ turn;
      const bool is_last = word == ~uint64_t{0};
      live_[i] &= is_next && is_last ? 0 : values.live[i];
      use(i, (is_next ? word + 1 : word) ^ turn);
    }
  };
  const auto bounds = static_cast<int32_t>(runs_->first_bounds_.size());
  for (int32_t b = 0; b < bounds; ++b) {
    const OrderedRuns::Bound& bound = runs_->first_bounds_[b];
    if (bound.is_lower) {
      take(b, bound, [&](int32_t i, uint64_t word) { lower_[i] = std::max(lower_[i], word); });
    } else {
      take(b, bound, [&](int32_t i, uint64_t word) { upper_[i] = std::min(upper_[i], word); });
    }
  }
  if (runs_->second_value_ == nullptr) return {};
  const uint64_t turn = runs_->second_bound_.is_lower ? 0 : ~uint64_t{0};
  take(bounds, runs_->second_bound_, [&](int32_t i, uint64_t word) { least_[i] = word ^ turn; });
  return {};
}

Status OrderedFinder::start(const RowBlock& block,
                            const uint64_t* words,
                            const uint16_t* rows,
                            int32_t count) {
  const auto reset = [&](uint64_t top) {
    std::fill_n(lower_, block.rows, 0);
    std::fill_n(upper_, block.rows, top);
    std::fill_n(least_, block.rows, 0);
    std::fill_n(live_, block.rows, 1);
  };
  reset(runs_->top_);
  is_exact_ = runs_->is_exact_;
  const Status loaded = load_bounds(block);
  if (!loaded.ok()) {
    // A row has no bound. Whether that is an error, the condition decides, with the pairs that it meets.
    if (loaded.error().code != ErrorCode::kExpressionFailed) return loaded;
    reset(~uint64_t{0});
    is_exact_ = false;
  }
  open_count_ = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (live_[rows[i]] != 0) enter(words[i], rows[i]);
  }
  return {};
}

void OrderedFinder::enter(uint64_t word, uint16_t row) {
  const RunTable& table = runs_->table_->runs();
  const auto* directory = static_cast<const uint32_t*>(table.directory);
  const auto* firsts = runs_->first_.as<const uint64_t>();
  const uint64_t slot = table.slot(word);
  // The first position of the slot for which `is_beyond` is true; it is so from some position on.
  const auto search = [&](uint32_t begin, const auto& is_beyond) {
    uint32_t count = directory[slot + 1] - begin;
    while (count > 0) {
      const uint32_t half = count / 2;
      const bool beyond = is_beyond(table.words[begin + half], firsts[begin + half]);
      begin = beyond ? begin : begin + half + 1;
      count = beyond ? half : count - half - 1;
    }
    return begin;
  };
  const uint64_t lower = lower_[row];
  const uint64_t upper = upper_[row];
  if (lower > upper) return;
  const uint32_t begin = search(directory[slot], [&](uint64_t key, uint64_t first) {
    return key != word ? key > word : first >= lower;
  });
  const uint32_t end = search(begin, [&](uint64_t key, uint64_t first) {
    return key != word ? key > word : first > upper;
  });
  if (begin < end) open_[open_count_++] = {row, begin, end};
}

bool OrderedFinder::next(PairList& pairs, const uint8_t* done) {
  pairs.count = 0;
  const uint32_t turn = done == nullptr ? operators::kPairRows : kPairsBeforeALook;
  const bool has_maxima = !runs_->maxima_.empty();
  int32_t kept = 0;
  int32_t at = 0;
  for (; at < open_count_ && pairs.count < operators::kPairRows; ++at) {
    OpenRange range = open_[at];
    if (done != nullptr && done[range.row] != 0) continue;
    const auto room = static_cast<uint32_t>(operators::kPairRows - pairs.count);
    for (uint32_t left = std::min(turn, room); left > 0; --left) {
      if (has_maxima) range.next = runs_->next_above(range.next, range.end, least_[range.row]);
      if (range.next >= range.end) break;
      pairs.rows[pairs.count] = range.row;
      pairs.positions[pairs.count++] = range.next++;
    }
    if (range.next < range.end) open_[kept++] = range;
  }
  for (; at < open_count_; ++at) open_[kept++] = open_[at];
  open_count_ = kept;
  return pairs.count > 0;
}

}  // namespace crossdock::execution
