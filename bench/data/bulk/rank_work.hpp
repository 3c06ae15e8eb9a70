// Work of a bench that all ranks do together: those of mpirun, or threads of this process.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "data/ranks/open_communicator.hpp"
#include "data/ranks/thread_communicator.hpp"

namespace crossdock {

// Calls `work` in every rank, then `show` with how many there are and what the first one measured, in its process.
// Under mpirun its ranks count, and not `ranks`; with ranks_per_host above 0, those of other hosts are reached by puts
// alone.
template <class Measured>
Status run_on_ranks(int ranks,
                    int ranks_per_host,
                    const std::function<Status(ranks::Communicator&, Measured&)>& work,
                    const std::function<void(int, Measured&)>& show) {
  if (ranks::mpi_of_environment() == ranks::MpiKind::kNone) {
    std::vector<Measured> by_rank(static_cast<size_t>(std::max(1, ranks)));
    const ranks::ThreadRanks world{.ranks = ranks, .ranks_per_host = ranks_per_host};
    CD_TRY(ranks::run_thread_ranks(world, [&](ranks::Communicator& communicator) {
      return work(communicator, by_rank[static_cast<size_t>(communicator.rank())]);
    }));
    show(ranks, by_rank[0]);
    return {};
  }
  CD_ASSIGN(const auto communicator,
            ranks::open_communicator(nullptr, {.ranks_per_host = ranks_per_host}));
  Measured measured;
  const Status status = work(*communicator, measured);
  if (!status.ok()) communicator->give_up(status.error());
  CD_TRY(status);
  if (communicator->rank() == 0) show(communicator->size(), measured);
  return {};
}

}  // namespace crossdock
