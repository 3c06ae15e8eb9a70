// What the controller knows of an endpoint and of a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/controller/agent_registry.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

struct EndpointRecord {
  enum class State : uint8_t {
    kPlacing,  // the agent has not said yet that it holds the endpoint
    kHeld,
    kRemoving,  // the agent has not said yet that it is gone
  };
  AgentRecord* agent = nullptr;
  topology::VertexIndex vertex = 0;
  State state = State::kPlacing;
  RequestId request;
  uint32_t uses = 0;  // lists of channels that name it
  // By when it is to be held or gone. A deadline that is due before that was set for something older.
  double due_s = 0;
};

// What a channel's part is on one agent, as far as the controller knows.
enum class PartState : uint8_t {
  kUnseen,   // the agent has not come back since the controller was started
  kSent,     // asked to set it up, or to be asked when it is back
  kApplied,  // set up
  kEnding,   // asked to take it down, or to be asked when it is back
  kGone,
};

struct ChannelRecord {
  ChannelState state = ChannelState::kOpening;
  RequestId request;
  // Ascending; one list if sources and destinations are the same.
  std::shared_ptr<const std::vector<EndpointId>> sources, destinations;
  std::vector<std::string> servers;                         // ascending
  std::vector<PartState> parts;                             // per server
  uint32_t pending = 0;                                     // parts that the state waits for
  std::vector<std::shared_ptr<const ServerPart>> to_apply;  // per server; only while opening
  Error cause;                                              // only while closing
  uint64_t rows_hash = 0;  // within this process; rows themselves may be a megabyte
  // Its making ended with a former controller, and its request may be made again.
  bool is_half_made = false;

  // Its place in `servers`; none if the server takes no part.
  std::optional<size_t> find_server(std::string_view name) const;
  void set_ends(std::vector<EndpointId> from, std::vector<EndpointId> to);
  // Whether the channel is for these rows between these ends, in whatever order they are named.
  bool is_for(const ChannelRows& rows,
              const std::vector<EndpointId>& from,
              const std::vector<EndpointId>& to) const;
};

// Equal for equal rows, in one process.
uint64_t hash_of(const ChannelRows& rows);

}  // namespace crossdock::control
