// The aggregate of a frame whose ends never move back: each value is looked at twice at most, however long frames are,
// and nothing is ever taken out of a state, so sums of floats lose no digits to what has left them.
//
// A frame is [begin, middle) and [middle, end): of the first part the states of all its ends are kept, made from the
// back; of the second one, the state of the whole. Where the first part runs out, the frame becomes its new first part.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/budget.hpp"
#include "operators/run/operator_run.hpp"

namespace crossdock::operators {

constexpr uint32_t kTotalsRows = 4096;

// Ops: State, empty(), add(state, position), and combine(state, later state). Shared by workers.
template <class Ops>
class BlockTotals {
 public:
  using State = typename Ops::State;

  // The states of every kTotalsRows rows, for frames that are long where a worker begins.
  static Result<BlockTotals> make(OperatorRun& run, const Ops& ops, int64_t rows) {
    BlockTotals totals;
    const int64_t count = rows / kTotalsRows;
    totals.states_.resize(static_cast<size_t>(count), ops.empty());
    CD_TRY(run.for_indices("totals", count, kTotalsRows, [&](int, int64_t block) -> Status {
      const auto begin = static_cast<uint32_t>(block * kTotalsRows);
      for (uint32_t i = begin; i < begin + kTotalsRows; ++i) ops.add(totals.states_[block], i);
      return {};
    }));
    return totals;
  }

  // Adds rows [begin, end).
  void fold(const Ops& ops, State& state, uint32_t begin, uint32_t end) const {
    if (end - begin >= 2 * kTotalsRows && !states_.empty()) {
      uint32_t block = (begin + kTotalsRows - 1) / kTotalsRows;
      for (; begin < block * kTotalsRows; ++begin) ops.add(state, begin);
      for (; (block + 1) * uint64_t{kTotalsRows} <= end; ++block) {
        ops.combine(state, states_[block]);
      }
      begin = block * kTotalsRows;
    }
    for (; begin < end; ++begin) ops.add(state, begin);
  }

 private:
  std::vector<State> states_;
};

// One worker's own.
template <class Ops>
class SlidingState {
 public:
  using State = typename Ops::State;

  SlidingState(const Ops& ops, const BlockTotals<Ops>& totals, Memory& memory)
      : ops_(&ops), totals_(&totals), memory_(&memory), back_(ops.empty()) {}

  // Moves to a frame that begins and ends no earlier than the last one, or has no row of it.
  Status move(uint32_t begin, uint32_t end) {
    if (begin >= end_ || begin < begin_ || end < end_) {
      begin_ = middle_ = begin;
      end_ = end;
      back_ = ops_->empty();
      totals_->fold(*ops_, back_, begin, end);
      return {};
    }
    totals_->fold(*ops_, back_, end_, end);
    begin_ = begin;
    end_ = end;
    return begin > middle_ ? turn_over() : Status();
  }

  State value() const {
    if (begin_ == middle_) return back_;
    State state = kept_.template as<const State>()[begin_ - kept_begin_];
    ops_->combine(state, back_);
    return state;
  }

 private:
  Status turn_over() {
    const int64_t bytes = int64_t{end_ - begin_} * int64_t{sizeof(State)};
    if (kept_.bytes() < bytes) {
      kept_.reset();
      CD_ASSIGN(kept_, memory_->get(bytes, "window"));
    }
    auto* states = kept_.template as<State>();
    State state = ops_->empty();
    for (uint32_t i = end_; i > begin_; --i) {
      State longer = ops_->empty();
      ops_->add(longer, i - 1);
      ops_->combine(longer, state);
      state = longer;
      states[i - 1 - begin_] = state;
    }
    kept_begin_ = begin_;
    middle_ = end_;
    back_ = ops_->empty();
    return {};
  }

  const Ops* ops_;
  const BlockTotals<Ops>* totals_;
  Memory* memory_;
  uint32_t begin_ = 0;
  uint32_t middle_ = 0;
  uint32_t end_ = 0;
  uint32_t kept_begin_ = 0;
  State back_;
  Block kept_;  // states of [position, middle_), from kept_begin_ on
};

}  // namespace crossdock::operators
