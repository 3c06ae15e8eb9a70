// What applications, agents and the controller say to each other (MGI, Figure 7), as plain values: control/rpc carries
// them over gRPC, and in one process they are handed over as they are.
//
//   application -> agent or controller   Request   each is answered by one Reply
//   agent -> controller                  AgentMessage, in order
//   controller -> agent                  ControllerMessage, in order
//
// Nothing in a message is a time of day, so clocks of different servers need not agree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "control/protocol/ids.hpp"
#include "control/protocol/shared_bytes.hpp"
#include "topology/graph.hpp"
#include "topology/paths.hpp"

namespace crossdock::control {

inline constexpr uint32_t kProtocolVersion = 1;

// ---- requests -----------------------------------------------------------------------------------------------------

// Registers a managed vertex for communication. One vertex can have any number of endpoints.
struct CreateEndpoint {
  RequestId request;
  std::string agent;   // name of the agent, which is the server's name in the graph
  std::string vertex;  // "gpu0"
};
struct DeleteEndpoint {
  EndpointId endpoint;  // that no open channel has
};

// Schema and key of the rows; the control plane hands them on to the agents unread.
struct ChannelRows {
  std::string schema;                   // an Arrow IPC schema message; "" for rows without a schema
  std::vector<uint32_t> partition_key;  // columns of the schema; none: rows go to every destination

  bool operator==(const ChannelRows&) const = default;
};

struct CreateChannel {
  RequestId request;
  std::vector<EndpointId> sources;
  std::vector<EndpointId> destinations;
  ChannelRows rows;
};
struct DeleteChannel {
  ChannelId channel;
};
struct AskStatus {};

// What a rank of a group says to all others in a round, before they can reach each other. Rounds of a group
// differ in their numbers; the reply comes when all ranks have said something.
//
// A rank that could not reach the controller has left its round, and does not know where the others are. It comes to
// the round kRoundAgain, which makes all other rounds of the group void: who waits in one of them, or comes to one
// while a rank waits in this, is answered by a Met without messages, and comes here too.
inline constexpr uint64_t kRoundAgain = UINT64_MAX;
struct Meet {
  RequestId request;  // of this rank in this round
  std::string group;
  uint32_t rank = 0;
  uint32_t size = 0;  // ranks of the group
  uint64_t round = 0;
  std::string said;
  double within_s = 0;  // the rank waits no longer
};

// ---- of an agent that listens; the controller, which is on no server, knows nothing of them

struct AskServer {};  // of the agent that was asked
struct AskPart {      // of the agent's server, of a channel that is open
  ChannelId channel;
};
// The endpoint that this request (CreateEndpoint) made, or will make, is used as long as this waits: until the agent
// has the endpoint no longer, which is an error. When it is given up, because the process that asked is gone, the agent
// deletes the channels that name the endpoint, and then the endpoint; also one that is made later.
struct KeepEndpoint {
  RequestId request;
};

using Request = std::variant<CreateEndpoint,
                             DeleteEndpoint,
                             CreateChannel,
                             DeleteChannel,
                             AskStatus,
                             Meet,
                             AskServer,
                             AskPart,
                             KeepEndpoint>;

// ---- replies ------------------------------------------------------------------------------------------------------

struct EndpointCreated {
  EndpointId endpoint;
};
struct ChannelOpen {  // every agent involved has buffers and executors ready
  ChannelId channel;
};
struct Done {};  // of both deletions; also when what was to be deleted is gone already

enum class AgentState : uint8_t {
  kJoined,
  kAway,  // its connection broke; what it holds is kept for a while
};
enum class ChannelState : uint8_t {
  kOpening,  // agents are setting it up
  kOpen,
  kRecovering,  // known from some of its agents after a restart of the controller; others have not come back yet
  kClosing,
};
std::string_view state_name(AgentState state);
std::string_view state_name(ChannelState state);

struct AgentStatus {
  std::string name;
  AgentState state = AgentState::kJoined;
  uint32_t gpus = 0;
  uint32_t nics = 0;
  uint32_t endpoints = 0;
  uint32_t channels = 0;
  double silent_s = 0;  // since its last message
};
struct ChannelStatus {
  ChannelId channel;
  ChannelState state = ChannelState::kOpening;
  uint32_t sources = 0;
  uint32_t destinations = 0;
  uint32_t agents = 0;
};
// Agents by name; channels by id, the newest kStatusChannelsMax of them.
struct ControlStatus {
  Epoch epoch = 0;
  double up_s = 0;
  std::vector<AgentStatus> agents;
  std::vector<ChannelStatus> channels;
  uint64_t endpoints = 0;
  uint64_t open_channels = 0;
  uint64_t channels_created = 0;  // in this epoch
  uint64_t channels_closed = 0;   // likewise, whatever the cause
};
inline constexpr int kStatusChannelsMax = 1000;

// ---- agent and controller -----------------------------------------------------------------------------------------

// A channel as a whole: the same for all its agents, so that their parts share it.
struct PlannedServer {
  std::string name;
  topology::ShapeIndex structure =
      0;  // as tables name it; equal for servers that paths cannot tell apart

