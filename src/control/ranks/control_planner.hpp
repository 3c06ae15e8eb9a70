// Plans for channels of a group: each rank is an endpoint of its agent, one of them asks for the channel, and each
// takes its part from its own agent.
//
// The endpoint is a CPU of the server: the NUMA node on which the rank first opened a channel. It is kept at the agent
// (KeepEndpoint) as long as this process lives, and made again for the next channel if the agent was gone meanwhile, or
// has lost it. The request that makes it is repeated as it is until it is answered, so no endpoint is made twice.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control/rpc/control_client.hpp"
#include "data/ranks/channel_planner.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::control {

class ControlPlanner : public ranks::ChannelPlanner {
 public:
  // `group` must outlive it. `server` is that of the agent which `client` speaks to.
  ControlPlanner(ranks::RankGroup& group, std::shared_ptr<ControlClient> client, ServerIs server);

  Result<ranks::PlannedChannel> plan(const ranks::ChannelEnds& ends,
                                     std::chrono::milliseconds at_most) override;
  void end(const std::string& name) override;

 private:
  struct RankEndpoint {
    RequestId request;                           // none: no endpoint was asked for
    EndpointId endpoint;                         // 0: not there yet
    std::shared_ptr<std::atomic<bool>> is_lost;  // its agent is gone, or has it no longer
    RequestTarget::Ticket kept = 0;
  };
  // By rank; of those that have no end of the channel, 0.
  using Endpoints = std::vector<EndpointId>;

  // `is_doubted`: the control plane does not know all of them.
  Result<Endpoints> gather_endpoints(bool has_end,
                                     bool is_doubted,
                                     std::chrono::milliseconds at_most);
  Result<EndpointId> own_endpoint(bool is_doubted, double within_s);
  Result<EndpointId> ask_endpoint(double within_s);
  void drop_own();
  // A channel between `endpoints`, which are found for it. All ranks call it.
  Result<ChannelId> open(const ranks::ChannelEnds& ends,
                         Endpoints& endpoints,
                         std::chrono::milliseconds at_most);
  Result<std::string> vertex() const;
  Result<ChannelId> create(const ranks::ChannelEnds& ends,
                           const Endpoints& endpoints,
                           double within_s);
  Result<ranks::PlannedChannel> take_part(ChannelId channel,
                                          const Endpoints& endpoints,
                                          double within_s);

  ranks::RankGroup& group_;
  const std::shared_ptr<ControlClient> client_;
  const ServerIs server_;
  RankEndpoint endpoint_;
  std::mutex mutex_;
  std::map<std::string, ChannelId> mine_;  // that this rank asked for
};

}  // namespace crossdock::control
