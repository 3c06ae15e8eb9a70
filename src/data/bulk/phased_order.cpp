// Stages leave in phases: n - 1 of them to a round, and in phase k rank i puts to rank i + k and to no other.
//
// So every rank has one target and every target one source at a time. No barrier sees to that, which would let the
// wire rest until the slowest rank has come and all bytes have arrived. Who has served a target tells the one whose
// turn is next there, by a word: rank i begins phase k + 1 when its own bytes of phase k have left its buffers, and
// those of rank i + 1, which was at the same target before it, have left theirs. What is still on the wire then
// hides the way of the word.
//
// Nothing here waits but finish(): workers step() between blocks of rows, which looks at words and at what has left, so
// rows are partitioned while bytes are under way. How many rounds there will be all ranks agree on in the beginning, by
// the most that any rank needs; in a phase a rank waits for its share of the target's stages, unless all stages are in
// use. Behind them a number of all ranks says whether anybody has more (texts of uneven lengths), and another round
// follows. Costs a word per phase, and three numbers of all ranks.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "data/bulk/put_order.hpp"

namespace crossdock {
namespace {

using Clock = std::chrono::steady_clock;

class InPhases : public PutOrder {
 public:
  InPhases(PutRoute route, int workers, Communicator& ranks)
      : route_(std::move(route)),
        ranks_(ranks),
        destination_of_(static_cast<size_t>(ranks.size()), -1),
        full_(route_.ranks.size()),
        times_(static_cast<size_t>(workers)) {
    for (size_t d = 0; d < route_.ranks.size(); ++d) {
      destination_of_[static_cast<size_t>(route_.ranks[d])] = static_cast<int>(d);
    }
  }

  Status begin() override {
    int64_t stages = 0;
    for (const int64_t some : route_.stages) stages += some;
    const int64_t each = std::max<int64_t>(1, route_.pool->stages() / 2);
    CD_ASSIGN(rounds_, ranks_.fold(std::max<int64_t>(1, (stages + each - 1) / each), Fold::kMax));
    phases_ = rounds_ * phases_of_round();
    first_word_ = ranks_.first_word();
    moved_ = Clock::now();
    return {};
  }

  Status submit(int, PutStage* stage) override {
    const std::lock_guard lock(mutex_);
    full_[static_cast<size_t>(stage->destination)].push_back(stage);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }

  Status step(int worker, bool waits) override {
    PutTimes& times = times_[static_cast<size_t>(worker)].times;
    std::unique_lock round(round_, std::try_to_lock);
    if (round.owns_lock()) {
      CD_ASSIGN(const bool has_moved, advance(waits, times));
      if (has_moved || !waits) return {};
      if (phase_ == phases_) {
        CD_TRY(goes_on(true));
        return {};
      }
      round.unlock();
    }
    if (waits) rest(times);
    return {};
  }

  Status drain(int) override { return {}; }

  Status finish(const Status& mine) override {
    if (!mine.ok()) drop_all();
    has_all_ = true;
    PutTimes& times = times_[0].times;
    for (bool has_more = true; has_more;) {
      while (phase_ < phases_) {
        CD_ASSIGN(const bool has_moved, advance(false, times));
        if (!has_moved) rest(times);
      }
      CD_ASSIGN(has_more, goes_on(waiting_.load(std::memory_order_relaxed) > 0));
    }
    if (!mine.ok()) return mine;
    return failed_;
  }

  const char* name() const override { return "in phases"; }
  PutTimes times(int worker) const override { return times_[static_cast<size_t>(worker)].times; }

 private:
  static constexpr std::chrono::microseconds kNap{50};

  struct alignas(64) Own {
    PutTimes times;
  };

  int64_t phases_of_round() const { return ranks_.size() - 1; }
  int reach(int64_t phase) const { return 1 + static_cast<int>(phase % phases_of_round()); }
  int target() const { return (ranks_.rank() + reach(phase_)) % ranks_.size(); }
  // Who serves this rank's present target in another phase.
  int source_at_target(int64_t phase) const {
    return (target() - reach(phase) + ranks_.size()) % ranks_.size();
  }

  // Behind the last phase, of all ranks: whether a round follows, since somebody has more.
  Result<bool> goes_on(bool has_more) {
    CD_ASSIGN(const int64_t anybody, ranks_.fold(int64_t{has_more}, Fold::kMax));
    if (anybody != 0) phases_ += phases_of_round();
    return anybody != 0;
  }

  std::vector<PutStage*> take(int rank) {
    const int destination = destination_of_[static_cast<size_t>(rank)];
    if (destination < 0) return {};
    const std::lock_guard lock(mutex_);
    std::vector<PutStage*> taken = std::move(full_[static_cast<size_t>(destination)]);
    full_[static_cast<size_t>(destination)].clear();
    waiting_.fetch_sub(static_cast<int64_t>(taken.size()), std::memory_order_relaxed);
    return taken;
  }

