// The two-level shuffle as a channel: rows go to a relay on the destination's node first, and from there on.
//
// Two channels do it: the first between nodes, where each row carries its destination in a hidden lane, the second
// inside each node. A relay per destination takes from the one and sends into the other. It has no thread: a caller
// that sends or receives at its endpoint takes a turn of it, so a destination that does not receive holds up its node
// as it would hold up its sources without a relay.
//
// What differs from a channel of one level: Received::source is the relay, and flush_done says that relays have the
// rows; recv's end alone says that all have arrived.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "data/channels/channel.hpp"
#include "data/channels/data_plane.hpp"
#include "data/channels/levels.hpp"

namespace crossdock::channels {

// Collective, like DataPlane::create_channel. Takes two channel ids: spec.id and spec.id | kSecondLevel. CD-105: a
// broadcast, which crosses to each process once anyway, and the errors of LevelPlan::make and of create_channel.
inline constexpr uint64_t kSecondLevel = uint64_t{1} << 63;
Result<std::shared_ptr<Channel>> create_two_level(DataPlane& plane,
                                                  const ChannelSpec& spec,
                                                  const NodePlacement& placement);

}  // namespace crossdock::channels
