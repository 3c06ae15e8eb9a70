// The messages.
#include "control/rpc/known_messages.hpp"

#include "topology/catalogue.hpp"

namespace crossdock::control {
namespace {

constexpr ChannelId kChannel{(uint64_t{0xe7f3a1c2} << 32) | 12};
constexpr EndpointId kHere{(uint64_t{0xe7f3a1c2} << 32) | 1};
constexpr EndpointId kThere{(uint64_t{0xe7f3a1c2} << 32) | 2};
constexpr RequestId kRequest{0x0123456789abcdef, 0xfedcba9876543210};

std::shared_ptr<const ServerPart> known_part() {
  auto outline = std::make_shared<ChannelOutline>();
  outline->channel = kChannel;
  outline->request = kRequest;
  outline->rows = {"schema", {0, 3}};
  outline->servers = {{"node0", 0}, {"node1", 0}};
  outline->sources = {{kHere, 0, 0}, {kThere, 1, 1}};
  outline->destinations = outline->sources;
  auto tables = std::make_shared<std::vector<NamedTable>>();
  tables->push_back({"gpu0", {}});
  topology::ForwardingTable& table = tables->back().table;
  table.add(
      {topology::DestinationKey::kOwnServer, 1}, {topology::Place::kHere, 1}, {{}, 3e11, 0, 1});
  table.add({0, 1},
            {topology::Place::kThere, 1},
            {{{topology::Place::kHere, 2}, {topology::Place::kThere, 3}}, 25e9, 2e-6, 1});
  table.add({0, 1}, {topology::Place::kHere, 1}, {{}, 3e11, 0, 2});
  return std::make_shared<const ServerPart>(ServerPart{outline, 0, tables});
}

}  // namespace

std::vector<AgentMessage> known_agent_messages() {
  static const auto shape = topology::make_machine("gh200:2").value().shape_at(0);
  const std::string vertex = shape->vertex(0).name;
  JoinRequest join;
  join.name = "node0";
  join.instance = {7};
  join.connection = 3;
  join.shape = shape;
  join.endpoints = {{kHere, kRequest, vertex}};
  join.channels = {
      {kChannel, kRequest, {kHere, kThere}, {kHere}, {"node0", "node1"}, {"schema", {1}}}};
  return {join,
          Heartbeat{},
          Applied{kChannel},
          Refused{kChannel, {ErrorCode::kOutOfMemoryBudget, "no room for 3 rings"}},
          Closed{kChannel},
          Held{kHere, true}};
}

std::vector<ControllerMessage> known_controller_messages() {
  return {Welcome{0xe7f3a1c2, 1, 5},
          Hold{{kHere, kRequest, "gpu0"}},
          Apply{known_part()},
          Close{kChannel, {ErrorCode::kAgentLost, "node1 was silent for 5 s"}},
          Leave{{ErrorCode::kNameTaken, "node0 is there"}}};
}

std::vector<Request> known_requests() {
  return {CreateEndpoint{kRequest, "node0", "gpu0"},
          DeleteEndpoint{kHere},
          CreateChannel{kRequest, {kHere, kThere}, {kThere}, {"schema", {0, 1}}},
          DeleteChannel{kChannel},
          AskStatus{},
          Meet{kRequest, "job", 1, 3, 2, std::string("\x00\xff", 2), 30},
          AskServer{},
          AskPart{kChannel},
          KeepEndpoint{kRequest}};
}

std::vector<std::pair<size_t, Reply>> known_replies() {
  ControlStatus status;
  status.epoch = 0xe7f3a1c2;
  status.up_s = 12.5;
  status.agents = {{"node0", AgentState::kAway, 8, 4, 2, 1, 0.25}};
  status.channels = {{kChannel, ChannelState::kRecovering, 2, 3, 1}};
  status.endpoints = 2;
  status.open_channels = 1;
  status.channels_created = 5;
  status.channels_closed = 4;
  const std::vector<std::string> said = {"a", "", std::string("\x00\xff", 2)};
  return {{0, EndpointCreated{kHere}},
          {1, Done{}},
          {2, ChannelOpen{kChannel}},
          {3, Done{}},
          {4, status},
          {5, Met{std::make_shared<const std::vector<std::string>>(said)}},
          {6, ServerIs{"node0", topology::make_machine("gh200:2").value().shape_at(0)}},
          {6, ServerIs{}},
          {7, PartIs{known_part()}},
          {8, Done{}}};
}

}  // namespace crossdock::control
