// The control plane of one process: a controller and one agent that call each other, for sessions on this machine
// alone.
//
// The same code that runs on a cluster, without threads and without ports. Every call returns when all it asked for is
// done. Nothing here is ever lost or late, so time stands still.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "control/agent/agent.hpp"
#include "control/controller/controller.hpp"
#include "control/protocol/messages.hpp"
#include "topology/graph.hpp"

namespace crossdock::control {

// Not thread-safe.
class LocalControl {
 public:
  // `host` sets up channels; it must outlive this. `epoch` is drawn by the caller, and not 0. Error: as of
  // AgentRegistry::add, or of check() for a name that no server may have.
  static Result<std::unique_ptr<LocalControl>> make(
      std::string server,
      std::shared_ptr<const topology::ServerShape> shape,
      ChannelHost& host,
      Epoch epoch);
  // Closes what is open.
  ~LocalControl();

  // Errors: kUnknownId: no such vertex. kInvalidArgument: one that holds no data. kControlLimit.
  Result<EndpointId> create_endpoint(std::string_view vertex);
  // Error kInvalidArgument: a channel names it.
  Status delete_endpoint(EndpointId endpoint);
  // Errors: kUnknownId, kInvalidArgument, kNoPath, kControlLimit, and whatever the host refuses the channel with.
  Result<ChannelId> create_channel(std::vector<EndpointId> sources,
                                   std::vector<EndpointId> destinations,
                                   ChannelRows rows = {});
  Status delete_channel(ChannelId channel);

  ControlStatus status();
  std::vector<std::shared_ptr<const ServerPart>> channels() const { return agent_.channels(); }

 private:
  LocalControl(std::string server,
               std::shared_ptr<const topology::ServerShape> shape,
               ChannelHost& host,
               Epoch epoch);

  Reply call(Request request);
  void exchange_messages();
  RequestId next_request() { return {0, ++last_request_}; }

  std::string server_;
  Controller controller_;
  Agent agent_;
  uint64_t last_request_ = 0;
  CallId last_call_ = 0;
  std::vector<std::pair<CallId, Reply>> replies_;
};

}  // namespace crossdock::control
