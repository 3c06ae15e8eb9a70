// The symbols by which the plugin is known and used; the build says whose MPI it has (CROSSDOCK_MPI_FINGERPRINT).
#include "data/ranks/open_communicator.hpp"
#include "data/transports/mpi/mpi_communicator.hpp"

extern "C" {

[[gnu::visibility("default")]] extern const char CROSSDOCK_MPI_FINGERPRINT[];
const char CROSSDOCK_MPI_FINGERPRINT[] = CROSSDOCK_MPI_INTERFACE;

[[gnu::visibility("default")]] void crossdock_open_mpi(
    const crossdock::ranks::CommunicatorSettings& settings,
    crossdock::Result<std::unique_ptr<crossdock::ranks::Communicator>>* answer) {
  *answer = crossdock::transports::open_mpi_communicator(settings);
}
}
