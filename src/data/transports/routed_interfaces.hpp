// Over which interfaces the kernel sends to hosts beyond their own network.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace crossdock::transports {

// Interface and address family (AF_INET, AF_INET6) of every route through a gateway or for all destinations, also of
// those with several next hops; of this network namespace, now. CD-603 with the system's reason.
Result<std::set<std::pair<std::string, int>>> routed_interfaces();

}  // namespace crossdock::transports
