// Moments of numbers about their mean, which lose no digits, as sums of powers do.
#pragma once

#include <cstdint>
#include <optional>

namespace crossdock::operators {

// Count, mean and sum of squared distances from the mean, by Welford's update and Chan's merge.
struct Moments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;

  void add(double value) {
    ++count;
    const double delta = value - mean;
    mean += delta / static_cast<double>(count);
    squares += delta * (value - mean);
  }
  void merge(const Moments& other);
};

// The same with the sums of the third and fourth powers of the distances.
struct HigherMoments {
  int64_t count = 0;
  double mean = 0;
  double squares = 0;
  double cubes = 0;
  double fourths = 0;

  void add(double value);
  void merge(const HigherMoments& other);
};

enum class Shape : uint8_t { kSkewness, kKurtosis, kKurtosisPop };

// Of a sample, or of a population; none of too few values, and of values that are all equal.
std::optional<double> shape_of(Shape shape, const HigherMoments& moments);

}  // namespace crossdock::operators
