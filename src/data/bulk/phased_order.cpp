// Stages leave in phases: n - 1 of them to a round, and in phase k rank i puts to rank i + k and to no other.
//
// So every rank has one target and every target one source at a time, and what is under way to a rank is what one
// source has for it in one round: the barrier behind a phase is the receiver's credit for the next source. A rank
// enters a round when half of its stages are full, or when its rows are through; one of its threads puts, the others
// go on partitioning into the other half. The round ends with a number of all ranks that says whether anybody has
// more, so all make equally many rounds, those too that have nothing to send. Costs n - 1 barriers and a fold per
// round.
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "data/bulk/put_order.hpp"

namespace crossdock::bulk {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the seconds since the last call to where they were spent.
class Stopwatch {
 public:
  void add_to(double& seconds) {
    const Clock::time_point now = Clock::now();
    seconds += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

class InPhases : public PutOrder {
 public:
  InPhases(PutRoute route, int workers, ranks::Communicator& ranks)
      : route_(std::move(route)),
        ranks_(ranks),
        destination_of_(static_cast<size_t>(ranks.size()), -1),
        full_(route_.ranks.size()),
        times_(static_cast<size_t>(workers)) {
    for (size_t d = 0; d < route_.ranks.size(); ++d) {
      destination_of_[static_cast<size_t>(route_.ranks[d])] = static_cast<int>(d);
    }
  }

  Status submit(int, PutStage* stage) override {
    const std::lock_guard lock(mutex_);
    full_[static_cast<size_t>(stage->destination)].push_back(stage);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }

  Status step(int worker, bool waits) override {
    if (!waits && waiting_.load(std::memory_order_relaxed) * 2 < route_.pool->stages()) return {};
    PutTimes& times = times_[static_cast<size_t>(worker)].times;
    const std::unique_lock round(round_, std::try_to_lock);
    if (round.owns_lock()) {
      const Result<bool> goes_on = run_round(times, true);
      return goes_on.ok() ? Status() : Status(goes_on.error());
    }
    if (!waits) return {};
    Stopwatch watch;
    std::this_thread::sleep_for(kNap);  // another thread puts
    watch.add_to(times.wait_s);
    return {};
  }

  Status drain(int) override { return {}; }

  Status finish(const Status& mine) override {
    if (!mine.ok()) drop_all();
    for (bool goes_on = true; goes_on;) {
      CD_ASSIGN(goes_on, run_round(times_[0].times, false));
    }
    return mine;
  }

  const char* name() const override { return "in phases"; }
  PutTimes times(int worker) const override { return times_[static_cast<size_t>(worker)].times; }

 private:
  static constexpr std::chrono::microseconds kNap{50};

  struct alignas(64) WorkerTimes {
    PutTimes times;
  };

  std::vector<PutStage*> take(int rank) {
    const int destination = destination_of_[static_cast<size_t>(rank)];
    if (destination < 0) return {};
    const std::lock_guard lock(mutex_);
    std::vector<PutStage*> taken = std::move(full_[static_cast<size_t>(destination)]);
    full_[static_cast<size_t>(destination)].clear();
    waiting_.fetch_sub(static_cast<int64_t>(taken.size()), std::memory_order_relaxed);
    return taken;
  }

  void give_back(const std::vector<PutStage*>& stages) {
    for (PutStage* stage : stages) route_.pool->give_back(stage);
  }

  Status serve(int rank, PutTimes& times) {
    const std::vector<PutStage*> stages = take(rank);
    if (stages.empty()) return {};
    const auto d = static_cast<size_t>(stages.front()->destination);
    Stopwatch watch;
    Status put;
    for (size_t i = 0; i < stages.size() && put.ok(); ++i) {
      put = put_stage(*route_.plan, *stages[i], route_.targets[d], rank, *route_.window);
    }
    watch.add_to(times.put_s);
    if (put.ok()) put = route_.window->flush(rank);
    watch.add_to(times.flush_s);
    give_back(stages);
    return put;
  }

  // An error of a put ends nothing for others: they need this rank in their barriers.
  Result<bool> run_round(PutTimes& times, bool has_more) {
    const int size = ranks_.size();
    for (int k = 1; k < size; ++k) {
      const Status served = serve((ranks_.rank() + k) % size, times);
      if (!served.ok() && failed_.ok()) failed_ = served;
      Stopwatch watch;
      CD_TRY(ranks_.barrier());
      watch.add_to(times.wait_s);
    }
    has_more = has_more || waiting_.load(std::memory_order_relaxed) > 0;
    Stopwatch watch;
    CD_ASSIGN(const int64_t anybody, ranks_.fold(int64_t{has_more}, ranks::Fold::kMax));
    watch.add_to(times.wait_s);
    if (!failed_.ok() && anybody == 0) return failed_.error();
    return anybody != 0;
  }

  void drop_all() {
    for (int rank = 0; rank < ranks_.size(); ++rank) give_back(take(rank));
  }

  PutRoute route_;
  ranks::Communicator& ranks_;
  std::vector<int> destination_of_;           // by rank; -1: none
  std::mutex round_;                          // held by the thread that puts
  Status failed_;                             // the first put that did
  std::mutex mutex_;                          // guards full_
  std::vector<std::vector<PutStage*>> full_;  // by destination
  std::atomic<int64_t> waiting_{0};
  std::vector<WorkerTimes> times_;
};

}  // namespace

std::unique_ptr<PutOrder> make_order_in_phases(PutRoute route,
                                               int workers,
                                               ranks::Communicator& ranks) {
  if (is_one_phase(ranks.size())) return make_order_in_one_phase(std::move(route), workers);
  return std::make_unique<InPhases>(std::move(route), workers, ranks);
}

}  // namespace crossdock::bulk