  void give_back(std::vector<PutStage*>& stages) {
    for (PutStage* stage : stages) route_.pool->give_back(stage);
    stages.clear();
  }

  bool is_our_turn() const {
    if (phase_ == 0) return true;
    const int before = source_at_target(phase_ - 1);
    return before == ranks_.rank() || ranks_.heard_word(before) >= first_word_ + phase_ - 1;
  }

  // Its share of what goes to the present target is there.
  bool is_ready() {
    const int destination = destination_of_[static_cast<size_t>(target())];
    if (has_all_ || destination < 0) return true;
    const auto d = static_cast<size_t>(destination);
    const std::lock_guard lock(mutex_);
    return static_cast<int64_t>(full_[d].size()) * rounds_ >= route_.stages[d];
  }

  // All that can be done without waiting; false: nothing could.
  // Counts as putting: this is where MPI moves what is under way.
  Result<bool> advance(bool has_no_stage, PutTimes& times) {
    const Clock::time_point begin = Clock::now();
    const Result<bool> has_moved = try_to_move(has_no_stage);
    times.put_s += std::chrono::duration<double>(Clock::now() - begin).count();
    return has_moved;
  }

  Result<bool> try_to_move(bool has_no_stage) {
    CD_TRY(ranks_.progress());
    bool has_moved = false;
    while (phase_ < phases_) {
      if (!is_serving_) {
        if (!is_our_turn() || !(has_no_stage || is_ready())) break;
        serve();
      }
      CD_ASSIGN(const bool has_left, route_.window->has_left(target()));
      if (!has_left) break;
      has_no_stage = has_no_stage && under_way_.empty();
      give_back(under_way_);
      const int next = source_at_target(phase_ + 1);
      if (next != ranks_.rank()) CD_TRY(ranks_.tell_word(next, first_word_ + phase_));
      is_serving_ = false;
      ++phase_;
      has_moved = true;
    }
    const bool waits_for_others = phase_ < phases_ && (is_serving_ || !is_our_turn());
    if (has_moved || !waits_for_others) moved_ = Clock::now();
    if (!has_moved && waits_for_others) CD_TRY(check_limit());
    return has_moved;
  }

  // An error of a put ends nothing for others: they need this rank's words.
  void serve() {
    is_serving_ = true;
    under_way_ = take(target());
    for (const PutStage* stage : under_way_) {
      if (!failed_.ok()) break;
      const auto d = static_cast<size_t>(stage->destination);
      failed_ = start_stage(*route_.plan, *stage, route_.targets[d], target(), *route_.window);
    }
  }

  Status check_limit() {
    if (Clock::now() - moved_ < ranks_.limit()) return {};
    const Error cause =
        make_error(ErrorCode::kAgentLost,
                   "rank {} waits in phase {} of {}, for {:.3g} s, {} rank {}: look at its output",
                   ranks_.rank(),
                   phase_ + 1,
                   phases_,
                   std::chrono::duration<double>(ranks_.limit()).count(),
                   is_serving_ ? "to be rid of what it puts to" : "to be told to go on by",
                   is_serving_ ? target() : source_at_target(phase_ - 1));
    ranks_.give_up(cause);
    return cause;
  }

  void rest(PutTimes& times) {
    const Clock::time_point begin = Clock::now();
    std::this_thread::sleep_for(kNap);
    (is_serving_ ? times.flush_s : times.wait_s) +=
        std::chrono::duration<double>(Clock::now() - begin).count();
  }

  void drop_all() {
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      std::vector<PutStage*> dropped = take(rank);
      give_back(dropped);
    }
  }

  PutRoute route_;
  Communicator& ranks_;
  std::vector<int> destination_of_;  // by rank; -1: none
  int64_t rounds_ = 1;               // agreed on
  int64_t phases_ = 0;
  int64_t first_word_ = 0;
  std::mutex round_;  // held by the thread that puts; guards what follows, up to failed_
  int64_t phase_ = 0;
  std::atomic<bool> is_serving_{false};
  std::vector<PutStage*> under_way_;          // to the present target
  Clock::time_point moved_;                   // when others were not waited for
  Status failed_;                             // the first put that did
  bool has_all_ = false;                      // all rows are in stages
  std::mutex mutex_;                          // guards full_
  std::vector<std::vector<PutStage*>> full_;  // by destination
  std::atomic<int64_t> waiting_{0};
  std::vector<Own> times_;
};

}  // namespace

std::unique_ptr<PutOrder> make_order_in_phases(PutRoute route, int workers, Communicator& ranks) {
  return std::make_unique<InPhases>(std::move(route), workers, ranks);
}

}  // namespace crossdock
