// What the models know of the machine they predict for.
#pragma once

#include <cstdint>

namespace crossdock::model {

struct Machine {
  int cores = 1;
  int64_t l1d_bytes = 32 << 10;
  int64_t l2_bytes = 1 << 20;               // of one core
  int64_t l3_bytes = 32 << 20;              // shared
  int64_t memory_bytes = int64_t{8} << 30;  // of the machine, or of its cgroups if less
};

// Reads the kernel's description of the first core and the limits of cgroups. What cannot be read
// keeps the default above.
Machine probe_machine();

}  // namespace crossdock::model
