// A window of the pool, in use or waiting for its next use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/ranks/window.hpp"

namespace crossdock::ranks {

struct WindowSlot {
  std::shared_ptr<Window> window;
  std::vector<int64_t> room_bytes;  // by rank, the same list in all ranks
  std::shared_ptr<const void> charged;
  std::atomic<bool> is_used{false};  // by this rank; cleared when the last pointer is dropped
};

}  // namespace crossdock::ranks
