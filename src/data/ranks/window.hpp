// Memory of every rank into which all ranks put bytes, without the owner's help.
//
// From open_window to the last fence, places that are put to belong to those who put: two ranks that write one byte, or
// an owner that reads what has not been fenced, race. Alignment: a part begins at a page at least.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace crossdock::ranks {

class Communicator;

struct PutCounters {
  std::atomic<int64_t> messages{0};
  std::atomic<int64_t> bytes{0};
  std::atomic<bool> is_over{false};  // a rank has given up, and flushes may wait for it for ever
};

class Window {
 public:
  virtual ~Window() = default;

  // This rank's part; null if it has 0 bytes. Stays as long as the window, also when the communicator is gone.
  std::byte* data() const { return bytes() == 0 ? nullptr : local_; }
  int64_t bytes() const { return bytes_of_[static_cast<size_t>(rank_)]; }
  int64_t bytes(int rank) const { return bytes_of_[static_cast<size_t>(rank)]; }

  // The target's part as memory of this process: write there instead of putting, and the fence makes it seen. Null if
  // the target is on another host or has 0 bytes. Costs a load.
  std::byte* direct(int target) const {
    return bytes(target) == 0 ? nullptr : direct_[static_cast<size_t>(target)];
  }
  // Counts what was written through direct() as a put; of the rank itself nothing is counted. Any thread.
  void note_stored(int target, int64_t bytes);

  // Puts `from` at byte `at` of the target's part; any sizes, also beyond 2^31 bytes. `from` stays as it is until
  // flush_local or flush of that target has returned, or the last pointer to the window is dropped. CD-105 if it would
  // pass the end of the part. Any thread.
  Status put(int target, int64_t at, std::span<const std::byte> from);
  // Buffers of earlier puts of this thread to that target may be used again; says nothing about arrival. Any thread.
  Status flush_local(int target);
  // Earlier puts of this thread have arrived there; the target sees them after a fence. Any thread.
  Status flush(int target);
  // All ranks call it, one thread each, when no other thread of theirs puts: everything that any rank put or stored
  // before has arrived, and is seen by all. Threads that wrote by streaming stores have ordered them themselves
  // (hwy::FlushStream). CD-618 if the communicator is gone.
  Status fence();

 protected:
  // `own` and `direct` (null: only puts lead there) hold whatever bytes_of will say.
  Window(int rank, std::byte* local, std::vector<std::byte*> direct)
      : rank_(rank), local_(local), bytes_of_(direct.size(), 0), direct_(std::move(direct)) {}

  // To ranks that are not direct, of at least one byte, within the part.
  virtual Status put_far(int target, int64_t at, std::span<const std::byte> from) = 0;
  virtual Status flush_far(int target, bool locally) = 0;
  virtual Status flush_all_far() = 0;
  // What others put becomes visible here; after all have flushed.
  virtual Status sync_far() = 0;

  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(bytes_of_.size()); }
  bool is_direct(int target) const { return direct_[static_cast<size_t>(target)] != nullptr; }

 private:
  friend class Communicator;
  Status check_open() const;
  void settle();  // no caller has it any more: buffers of puts that were not fenced may go

  int rank_;
  std::byte* local_;
  std::vector<int64_t> bytes_of_;  // of the present use
  std::vector<std::byte*> direct_;
  std::atomic<bool> has_put_{false};  // since the last fence, to ranks that are not direct
  std::shared_ptr<PutCounters> puts_;
  Communicator* communicator_ = nullptr;  // null: gone
};

}  // namespace crossdock::ranks
