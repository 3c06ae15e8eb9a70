// Names of what the controller keeps.
//
// Endpoints and channels are numbered by the controller, and their numbers outlive it: the upper half of an id is the
// epoch in which it was given, drawn at random when a controller starts, the lower half counts within the epoch. So a
// controller that was restarted gives no id a second time, although it keeps nothing on disk.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace crossdock::control {

// One life of a controller. Never 0. Epochs can be compared for being equal, not for their order.
using Epoch = uint32_t;

struct EndpointId {
  uint64_t value = 0;  // 0: none

  auto operator<=>(const EndpointId&) const = default;
};

struct ChannelId {
  uint64_t value = 0;  // 0: none

  auto operator<=>(const ChannelId&) const = default;
};

// Drawn by the caller, kept for every repetition of the same request: the controller answers a repeated request with
// what the first one led to. 128 random bits; all zero is none.
struct RequestId {
  uint64_t high = 0;
  uint64_t low = 0;

  auto operator<=>(const RequestId&) const = default;
};

// One life of an agent, drawn at random when it starts: tells an agent that comes back from another of the same name.
struct AgentInstance {
  uint64_t value = 0;  // 0: none

  auto operator<=>(const AgentInstance&) const = default;
};

// The epoch in which an id was given.
constexpr Epoch epoch_of(uint64_t id) { return static_cast<Epoch>(id >> 32); }
constexpr Epoch epoch_of(EndpointId id) { return epoch_of(id.value); }
constexpr Epoch epoch_of(ChannelId id) { return epoch_of(id.value); }

// "e7f3a1c2-12": epoch in hexadecimal digits, then the number in it. The spelling of status and of errors.
std::string text_of(EndpointId id);
std::string text_of(ChannelId id);
std::string text_of(RequestId id);  // 32 hexadecimal digits

}  // namespace crossdock::control

template <>
struct std::hash<crossdock::control::EndpointId> {
  size_t operator()(crossdock::control::EndpointId id) const {
    return std::hash<uint64_t>()(id.value);
  }
};
template <>
struct std::hash<crossdock::control::ChannelId> {
  size_t operator()(crossdock::control::ChannelId id) const {
    return std::hash<uint64_t>()(id.value);
  }
};
template <>
struct std::hash<crossdock::control::RequestId> {
  size_t operator()(crossdock::control::RequestId id) const {
    return std::hash<uint64_t>()(id.high ^ (id.low * 0x9e3779b97f4a7c15u));
  }
};
