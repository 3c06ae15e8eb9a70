// What a process tells the others so that those of its host can find it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace crossdock::transports {

using RandomBytes = std::array<std::byte, 16>;

struct NeighbourAddress {
  std::string host;  // host_identity()
  uint32_t user = 0;
  RandomBytes name{};    // of its socket; every process of the host can see it
  RandomBytes secret{};  // known to the group only: who says it has the address from a member

  std::string text() const;
  // CD-613 if it is not what text() writes.
  static Result<NeighbourAddress> parse(std::string_view text);
  // Of this process, with fresh random bytes. CD-603.
  static Result<NeighbourAddress> make();
};

}  // namespace crossdock::transports
