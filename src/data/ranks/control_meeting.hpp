// Ranks that meet through the control plane: each knows the agent of its machine, and nothing else.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {

struct ControlMeeting {
  std::string
      address;      // of an agent that listens, or of the controller: "host:port" or "unix:/path"
  std::string job;  // no other job of the controller has this name at the same time
  int rank = 0;
  int ranks = 1;
  // How a caller of the control plane shows who it is; strings are PEM.
  std::string token;
  bool uses_tls = false;
  std::string ca_pem, certificate_pem, key_pem;
  bool is_insecure = false;  // the token may travel in the clear
};

// Does not connect yet. CD-105: the plugin "control" cannot be loaded, with what to install; a rank or address that is
// none. CD-612: a token that would travel in the clear.
Result<std::unique_ptr<RankGroup>> join_control(const ControlMeeting& meeting);

// The type of the plugin's symbol crossdock_join_control. Null with *error if it cannot be.
using JoinControl = RankGroup*(const ControlMeeting& meeting, Error* error);

}  // namespace crossdock::ranks
