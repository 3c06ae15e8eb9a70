// Bits and products of frames, as SlidingState takes them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "operators/group_by/folds.hpp"
#include "operators/window/window_values.hpp"

namespace crossdock::operators {

struct FoldState {
  uint64_t word;
  int64_t count;
};

template <class Fold>
struct FoldOps {
  using State = FoldState;
  const WindowValues* values = nullptr;
  double unit = 1;  // of decimals
  static State empty() { return {Fold::kNeutral, 0}; }
  void add(State& state, uint32_t position) const {
    if (!values->is_valid(position)) return;
    state.word = Fold::of(state.word, word(position));
    ++state.count;
  }
  static void combine(State& state, const State& later) {
    state.word = Fold::of(state.word, later.word);
    state.count += later.count;
  }

 private:
  uint64_t word(uint32_t position) const {
    if constexpr (std::is_same_v<Fold, Product>) {
      return __builtin_bit_cast(uint64_t, values->number(position, unit));
    }
    return values->form() == ValueForm::kWide ? static_cast<uint64_t>(values->wide(position))
                                              : static_cast<uint64_t>(values->integer(position));
  }
};

}  // namespace crossdock::operators
