// How much of a search by seeds runs: a share of it in `make test`, all of it in `make test-long`, which sets
// CROSSDOCK_LONG_TESTS.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace crossdock {

inline uint64_t share_of_long_run(uint64_t share, uint64_t all) {
  return std::getenv("CROSSDOCK_LONG_TESTS") == nullptr ? share : all;
}

}  // namespace crossdock
