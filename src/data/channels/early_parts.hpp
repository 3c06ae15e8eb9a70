// What neighbours have said of channels that this process has not opened yet.
//
// A part that came keeps memory mapped, and the channel may never be opened here. So of parts there is a bound: the
// oldest goes for a new one, and what is left of it is a cause, which ends the channel for its holder. Bounds:
// 1,024 parts (of a channel there is one for each neighbour that has opened it), and 8,192 causes of some 200 bytes, of
// which the oldest go as well.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "data/transports/shared_region.hpp"

namespace crossdock::channels {

inline constexpr size_t kEarlyPartsMax = 1024;
inline constexpr size_t kEarlyCausesMax = 8192;

struct EarlyPart {
  uint64_t channel = 0;
  int peer = 0;
  std::shared_ptr<transports::SharedRegion> region;  // null: the channel is over, and this is why
  Error cause;
};

// One thread at a time.
class EarlyParts {
 public:
  // Answers a part that had to go, as the cause that stands here in its place; the others have to hear of it. A cause
  // takes the place of the part that its peer had passed.
  std::optional<EarlyPart> add(EarlyPart part);
  // All of a channel, in the order they came.
  std::vector<EarlyPart> take(uint64_t channel);
  // All of a peer, which has ended.
  void forget(int peer);

 private:
  std::deque<EarlyPart> parts_;  // by age, as the causes
  std::deque<EarlyPart> causes_;
};

}  // namespace crossdock::channels
