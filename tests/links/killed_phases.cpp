// A run to learn from, and one to die in.
#include "killed_phases.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/team.hpp"
#include "data/bulk/bulk_exchange.hpp"
#include "operators/hash_join/rank_sides.hpp"
#include "operators/sort/rank_sort.hpp"
#include "table/arrow_builder.hpp"
#include "table/word_mix.hpp"

namespace crossdock {
namespace {

using Clock = std::chrono::steady_clock;

// Of each rank: some milliseconds for each phase that moves them.
constexpr int64_t kRows = 300'000;
constexpr int64_t kKilledBudget = int64_t{1} << 30;

struct Span {
  Clock::time_point begin;
  Clock::time_point end;
};

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

TablePtr random_rows(int rank) {
  arrow_test::Optionals<int64_t> keys, values;
  uint64_t state = 1 + static_cast<uint64_t>(rank);
  for (int64_t i = 0; i < kRows; ++i) {
    keys.push_back(static_cast<int64_t>(next_random(state) >> 1));
    values.push_back(i);
  }
  const Batch batch = arrow_test::make_batch({{"k", arrow_test::fixed<int64_t>("l", keys)},
                                              {"v", arrow_test::fixed<int64_t>("l", values)}});
  return std::make_shared<const Table>(Table{batch.schema, {batch}, kRows});
}

class Work {
 public:
  Work(ranks::Communicator& ranks, bool joins)
      : ranks_(ranks), rows_(random_rows(ranks.rank())), joins_(joins) {
    environment_.memory = Memory::create(kKilledBudget);
  }

  // By key, then in order, then all to rank 0; or into the partitions of a join.
  Status run() {
    calls_.clear();
    ranks_.set_watch([this](int64_t) { began_call(); });
    CD_TRY(ranks_.barrier());
    Team team(1);
    if (joins_) return join({&ranks_, &team, environment_.memory});
    const bulk::BulkContext context{&ranks_, &team, environment_.memory};
    std::vector<int> all;
    for (int rank = 0; rank < ranks_.size(); ++rank) all.push_back(rank);
    sorters::RouteSpec rule{sorters::RouteBy::kHash, {0}, ranks_.size()};
    bulk::BulkOptions options;
    options.message_bytes = 1 << 14;
    options.pool_bytes = 1 << 18;  // many rounds of puts
    CD_ASSIGN(const bulk::BulkResult moved,
              bulk::bulk_exchange(context, *rows_, {&rule, {}, all}, options));
    const Clock::time_point exchanged = Clock::now();
    const size_t calls_before = calls_.size();
    for (const bulk::BulkPhase& phase : moved.facts.phases) {
      const Clock::time_point begin = exchanged - seconds_of(moved.facts.total_s - phase.begin_s);
      phases_[with_underscores(phase.name)] = {begin, begin + seconds_of(phase.seconds)};
    }
    operators::SortSpec order;
    order.keys = {{0}};
    order.output = {{0, "k"}, {1, "v"}};
    const bulk::RankRun sorts{&ranks_, &team, environment_.memory};
    CD_ASSIGN(const operators::RankSorted sorted,
              operators::sort_over_ranks(sorts, order, moved.table, environment_));
    const Clock::time_point in_order = Clock::now();
    phases_["cut"] = {exchanged, calls_[calls_before + 1]};
    phases_["sort"] = {calls_.back(), in_order};
    CD_ASSIGN(const bulk::BulkResult all_rows,
              bulk::bulk_exchange(context, *sorted.rows, {nullptr, {}, {0}}, options));
    CD_TRY(ranks_.barrier());
    phases_["gather"] = {in_order, Clock::now()};
    return {};
  }

  // Straight into partitions, of which each rank counts a sample.
  Status join(const bulk::RankRun& run) {
    operators::JoinSpec spec;
    spec.keys = {{0, 0}};
    spec.output = {{operators::OutputSide::kLeft, 1, "l"}, {operators::OutputSide::kRight, 1, "r"}};
    spec.partition_bits = 4;
    const Clock::time_point begin = Clock::now();
    CD_ASSIGN(const operators::RankPartition partition,
              operators::partition_over_ranks(run, spec, rows_, rows_, environment_));
    if (partition.sides == nullptr) return Error{ErrorCode::kInternal, partition.reason};
    // They count from when all have agreed to join alike, which is soon.
    for (const bulk::BulkPhase& phase : partition.sides->facts.phases) {
      const Clock::time_point began = begin + seconds_of(phase.begin_s);
      phases_["join_" + with_underscores(phase.name)] = {began, began + seconds_of(phase.seconds)};
    }
    return ranks_.barrier();
  }

  Status run_until(const EndedPhase& ending) {
    const auto times = phases_.find(ending.phase);
    if (times == phases_.end()) {
      return make_error(ErrorCode::kInvalidArgument, "there is no phase '{}'", ending.phase);
    }
    throws_ = ending.throws;
    const Clock::time_point middle =
        times->second.begin + (times->second.end - times->second.begin) / 2;
    const auto next = std::upper_bound(calls_.begin(), calls_.end(), middle);
    last_call_ = static_cast<size_t>(next - calls_.begin());  // the first is the barrier
    wait_ = middle - calls_[last_call_ - 1];
    const Status ran = run();
    // Faster than the first time: then it dies here, where others wait for what it does next.
    std::this_thread::sleep_for(wait_ + std::chrono::seconds(1));
    return ran;
  }

 private:
  void began_call() {
    calls_.push_back(Clock::now());
    if (last_call_ == 0 || calls_.size() != last_call_) return;
    if (throws_) throw std::runtime_error("the file ends early");
    std::thread([this] {
      std::this_thread::sleep_for(wait_);
      ::raise(SIGKILL);
    }).detach();
  }

  ranks::Communicator& ranks_;
  operators::RunEnvironment environment_;
  TablePtr rows_;
  bool joins_;
  std::vector<Clock::time_point> calls_;
  std::map<std::string, Span> phases_;
  size_t last_call_ = 0;
  Clock::duration wait_{};
  bool throws_ = false;
};

}  // namespace

Status ended_in_phase(ranks::Communicator& ranks, const EndedPhase& ending) {
  const bool joins = ending.phase.starts_with("join_");
  Work work(ranks, joins);
  CD_TRY(work.run());
  // Again with the windows of before, as it will be then: there are so few collectives that one more or less counts.
  CD_TRY(work.run());
  if (ranks.rank() == ending.who) return work.run_until(ending);
  for (;;) CD_TRY(work.run());
}

}  // namespace crossdock
