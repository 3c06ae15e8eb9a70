// Look-ups in a channel's record.
#include "control/controller/records.hpp"

#include <algorithm>
#include <utility>

namespace crossdock {

std::optional<size_t> ChannelRecord::find_server(std::string_view name) const {
  const auto found = std::ranges::lower_bound(servers, name);
  if (found == servers.end() || *found != name) return std::nullopt;
  return static_cast<size_t>(found - servers.begin());
}

void ChannelRecord::set_ends(std::vector<EndpointId> from, std::vector<EndpointId> to) {
  const bool are_equal = from == to;
  sources = std::make_shared<const std::vector<EndpointId>>(std::move(from));
  destinations =
      are_equal ? sources : std::make_shared<const std::vector<EndpointId>>(std::move(to));
}

bool ChannelRecord::has_ends(const std::vector<EndpointId>& from,
                             const std::vector<EndpointId>& to) const {
  return *sources == from && *destinations == to;
}

}  // namespace crossdock
