// Who started this process, by what it left in the environment.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "base/text_fields.hpp"
#include "data/plugins/plugin.hpp"
#include "data/ranks/control_meeting.hpp"
#include "data/ranks/open_communicator.hpp"
#include "data/ranks/pmix_entry.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {
namespace {

constexpr const char* kRank = "CROSSDOCK_RANK";
constexpr const char* kRanks = "CROSSDOCK_RANKS";
constexpr const char* kMeet = "CROSSDOCK_MEET";
constexpr const char* kJob = "CROSSDOCK_JOB";
constexpr const char* kPmixRank = "PMIX_RANK";
constexpr const char* kControl = "CROSSDOCK_CONTROL";
constexpr const char* kToken = "CROSSDOCK_CONTROL_TOKEN";
constexpr const char* kAuthority = "CROSSDOCK_CONTROL_CA";
constexpr const char* kPmiRank = "PMI_RANK";
constexpr const char* kPmiRanks = "PMI_SIZE";
constexpr const char* kOpenMpiRanks = "OMPI_COMM_WORLD_SIZE";
constexpr const char* kSlurmRank = "SLURM_PROCID";
constexpr const char* kSlurmRanks = "SLURM_STEP_NUM_TASKS";

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

Result<std::string> text_of(const char* name) {
  const char* const value = std::getenv(name);
  if (value != nullptr && *value != '\0') return std::string(value);
  return make_error(
      ErrorCode::kInvalidArgument,
      "{} is not set, but another of {}, {} and {} or {} is; a rank needs its number, "
      "how many there are, and a folder that all see, or else an agent's address "
      "and the job's name ({}){}",
      name,
      kRank,
      kRanks,
      kMeet,
      kControl,
      kJob,
      is_set(kPmixRank) ? "; unset them all to meet through what started this process (PMIx)" : "");
}

// The pairs of variables by which launchers say which process this is, and how many they have started, in the order of
// join_environment. PMIx has no variable for the second; what started the processes by it has one of its own.
struct PlaceVariables {
  const char* rank;
  const char* ranks;
};
constexpr PlaceVariables kPlaces[] = {{kRank, kRanks},
                                      {"OMPI_COMM_WORLD_RANK", kOpenMpiRanks},
                                      {kPmixRank, kSlurmRanks},
                                      {kPmiRank, kPmiRanks},
                                      {kSlurmRank, kSlurmRanks}};

Result<int> whole_number(const char* name, const std::string& text) {
  int number = 0;
  if (read_number(text, number)) return number;
  return make_error(ErrorCode::kInvalidArgument, "{}={}: it must be a whole number", name, text);
}

// Which rank this is, or how many there are: srun says it where the user does not.
Result<int> number_of(const char* name, const char* of_slurm) {
  if (!is_set(kRank) && !is_set(kRanks) && is_set(kSlurmRank) && is_set(kSlurmRanks))
    name = of_slurm;
  CD_ASSIGN(const std::string text, text_of(name));
  return whole_number(name, text);
}

Result<std::unique_ptr<RankGroup>> join_named_folder() {
  CD_ASSIGN(const int rank, number_of(kRank, kSlurmRank));
  CD_ASSIGN(const int ranks, number_of(kRanks, kSlurmRanks));
  CD_ASSIGN(const std::string folder, text_of(kMeet));
  const char* const job = std::getenv(kJob);
  return join_meeting(folder, job == nullptr ? "" : job, rank, ranks);
}

// "" for the authorities that this system trusts.
Result<std::string> authority_of(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string pem((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.good() && !pem.empty()) return pem;
  return make_error(ErrorCode::kInvalidArgument,
                    "{}={} cannot be read; it names the certificate of the authority that signed "
                    "the controller's, as PEM",
                    kAuthority,
                    path);
}

Result<std::unique_ptr<RankGroup>> join_named_control() {
  if (std::getenv(kMeet) != nullptr) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} and {} are both set; ranks meet in a folder or through the control "
                      "plane: unset one of them",
                      kControl,
                      kMeet);
  }
  ControlMeeting meeting;
  CD_ASSIGN(meeting.rank, number_of(kRank, kSlurmRank));
  CD_ASSIGN(meeting.ranks, number_of(kRanks, kSlurmRanks));
  CD_ASSIGN(meeting.address, text_of(kControl));
  CD_ASSIGN(meeting.job, text_of(kJob));
  const char* const token = std::getenv(kToken);
  if (token != nullptr) meeting.token = token;
  if (is_set(kAuthority)) {
    CD_ASSIGN(meeting.ca_pem, authority_of(std::getenv(kAuthority)));
    meeting.uses_tls = true;
  }
  return join_control(meeting);
}

