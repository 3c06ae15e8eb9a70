// The processes that work together, and how they find each other before anything else can be sent.
//
// A group is started from outside: mpirun or srun (PMIx), or a program that names a folder all can see. It is used
// to tell all ranks a few bytes, when ranks meet and when channels open; rows never pass through it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace crossdock::ranks {

class ChannelPlanner;

// One thread at a time.
class RankGroup {
 public:
  virtual ~RankGroup() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What every rank passed, by rank. All ranks call in the same order. CD-617 with the ranks that did not come when
  // at_most is over.
  virtual Result<std::vector<std::string>> gather(const std::string& mine,
                                                  std::chrono::milliseconds at_most) = 0;
  // What follows is something that all ranks begin alike, whatever became of what they did before: a rank whose former
  // gather has failed finds the others again here, if its kind of group can do that. Between two of these a rank that
  // has failed has that error again.
  virtual void begin() {}
  // Who plans channels of the group, if anybody does; known after the first gather, and the same for all ranks.
  virtual ChannelPlanner* planner() { return nullptr; }

  // `check` answers the cause if a rank is known to have ended, or the group as a whole. A gather that would wait for
  // such a rank has that error at once. Called by the thread of gather, as this is; empty: not known.
  void set_liveness(std::function<Status(int rank)> check) { liveness_ = std::move(check); }
  Status check_alive(int rank) const { return liveness_ ? liveness_(rank) : Status(); }

 private:
  std::function<Status(int rank)> liveness_;
};

// Ranks that meet in a folder; each passes the same `job`, a name no other use of the folder has; "": that of the step
// of Slurm, or "crossdock".
Result<std::unique_ptr<RankGroup>> join_folder(const std::string& folder,
                                               const std::string& job,
                                               int rank,
                                               int size);
// Ranks that meet in a folder, or at the address of a rendezvous (rendezvous_group.hpp), whose job is another one if
// `job` is given.
Result<std::unique_ptr<RankGroup>> join_meeting(const std::string& meet,
                                                const std::string& job,
                                                int rank,
                                                int size);
// CD-105 unless it is a rank among so many.
Status check_place(int rank, int size);
// What started this process: PMIx (mpirun, srun --mpi=pmix), or CROSSDOCK_RANK, CROSSDOCK_RANKS and CROSSDOCK_MEET (a
// folder, or the address of a rendezvous) or CROSSDOCK_CONTROL (an agent, with CROSSDOCK_JOB), which go before PMIx.
// CD-105 if nothing did, with what to do.
Result<std::unique_ptr<RankGroup>> join_environment();
// The variable of the environment that says that this process is one of several, so that join_environment is the way;
// "": none does. CROSSDOCK_MEET and CROSSDOCK_CONTROL, which say only where to meet, come last.
std::string launch_variable();

struct LaunchPlace {
  int rank = 0;
  int ranks = 1;
};
// Which rank this process is by the environment alone: no rank is met. Rank 0 of 1 where nothing started several
// processes, as in a batch script of Slurm. CD-105: a number that is none, or a launcher that does not say both.
Result<LaunchPlace> launch_place();

}  // namespace crossdock::ranks
