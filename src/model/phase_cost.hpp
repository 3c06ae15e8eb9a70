// What a model says of one phase of an operator.
#pragma once

#include <cstdint>
#include <string_view>

namespace crossdock {

struct PhaseCost {
  std::string_view name;
  int64_t rows = 0;
  int64_t bytes = 0;  // read and written
  double seconds = 0;
};

}  // namespace crossdock
