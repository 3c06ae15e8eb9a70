// What messages may hold. They come from other processes, so each is checked once, before anything in it is used as an
// index, as a size or as a name.
//
// An error names the message, the field, the value and the limit: kMalformedMessage for what no correct program of ours
// sends, kInvalidArgument for what an application may have asked for by mistake. O(size of the message), up to a
// logarithm for lists that must not name anything twice. Pure functions.
#pragma once

#include <cstddef>

#include "base/result.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

inline constexpr size_t kRequestEndpointsMax = 65'536;  // sources and destinations apart
inline constexpr size_t kSchemaBytesMax = 1 << 20;
inline constexpr size_t kPartitionColumnsMax = 4'096;
inline constexpr uint32_t kGroupRanksMax = 65'536;
inline constexpr size_t kSaidBytesMax = 1 << 16;  // of one rank in one round
inline constexpr size_t kErrorTextBytesMax = 8'192;
inline constexpr size_t kHeldEndpointsMax = 65'536;  // of one agent
inline constexpr size_t kHeldChannelsMax = 65'536;   // of one agent

Status check(const Request& request);

// Of a Join also that it fits together: vertices exist in its shape, and its channels name the agent. One of another
// protocol version passes unseen: it is to be refused for that, and not for what it may mean by its fields.
Status check(const AgentMessage& message);

// An Apply is checked against `shape`, the agent's own: tables belong to its managed vertices, its endpoints on that
// server are such vertices, and what tables name as "here" exists. What they name as "there" lies in a shape that the
// agent does not have.
Status check(const ControllerMessage& message, const topology::ServerShape& shape);

// `error` as it may be sent: with a text cut to kErrorTextBytesMax, which then says so.
Error sendable(Error error);

}  // namespace crossdock::control
