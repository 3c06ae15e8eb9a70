// The MPI of this process: started once if the program has not, called by one thread at a time, ended with the process.
//
// Communicators and windows are freed by MPI_Finalize, whichever thread calls it: all ranks are there then, which both
// need, and a communicator that is destroyed need wait for no rank. After a rank has given up, nothing is freed and
// MPI_Finalize is left out, for it would wait for ranks that are gone; so it is where a process fails and leaves a
// communicator open: others may wait there, and learn by its end that it does not come. Where MPI_Finalize does not end
// by itself once all ranks have come to it, the process ends without it.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <vector>

#include "base/home_process.hpp"
#include "base/result.hpp"

namespace crossdock::transports {

// A window of MPI, and what has to live as long as it.
struct MpiWin {
  MPI_Win win = MPI_WIN_NULL;
  std::shared_ptr<const void> memory;
};

// Messages under way, whose buffers MPI may write to until they are done.
struct MpiFlight {
  std::vector<std::vector<std::byte>> buffers;
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;
};

class MpiCore {
 public:
  // Thread-safe. CD-105 if MPI is over already, or was started for one thread and this is another; CD-618 in a copy
  // that fork() made.
  static Result<MpiCore*> get();

  // MPI may be called while it is held; errors as those of get().
  Result<std::unique_lock<std::mutex>> lock();

  // MPI_SUCCESS, or CD-603 with MPI's words: "MPI cannot {what} (rank {rank}): ...".
  static Status check(int code, const char* what, int rank);

  // With the lock held.
  void keep(MPI_Comm comm) { comms_.push_back(comm); }
  void keep(const std::shared_ptr<MpiWin>& win) { wins_.push_back(win); }
  void forget(const std::shared_ptr<MpiWin>& win) { wins_.remove(win); }
  // Never freed: MPI may still write to it, since a rank did not come.
  void bury(MpiFlight flight) { buried_.push_back(std::move(flight)); }
  // Any thread.
  void set_broken() { broken_.store(true, std::memory_order_relaxed); }
  void opened_communicator() { open_communicators_.fetch_add(1, std::memory_order_relaxed); }
  void closed_communicator() { open_communicators_.fetch_sub(1, std::memory_order_relaxed); }
  void free_all();  // from within MPI_Finalize

 private:
  MpiCore() = default;
  Status start();
  static void finish(int status, void*);

  const HomeProcess home_;
  std::mutex mutex_;
  std::atomic<bool> broken_{false};
  std::atomic<int> open_communicators_{0};
  int level_ = MPI_THREAD_SINGLE;
  std::vector<MPI_Comm> comms_;
  std::list<std::shared_ptr<MpiWin>> wins_;  // in the order they were made, the same in all ranks
  std::list<MpiFlight> buried_;
};

}  // namespace crossdock::transports