  bool operator==(const PlannedServer&) const = default;
};
struct PlannedEndpoint {
  EndpointId endpoint;
  uint32_t server = 0;  // in ChannelOutline::servers
  topology::VertexIndex vertex = 0;

  bool operator==(const PlannedEndpoint&) const = default;
};
struct ChannelOutline {
  ChannelId channel;
  // Of the application; reported on a rejoin, so that repetitions are recognised after a restart.
  RequestId request;
  ChannelRows rows;
  std::vector<PlannedServer> servers;         // that take part, by ascending name
  std::vector<PlannedEndpoint> sources;       // by id
  std::vector<PlannedEndpoint> destinations;  // likewise

  bool operator==(const ChannelOutline&) const = default;
};

// What a managed vertex of a server has to forward.
struct NamedTable {
  std::string vertex;
  topology::ForwardingTable table;

  bool operator==(const NamedTable&) const = default;
};

// What one agent has to set up for a channel: its part of the plan.
struct ServerPart {
  std::shared_ptr<const ChannelOutline> outline;
  uint32_t server = 0;  // the agent's own, in ChannelOutline::servers
  // Of vertices that have something to forward; shared by servers that take part alike.
  std::shared_ptr<const std::vector<NamedTable>> tables;

  // How the tables here name an endpoint. The part must have been checked (control/protocol/check.hpp).
  topology::DestinationKey key_of(const PlannedEndpoint& endpoint) const;
  bool operator==(const ServerPart& other) const;  // of values, not of pointers
};

// ---- replies about groups and servers, and all replies --------------------------------------------------------------

struct Met {
  std::shared_ptr<const std::vector<std::string>> said;  // by rank; none: the round is void
  // What it is on a wire; of copies, which go to the ranks of a round, it is the same object.
  std::shared_ptr<SharedBytes> bytes = std::make_shared<SharedBytes>();
};
struct ServerIs {
  std::string name;  // "": the controller itself answered
  std::shared_ptr<const topology::ServerShape> shape;
};
struct PartIs {
  std::shared_ptr<const ServerPart> part;
};

using Reply =
    std::variant<Error, EndpointCreated, ChannelOpen, Done, ControlStatus, Met, ServerIs, PartIs>;

// ---- what agents hold -----------------------------------------------------------------------------------------------

struct HeldEndpoint {
  EndpointId endpoint;
  RequestId request;
  std::string vertex;

  bool operator==(const HeldEndpoint&) const = default;
};
struct HeldChannel {
  ChannelId channel;
  RequestId request;
  std::vector<EndpointId> sources;  // all of the channel's, not only the agent's
  std::vector<EndpointId> destinations;
  std::vector<std::string> servers;
  ChannelRows rows;

  bool operator==(const HeldChannel&) const = default;
};

// The first message of a connection. A report of everything the agent holds, from which a controller that was started
// again rebuilds what it knew.
struct JoinRequest {
  uint32_t protocol_version = kProtocolVersion;
  std::string name;
  AgentInstance instance;
  // Counts the connections of this life of the agent, from 1: what an older one still brings is no news.
  uint64_t connection = 1;
  std::shared_ptr<const topology::ServerShape> shape;
  std::vector<HeldEndpoint> endpoints;
  std::vector<HeldChannel> channels;
};
struct Heartbeat {};
struct Applied {  // the part is set up
  ChannelId channel;
};
struct Refused {  // it cannot be; nothing of it is left
  ChannelId channel;
  Error error;
};
struct Closed {  // buffers and executors of the part are gone
  ChannelId channel;
};
struct Held {  // what a Hold asked for is done
  EndpointId endpoint;
  bool is_gone = false;  // it asked for an end
};
using AgentMessage = std::variant<JoinRequest, Heartbeat, Applied, Refused, Closed, Held>;

struct Welcome {
  Epoch epoch = 0;
  double heartbeat_s = 0;   // say something at least this often
  double lost_after_s = 0;  // after so long a silence the agent's channels are closed everywhere
};
struct Hold {  // the agent has a new endpoint, or (`vertex` empty) has one no longer
  HeldEndpoint endpoint;
};
struct Apply {
  std::shared_ptr<const ServerPart> part;
};
struct Close {
  ChannelId channel;
  Error cause;
};
struct Leave {  // the connection ends: a refused join, or an agent that was given up as lost
  Error cause;
};
using ControllerMessage = std::variant<Welcome, Hold, Apply, Close, Leave>;

}  // namespace crossdock::control
