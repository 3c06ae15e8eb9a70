// Ranks as threads of one process: for tests of what runs over ranks, on any number of them, under any sanitizer.
//
// It is as strict as a network may be. Puts to ranks of another "host" are made when they are flushed, and not before,
// so that a missing flush or a buffer that is used again too early shows as wrong bytes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"

namespace crossdock::ranks {

struct ThreadRanks {
  int ranks = 1;
  int ranks_per_host = 0;  // neighbours reach each other's memory; 0: all are on one host
  std::chrono::milliseconds limit{20'000};
};

// By rank; each may be used by another thread, and all must be gone before the process ends. CD-105 for less than one.
Result<std::vector<std::unique_ptr<Communicator>>> make_thread_communicators(
    const ThreadRanks& world_shape);

// Runs the body in a thread per rank, and answers when all have returned: the first error, by rank, CD-617 only if
// there is no other. A rank that returns an error or throws has given up, and ends the others.
Status run_thread_ranks(const ThreadRanks& world_shape,
                        const std::function<Status(Communicator& communicator)>& body);

}  // namespace crossdock::ranks
