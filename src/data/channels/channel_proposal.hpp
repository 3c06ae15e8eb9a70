// What ranks tell each other of a channel that they are about to open.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace crossdock::channels {

struct ChannelProposal {
  uint64_t id = 0;      // the number that the rank has for it
  uint64_t digest = 0;  // of what it is, without the number: ChannelLayout::digest()

  std::string text() const;
  // CD-613 for what is no such text.
  static Result<ChannelProposal> parse(const std::string& text);
};

}  // namespace crossdock::channels
