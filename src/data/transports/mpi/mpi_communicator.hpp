// Ranks that MPI has started. What the plugins mpi_openmpi and mpi_mpich are made of; one source for both.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "data/ranks/open_communicator.hpp"

namespace crossdock::transports {

// As open_communicator; all ranks of MPI_COMM_WORLD call it.
Result<std::unique_ptr<ranks::Communicator>> open_mpi_communicator(
    const ranks::CommunicatorSettings& settings);

}  // namespace crossdock::transports
