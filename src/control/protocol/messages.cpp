#include "control/protocol/messages.hpp"

#include <array>

namespace crossdock::control {
namespace {

constexpr std::array<std::string_view, 2> kAgentStateNames = {"joined", "away"};
constexpr std::array<std::string_view, 4> kChannelStateNames = {
    "opening", "open", "recovering", "closing"};

template <class T>
bool same_value(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a && b && *a == *b);
}

}  // namespace

std::string_view state_name(AgentState state) {
  return kAgentStateNames[static_cast<size_t>(state)];
}
std::string_view state_name(ChannelState state) {
  return kChannelStateNames[static_cast<size_t>(state)];
}

topology::DestinationKey ServerPart::key_of(const PlannedEndpoint& endpoint) const {
  if (endpoint.server == server) return {topology::DestinationKey::kOwnServer, endpoint.vertex};
  return {outline->servers[endpoint.server].structure, endpoint.vertex};
}

bool ServerPart::operator==(const ServerPart& other) const {
  return server == other.server && same_value(outline, other.outline) &&
         same_value(tables, other.tables);
}

}  // namespace crossdock::control
