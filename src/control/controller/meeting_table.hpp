// Ranks of groups that meet: what each says in a round, until all have said something.
//
// A round is known by its group's name and its number. Nothing of a round is kept but in memory: when the controller is
// restarted, ranks that wait say again what they said. A rank whose call has ended may have been killed, or may have
// lost its connection and repeat: it counts for kRepeatWithinS, and another process that comes as this rank meanwhile
// takes its place at once. What a round led to is kept for kKeptS, for those who missed the answer. Rounds that no rank
// is in are dropped.
//
// Only round 0 of a name brings processes together that may be of different lives of a job. In further rounds each rank
// is one process, so one that has left a round is missed at once (kAgentLost), and one that has lost its place in the
// rounds, since it could not reach the controller, calls all to begin again (kRoundAgain).
//
// Not thread-safe. Memory is bounded: kMeetingBytesMax in all. A tick looks at every rank that waits.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/controller/pending_calls.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

class MeetingTable {
 public:
  static constexpr double kRepeatWithinS = 10;
  static constexpr double kKeptS = 60;
  static constexpr uint64_t kMeetingBytesMax = uint64_t{256} << 20;
  static constexpr uint64_t kRoundBytesMax = uint64_t{32}
                                          << 20;  // of all ranks: what a reply holds

  explicit MeetingTable(PendingCalls& calls) : calls_(calls) {}

  // Answers the call now or later: Met; kAgentLost with the ranks that did not come in time; kInvalidArgument for a
  // rank that another process is, or another number of ranks than others count; kControlLimit.
  // A Met without messages: others of the group begin again.
  void take(CallId call, Meet& request, double now_s);
  void tick(double now_s);

  size_t rounds() const { return rounds_.size(); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Rank {
    RequestId request;
    std::string said;
    CallId call = 0;
    double due_s = 0;
    double waits_until_s = 0;  // of a call that has ended; 0: it has not, as far as is known
  };
  struct Round {
    uint32_t size = 0;
    std::map<uint32_t, Rank> ranks;
    uint64_t bytes = 0;
  };
  using RoundName = std::pair<std::string, uint64_t>;
  using Rounds = std::map<RoundName, Round>;
  using Said = std::shared_ptr<const std::vector<std::string>>;
  struct Finished {
    double until_s = 0;
    uint64_t bytes = 0;
    std::vector<RequestId> requests;
  };

  Status check_place(const Meet& request, Rounds::iterator place);
  Status check_room(const Meet& request, const Round& round);
  bool is_void(const Meet& request);
  // Answers all who wait in it; the next one.
  Rounds::iterator end_round(Rounds::iterator place, const Reply& reply);
  void finish(Rounds::iterator place, double now_s);
  void forget_oldest();
  // False: the rank does not wait any longer.
  bool still_waits(const RoundName& name, const Round& round, Rank& rank, double now_s);
  Error missing(const RoundName& name, const Round& round) const;
  static Error left(const RoundName& name, uint32_t rank);

  PendingCalls& calls_;
  Rounds rounds_;
  std::unordered_map<RequestId, Said> answers_;
  std::deque<Finished> finished_;  // by ascending until_s
  uint64_t bytes_ = 0;             // of both
};

}  // namespace crossdock::control
