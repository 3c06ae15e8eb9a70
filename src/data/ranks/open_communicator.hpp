// The communicator of this process, whatever started it.
//
// MPI is loaded when a communicator is opened and not before, and only where something has started several processes,
// so a process alone needs none. Which MPI follows from who started the process; a program that has loaded one already
// gets that one.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"

namespace crossdock::ranks {

struct CommunicatorSettings {
  std::chrono::milliseconds limit{120'000};  // Communicator::limit at first
  // Ranks of one host write into each other's memory. Else, or beyond so many ranks as on one host, all goes as between
  // hosts: for tests and measurements. 0: as it is.
  bool shares_memory = true;
  int ranks_per_host = 0;
};

// All ranks of the job call it; each call makes one of its own, with its own counts. `group`, if any, is that of the
// same ranks. Starts MPI if the program has not: MPI_Init waits for all ranks without a limit, and MPI_Finalize follows
// when the process ends, unless a rank has given up: then the launcher, which misses it, ends the job. No launcher
// started several processes: one rank. CD-105: no MPI in the plugin's place, with what to install; ranks that MPI did
// not start, or counts otherwise than `group`; an MPI that is over. CD-617: ranks that did not come.
Result<std::unique_ptr<Communicator>> open_communicator(const RankGroup* group,
                                                        const CommunicatorSettings& settings = {});

enum class MpiKind { kNone, kOpenMpi, kMpich };

// By the variables of launchers: mpirun and `srun --mpi=pmix` (Open MPI), Hydra and `srun --mpi=pmi2` (MPICH).
MpiKind mpi_of_environment();
// By the files that this process has loaded. CD-105 if it is an MPI that no plugin is for.
Result<MpiKind> mpi_of_process();
// Of one such file, as the loader names it. CD-105 as above.
Result<MpiKind> mpi_of_library(const std::string& path);

// What the plugins mpi_openmpi and mpi_mpich export as crossdock_open_mpi.
using OpenMpi = void(const CommunicatorSettings& settings,
                     Result<std::unique_ptr<Communicator>>* answer);

}  // namespace crossdock::ranks
