// Two queues, since buffering parts is expensive and causes are small.
#include "data/channels/early_parts.hpp"

#include <utility>

namespace crossdock::channels {

std::optional<EarlyPart> EarlyParts::add(EarlyPart part) {
  if (part.region == nullptr) {
    std::erase_if(parts_, [&part](const EarlyPart& one) {
      return one.channel == part.channel && one.peer == part.peer;
    });
    causes_.push_back(std::move(part));
    if (causes_.size() > kEarlyCausesMax) causes_.pop_front();
    return std::nullopt;
  }
  parts_.push_back(std::move(part));
  if (parts_.size() <= kEarlyPartsMax) return std::nullopt;
  EarlyPart oldest = std::move(parts_.front());
  parts_.pop_front();
  oldest.region.reset();
  oldest.cause = make_error(ErrorCode::kChannelClosed,
                            "channel {} was opened on rank {}, and not here before {} others that "
                            "are not open here either; open channels in one order in all ranks",
                            oldest.channel,
                            oldest.peer,
                            kEarlyPartsMax);
  add(oldest);
  return oldest;
}

std::vector<EarlyPart> EarlyParts::take(uint64_t channel) {
  std::vector<EarlyPart> taken;
  for (auto* queue : {&parts_, &causes_}) {
    std::erase_if(*queue, [&taken, channel](EarlyPart& one) {
      if (one.channel != channel) return false;
      taken.push_back(std::move(one));
      return true;
    });
  }
  return taken;
}

void EarlyParts::forget(int peer) {
  for (auto* queue : {&parts_, &causes_}) {
    std::erase_if(*queue, [peer](const EarlyPart& one) { return one.peer == peer; });
  }
}

}  // namespace crossdock::channels
