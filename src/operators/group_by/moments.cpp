// Moments of numbers, one by one and by the block.
#include "operators/group_by/moments.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "operators/group_by/accumulator.hpp"

namespace crossdock::operators {

void Moments::merge(const Moments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const auto rows_here = static_cast<double>(count);
  const auto more = static_cast<double>(other.count);
  const double delta = other.mean - mean;
  mean += delta * (more / (rows_here + more));
  squares += other.squares + delta * delta * (rows_here * more / (rows_here + more));
  count += other.count;
}

// The formulas of Pebay (Sandia report SAND2008-6212), for one value more.
void HigherMoments::add(double value) {
  const auto before = static_cast<double>(count);
  const double n = before + 1;
  const double delta = value - mean;
  const double step = delta / n;
  const double added = delta * step * before;
  fourths +=
      added * step * step * (n * n - 3 * n + 3) + 6 * step * step * squares - 4 * step * cubes;
  cubes += added * step * (n - 2) - 3 * step * squares;
  squares += added;
  mean += step;
  ++count;
}

void HigherMoments::merge(const HigherMoments& other) {
  if (other.count == 0) return;
  if (count == 0) {
    *this = other;
    return;
  }
  const auto here = static_cast<double>(count);
  const auto there = static_cast<double>(other.count);
  const double n = here + there;
  const double delta = other.mean - mean;
  const double step = delta / n;
  const double between = delta * step * here * there;  // what is added to the squares
  fourths += other.fourths + between * step * step * (here * here - here * there + there * there) +
             6 * step * step * (here * here * other.squares + there * there * squares) +
             4 * step * (here * other.cubes - there * cubes);
  cubes += other.cubes + between * step * (here - there) +
           3 * step * (here * other.squares - there * squares);
  squares += other.squares + between;
  mean += step * there;
  count += other.count;
}

std::optional<double> shape_of(Shape shape, const HigherMoments& moments) {
  const auto n = static_cast<double>(moments.count);
  const double variance = moments.squares / n;
  const int64_t least = shape == Shape::kSkewness ? 3 : shape == Shape::kKurtosis ? 4 : 2;
  if (moments.count < least || variance == 0) return std::nullopt;
  if (shape == Shape::kSkewness) {
    const double skewness = moments.cubes / n / (variance * std::sqrt(variance));
    return std::sqrt(n * (n - 1)) / (n - 2) * skewness;
  }
  const double excess = moments.fourths / n / (variance * variance) - 3;
  if (shape == Shape::kKurtosisPop) return excess;
  return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * excess + 6);
}

namespace {

// Sums in copies in turns, which do not wait for each other.
template <class Value>
double sum_of(int32_t rows, const Value& value) {
  constexpr int32_t kCopies = 4;
  double sums[kCopies] = {};
  int32_t i = 0;
  for (; i + kCopies <= rows; i += kCopies) {
    for (int32_t c = 0; c < kCopies; ++c) sums[c] += value(i + c);
  }
  for (; i < rows; ++i) sums[0] += value(i);
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

// Of one group: the mean first, as its distance from the first value, so that equal values have no variance.
template <class State>
State moments_of(const double* numbers, const uint8_t* valid, int32_t rows) {
  const auto counts = [valid](int32_t i) { return valid == nullptr || valid[i] != 0; };
  int32_t first = 0;
  while (first < rows && !counts(first)) ++first;
  if (first == rows) return {};
  const double origin = numbers[first];
  State moments;
  for (int32_t i = 0; i < rows; ++i) moments.count += counts(i) ? 1 : 0;
  const double distances =
      sum_of(rows, [&](int32_t i) { return counts(i) ? numbers[i] - origin : 0.0; });
  moments.mean = origin + distances / static_cast<double>(moments.count);
  const auto distance = [&](int32_t i) { return counts(i) ? numbers[i] - moments.mean : 0.0; };
  const auto square = [&](int32_t i) { return distance(i) * distance(i); };
  moments.squares = sum_of(rows, square);
  if constexpr (std::is_same_v<State, HigherMoments>) {
    moments.cubes = sum_of(rows, [&](int32_t i) { return square(i) * distance(i); });
    moments.fourths = sum_of(rows, [&](int32_t i) { return square(i) * square(i); });
  }
  return moments;
}

}  // namespace

template <class State>
Status MomentsAccumulator<State>::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[input_];
  double scratch[kGroupRows];
  const double* numbers = lane_numbers(lane, block.rows, form_, unit_, scratch);
  if (moments_.size() == 1) {
    moments_[0].merge(moments_of<State>(numbers, lane.valid, block.rows));
    return {};
  }
  for (int32_t i = 0; i < block.rows; ++i) {
    if (lane.valid == nullptr || lane.valid[i] != 0) moments_[block.groups[i]].add(numbers[i]);
  }
  return {};
}

template <class State>
Status MomentsAccumulator<State>::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const MomentsAccumulator<State>&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) {
    moments_[pairs.to[i]].merge(other.moments_[pairs.from[i]]);
  }
  return {};
}

Status EntropyAccumulator::update(const GroupBlock& block) {
  const InputLane& lane = block.inputs[input_];
  for (int32_t i = 0; i < block.rows; ++i) {
    const auto rows = static_cast<double>(lane.words[i]);
    if ((lane.valid != nullptr && lane.valid[i] == 0) || rows == 0) continue;
    Spread& state = states_[block.groups[i]];
    state.rows += rows;
    state.weighted += rows * std::log2(rows);
  }
  return {};
}

Status EntropyAccumulator::merge(const Accumulator& from, const GroupPairs& pairs) {
  const auto& other = static_cast<const EntropyAccumulator&>(from);
  for (int32_t i = 0; i < pairs.count; ++i) {
    const Spread& more = other.states_[pairs.from[i]];
    Spread& state = states_[pairs.to[i]];
    state.rows += more.rows;
    state.weighted += more.weighted;
  }
  return {};
}

double EntropyAccumulator::bits(uint32_t group) const {
  const Spread& state = states_[group];
  return state.rows == 0 ? 0 : std::max(std::log2(state.rows) - state.weighted / state.rows, 0.0);
}

template class MomentsAccumulator<Moments>;
template class MomentsAccumulator<HigherMoments>;

}  // namespace crossdock::operators
