// One message of every kind at least, with something in each field: for tests and for the fuzz target.
#pragma once

#include <utility>
#include <vector>

#include "control/protocol/messages.hpp"

namespace crossdock::control {

std::vector<AgentMessage> known_agent_messages();  // the first is a JoinRequest
std::vector<ControllerMessage> known_controller_messages();
std::vector<Request> known_requests();
std::vector<std::pair<size_t, Reply>>
known_replies();  // with the index of the request that each answers

}  // namespace crossdock::control
