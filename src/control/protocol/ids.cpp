#include "control/protocol/ids.hpp"

#include <fmt/format.h>

namespace crossdock::control {
namespace {

std::string numbered(uint64_t value) {
  return fmt::format("{:08x}-{}", epoch_of(value), static_cast<uint32_t>(value));
}

}  // namespace

std::string text_of(EndpointId id) { return numbered(id.value); }
std::string text_of(ChannelId id) { return numbered(id.value); }
std::string text_of(RequestId id) { return fmt::format("{:016x}{:016x}", id.high, id.low); }

}  // namespace crossdock::control
