// What a model says of an operator, phase by phase.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace crossdock::model {

struct PhaseCost {
  std::string_view name;
  int64_t rows = 0;
  int64_t bytes = 0;  // read and written
  double seconds = 0;
};

struct PredictedCost {
  std::vector<PhaseCost> phases;

  double seconds() const {
    double sum = 0;
    for (const PhaseCost& phase : phases) sum += phase.seconds;
    return sum;
  }
};

// What `rows` rows take that each cost one core `row_ns`.
inline double seconds_for(int64_t rows, double row_ns, int threads) {
  return static_cast<double>(rows) * row_ns * 1e-9 / threads;
}

}  // namespace crossdock::model
