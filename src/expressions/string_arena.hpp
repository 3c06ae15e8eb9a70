// Memory of the strings that steps make of one block of rows. Internal to the room.
//
// Takes memory as strings come, and keeps the largest piece for the next block. An error of the budget
// is kept until it is asked for: the strings that found no room are empty until then.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/budget.hpp"

namespace crossdock::expressions::steps {

// One worker's own.
class StringArena {
 public:
  // A block of strings has at most so many bytes, so that 32-bit offsets name those of two blocks.
  static constexpr int64_t kMaxBytes = int64_t{1} << 30;

  explicit StringArena(Memory& memory) : memory_(&memory) {}

  // Strings written before are gone.
  void reset();

  // A string of at most `most` bytes; `write` puts it at the address that it is given, and answers its bytes.
  template <class Write>
  std::string_view put(size_t most, const Write& write) {
    char* to = room(static_cast<int64_t>(most));
    if (to == nullptr) return {};
    const size_t bytes = write(to);
    used_ += static_cast<int64_t>(bytes);
    bytes_ += static_cast<int64_t>(bytes);
    return {to, bytes};
  }

  // Errors kOutOfMemoryBudget, and kExpressionFailed for over kMaxBytes.
  const Status& status() const { return status_; }

 private:
  char* room(int64_t bytes);

  Memory* memory_;
  std::vector<Block> pieces_;  // each at least twice as large as the one before it
  int64_t used_ = 0;           // of the last piece
  int64_t bytes_ = 0;          // of all
  Status status_;
};

}  // namespace crossdock::expressions::steps