Result<std::unique_ptr<RankGroup>> join_pmix() {
  CD_ASSIGN(
      void* const entry,
      plugins::load_plugin({"pmix",
                            "crossdock_join_pmix",
                            CROSSDOCK_PMIX_INTERFACE,
                            "PMIx (Debian: libpmix2), or set CROSSDOCK_RANK, CROSSDOCK_RANKS and "
                            "CROSSDOCK_MEET instead"}));
  Error error;
  std::unique_ptr<RankGroup> group(reinterpret_cast<JoinPmix*>(entry)(&error));
  if (group == nullptr) return error;
  return group;
}

// Hydra speaks PMI, which only an MPI of its own knows: ranks meet through that.
Result<std::unique_ptr<RankGroup>> join_mpich() {
  CD_ASSIGN(std::unique_ptr<Communicator> opened, open_communicator(nullptr, {}));
  return std::unique_ptr<RankGroup>(std::move(opened));
}

bool is_folder_named() { return is_set(kRank) || is_set(kRanks) || is_set(kMeet); }

}  // namespace

std::string launch_variable() {
  for (const char* name : {kRank, kRanks, kPmixRank, kPmiRank}) {
    if (is_set(name)) return name;
  }
  // A launcher without PMIx says how many it has started; then join_environment says what is missing. SLURM_NTASKS is
  // no such word: it is set in a batch script, too, which is one process.
  for (const char* name : {kOpenMpiRanks, kPmiRanks, kSlurmRanks}) {
    const std::string_view value = is_set(name) ? std::getenv(name) : "";
    if (!value.empty() && value != "1") return name;
  }
  for (const char* name : {kMeet, kControl}) {
    if (is_set(name)) return name;
  }
  return "";
}

Result<LaunchPlace> launch_place() {
  LaunchPlace place;
  const std::string variable = launch_variable();
  if (variable.empty()) return place;
  for (const PlaceVariables& names : kPlaces) {
    if (!is_set(names.rank) || !is_set(names.ranks)) {
      if (names.rank == kRank && (is_set(kRank) || is_set(kRanks))) break;
      continue;
    }
    CD_ASSIGN(place.rank, whole_number(names.rank, std::getenv(names.rank)));
    CD_ASSIGN(place.ranks, whole_number(names.ranks, std::getenv(names.ranks)));
    CD_TRY(check_place(place.rank, place.ranks));
    return place;
  }
  if (variable == kMeet || variable == kControl) return place;
  return make_error(
      ErrorCode::kInvalidArgument,
      "{} says that this process is one of several, and nothing says which, or of how "
      "many: set {} and {}",
      variable,
      kRank,
      kRanks);
}

Result<std::unique_ptr<RankGroup>> join_control(const ControlMeeting& meeting) {
  CD_ASSIGN(void* const entry,
            plugins::load_plugin({"control",
                                  "crossdock_join_control",
                                  CROSSDOCK_CONTROL_INTERFACE,
                                  "gRPC (Debian: libgrpc++1.51)"}));
  Error error;
  std::unique_ptr<RankGroup> group(reinterpret_cast<JoinControl*>(entry)(meeting, &error));
  if (group == nullptr) return error;
  return group;
}

// What the user has named goes before what a launcher has left: mpirun is also used to start processes whose ranks are
// to meet through their agents, which then plan their channels.
Result<std::unique_ptr<RankGroup>> join_environment() {
  if (is_set(kControl)) return join_named_control();
  if (is_folder_named()) return join_named_folder();
  if (is_set(kPmixRank)) return join_pmix();
  if (mpi_of_environment() == MpiKind::kMpich) return join_mpich();
  return make_error(
      ErrorCode::kInvalidArgument,
      "nothing says which rank this process is: start it with mpirun or `srun "
      "--mpi=pmix`, or set {}, {} and {} (a folder that all ranks see, or the address "
      "of a rendezvous) or {} (the address of an agent){}",
      kRank,
      kRanks,
      kMeet,
      kControl,
      is_set(kSlurmRank) ? "; srun without PMI has set SLURM_PROCID and SLURM_STEP_NUM_TASKS, so "
                           "CROSSDOCK_MEET alone is enough here"
                         : "");
}

}  // namespace crossdock::ranks
