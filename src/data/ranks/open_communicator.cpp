#include "data/ranks/open_communicator.hpp"

#include <cstdlib>
#include <filesystem>
#include <link.h>
#include <vector>

#include "data/plugins/plugin.hpp"
#include "data/ranks/thread_communicator.hpp"

namespace crossdock::ranks {
namespace {

bool says_something(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

int collect_name(dl_phdr_info* info, size_t, void* names) {
  if (info->dlpi_name != nullptr) {
    static_cast<std::vector<std::string>*>(names)->emplace_back(info->dlpi_name);
  }
  return 0;
}

Result<MpiKind> mpi_of_launch() {
  CD_ASSIGN(const MpiKind loaded, mpi_of_process());
  const MpiKind launched = mpi_of_environment();
  if (loaded == MpiKind::kNone || launched == MpiKind::kNone || loaded == launched) {
    return loaded == MpiKind::kNone ? launched : loaded;
  }
  const bool is_open = loaded == MpiKind::kOpenMpi;
  return make_error(ErrorCode::kInvalidArgument,
                    "this program has loaded {}, and was started by the mpirun of {}; start it "
                    "with {}",
                    is_open ? "Open MPI" : "MPICH",
                    is_open ? "MPICH" : "Open MPI",
                    is_open ? "mpirun.openmpi" : "mpirun.mpich");
}

Result<std::unique_ptr<Communicator>> open_mpi(MpiKind kind, const CommunicatorSettings& settings) {
  const bool is_open = kind == MpiKind::kOpenMpi;
  CD_ASSIGN(void* const entry,
            plugins::load_plugin(
                {is_open ? "mpi_openmpi" : "mpi_mpich",
                 "crossdock_open_mpi",
                 CROSSDOCK_MPI_INTERFACE,
                 is_open ? "Open MPI (Debian: libopenmpi3, and libopenmpi-dev to build with)"
                         : "MPICH (Debian: libmpich12, and libmpich-dev to build with)"}));
  Result<std::unique_ptr<Communicator>> answer = std::unique_ptr<Communicator>();
  reinterpret_cast<OpenMpi*>(entry)(settings, &answer);
  return answer;
}

Result<std::unique_ptr<Communicator>> open_alone(const CommunicatorSettings& settings) {
  CD_ASSIGN(auto communicators, make_thread_communicators({.ranks = 1, .limit = settings.limit}));
  return std::move(communicators.front());
}

}  // namespace

MpiKind mpi_of_environment() {
  if (says_something("OMPI_COMM_WORLD_SIZE") || says_something("PMIX_RANK"))
    return MpiKind::kOpenMpi;
  if (says_something("PMI_RANK") && says_something("PMI_SIZE")) return MpiKind::kMpich;
  return MpiKind::kNone;
}

Result<MpiKind> mpi_of_library(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  if (name.starts_with("libmpich.so.12")) return MpiKind::kMpich;
  if (name.starts_with("libmpi.so.40")) return MpiKind::kOpenMpi;
  if (!name.starts_with("libmpi.so") && !name.starts_with("libmpich.so")) return MpiKind::kNone;
  return make_error(ErrorCode::kInvalidArgument,
                    "this program has loaded {}, and there are plugins for libmpi.so.40 (Open MPI "
                    "4 and 5) and libmpich.so.12 (MPICH as Debian has it) only; use the same "
                    "library in the program, or build Crossdock with that one",
                    path);
}

Result<MpiKind> mpi_of_process() {
  std::vector<std::string> names;
  ::dl_iterate_phdr(collect_name, &names);
  for (const std::string& name : names) {
    CD_ASSIGN(const MpiKind kind, mpi_of_library(name));
    if (kind != MpiKind::kNone) return kind;
  }
  return MpiKind::kNone;
}

Result<std::unique_ptr<Communicator>> open_communicator(const RankGroup* group,
                                                        const CommunicatorSettings& settings) {
  if (group != nullptr && group->size() == 1) return open_alone(settings);
  if (group == nullptr && launch_variable().empty()) return open_alone(settings);
  CD_ASSIGN(const MpiKind kind, mpi_of_launch());
  if (kind == MpiKind::kNone) {
    return make_error(ErrorCode::kInvalidArgument,
                      "ranks that compute together are started by mpirun or srun (--mpi=pmix for "
                      "Open MPI, --mpi=pmi2 for MPICH), and these were not: ranks that met in a "
                      "folder or through an agent have channels only");
  }
  CD_ASSIGN(std::unique_ptr<Communicator> opened, open_mpi(kind, settings));
  if (group != nullptr && (group->rank() != opened->rank() || group->size() != opened->size())) {
    return make_error(ErrorCode::kInvalidArgument,
                      "this process is rank {} of {} of its group, and rank {} of {} to MPI: let "
                      "mpirun alone say who takes part",
                      group->rank(),
                      group->size(),
                      opened->rank(),
                      opened->size());
  }
  return opened;
}

}  // namespace crossdock::ranks
