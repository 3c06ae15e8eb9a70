// The gRPC server of a controller, or of an agent that passes requests of its host's applications on.
//
// It answers the service Control, on a controller also Attendance, and beside them grpc.health.v1.Health and the server
// reflection, which need no token. Limits: bytes of a message, memory of all transports, threads (ServerSettings).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "control/rpc/controller_host.hpp"
#include "control/rpc/request_target.hpp"
#include "control/rpc/rpc_settings.hpp"

namespace crossdock::control {

class ControlServer {
 public:
  // For a controller; `host` must outlive the server. Errors of check_rpc_settings; kControllerUnreachable when the
  // address cannot be listened on, or certificate and key are no good.
  static Result<std::unique_ptr<ControlServer>> start(ServerSettings settings,
                                                      ControllerHost& host);
  // For an agent: without Attendance.
  static Result<std::unique_ptr<ControlServer>> start(ServerSettings settings,
                                                      RequestTarget& target);

  ~ControlServer();  // ends all calls; returns when none is left

  const std::string& address() const;  // with the port that was taken for port 0
  int64_t refused_connections()
      const;  // closed at once, since the process was short of file descriptors

 private:
  class State;
  explicit ControlServer(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace crossdock::control
