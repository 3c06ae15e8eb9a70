#include "data/bulk/put_order.hpp"

#include <chrono>
#include <deque>
#include <thread>

namespace crossdock::bulk {
namespace {

using Clock = std::chrono::steady_clock;

double put_seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class AsTheyFill : public PutOrder {
 public:
  AsTheyFill(PutRoute route, int workers, const char* name)
      : route_(std::move(route)), name_(name), workers_(static_cast<size_t>(workers)) {}

  Status submit(int worker, PutStage* stage) override {
    WorkerPuts& puts = workers_[static_cast<size_t>(worker)];
    const auto to = static_cast<size_t>(stage->destination);
    const Clock::time_point begin = Clock::now();
    puts.under_way.push_back(stage);
    const Status sent =
        put_stage(*route_.plan, *stage, route_.targets[to], route_.ranks[to], *route_.window);
    puts.times.put_s += put_seconds_since(begin);
    return sent;
  }

  Status step(int worker, bool waits) override {
    WorkerPuts& puts = workers_[static_cast<size_t>(worker)];
    if (!waits) return {};
    if (puts.under_way.empty()) {  // others have them all
      const Clock::time_point begin = Clock::now();
      std::this_thread::yield();
      puts.times.wait_s += put_seconds_since(begin);
      return {};
    }
    return flush(puts, puts.under_way.front()->destination);
  }

  Status drain(int worker) override {
    WorkerPuts& puts = workers_[static_cast<size_t>(worker)];
    while (!puts.under_way.empty()) CD_TRY(flush(puts, puts.under_way.front()->destination));
    return {};
  }

  Status finish(const Status& mine) override { return mine; }
  const char* name() const override { return name_; }
  PutTimes times(int worker) const override { return workers_[static_cast<size_t>(worker)].times; }

 private:
  struct alignas(64) WorkerPuts {
    std::deque<PutStage*> under_way;
    PutTimes times;
  };

  // One flush frees all stages of a target, so the oldest one's costs the least waiting.
  Status flush(WorkerPuts& puts, int destination) {
    const Clock::time_point begin = Clock::now();
    CD_TRY(route_.window->flush_local(route_.ranks[static_cast<size_t>(destination)]));
    puts.times.flush_s += put_seconds_since(begin);
    std::deque<PutStage*> others;
    for (PutStage* stage : puts.under_way) {
      if (stage->destination == destination) {
        route_.pool->give_back(stage);
      } else {
        others.push_back(stage);
      }
    }
    puts.under_way = std::move(others);
    return {};
  }

  PutRoute route_;
  const char* name_;
  std::vector<WorkerPuts> workers_;
};

}  // namespace

std::unique_ptr<PutOrder> make_order_as_they_fill(PutRoute route, int workers) {
  return std::make_unique<AsTheyFill>(std::move(route), workers, "as they fill");
}

std::unique_ptr<PutOrder> make_order_in_one_phase(PutRoute route, int workers) {
  return std::make_unique<AsTheyFill>(std::move(route), workers, "in one phase");
}

}  // namespace crossdock::bulk
