// Ranks that meet through the control plane. Each round is a request Meet that the controller answers when all have
// come; an agent on the way only passes it on.
//
// The first round is of the job's name: in it every rank tells a random number and its agent. Further rounds are of a
// group that is called by rank 0's number, so that a job which was killed and started again under its name meets no
// rank of before. A request that the network lost is repeated, and found by its id.
//
// A rank whose agent or controller cannot be reached leaves the round, and with it what all were doing: it does not
// know what the others have heard. With what it begins next it calls all of them to begin again (kRoundAgain). Who is
// in the middle of something fails too; who is at the beginning of something joins it there and has not noticed
// anything.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/home_process.hpp"
#include "control/ranks/control_planner.hpp"
#include "control/rpc/control_client.hpp"
#include "data/ranks/control_meeting.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::control {

class ControlGroup : public ranks::RankGroup {
 public:
  // CD-105 for ranks that are none; those of check_rpc_settings.
  static Result<std::unique_ptr<ranks::RankGroup>> make(const ranks::ControlMeeting& meeting);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  // CD-617 with the ranks that did not come or have left; CD-611 if no agent at the address answers, or its controller
  // is gone, for 6 s. After either, and before begin(), the same error again.
  Result<std::vector<std::string>> gather(const std::string& mine,
                                          std::chrono::milliseconds at_most) override;

  void begin() override { is_beginning_ = true; }
  // Of ranks that have an agent each, once they have met.
  ranks::ChannelPlanner* planner() override { return planner_.get(); }

 private:
  using Clock = std::chrono::steady_clock;

  ControlGroup(const ranks::ControlMeeting& meeting, std::shared_ptr<ControlClient> client);
  Status meet(Clock::time_point end);
  Status meet_again(Clock::time_point end);
  Result<std::vector<std::string>> say(const std::string& group,
                                       uint64_t round,
                                       const std::string& mine,
                                       Clock::time_point end);

  const HomeProcess home_;
  const std::string address_;
  const std::string job_;
  const int rank_;
  const int size_;
  std::shared_ptr<ControlClient> client_;
  std::string group_;  // "" before the first round
  uint64_t round_ = 0;
  bool is_beginning_ = false;
  Status apart_;  // why this rank may be in another round than the others
  std::unique_ptr<ControlPlanner> planner_;
};

}  // namespace crossdock::control
