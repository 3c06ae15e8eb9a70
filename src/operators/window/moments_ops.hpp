// Moments of frames, as SlidingState takes them.
#pragma once

#include <cstdint>

#include "operators/group_by/moments.hpp"
#include "operators/window/window_spec.hpp"
#include "operators/window/window_values.hpp"

namespace crossdock::operators {

// Moments of parts are put together without a look at their values, so frames of equal ones have a variance of 0.
template <class Moments>
struct MomentsOps {
  using State = Moments;
  const WindowValues* values = nullptr;
  double unit = 1;  // of decimals
  static State empty() { return {}; }
  void add(State& state, uint32_t position) const {
    if (values->is_valid(position)) state.add(values->number(position, unit));
  }
  static void combine(State& state, const State& later) { state.merge(later); }
};

// Of a function that is one of a shape.
inline Shape shape_of(WindowFunction function) {
  if (function == WindowFunction::kSkewness) return Shape::kSkewness;
  return function == WindowFunction::kKurtosis ? Shape::kKurtosis : Shape::kKurtosisPop;
}

}  // namespace crossdock::operators
