// Doorbells in pages.
#include "data/transports/rank_bells.hpp"

namespace crossdock::transports {
namespace {

rings::Doorbell bell_in(const SharedRegion& page) {
  return rings::Doorbell(
      reinterpret_cast<rings::DoorbellWords*>(page.bytes().data() + RankBells::kPlace));
}

}  // namespace

uint32_t RankBells::look() const { return own_ == nullptr ? 0 : bell_in(*own_).look(); }

void RankBells::wait(uint32_t note, std::chrono::microseconds at_most) const {
  bell_in(*own_).wait(note, at_most);
}

void RankBells::ring(int rank) const {
  const auto place = static_cast<size_t>(rank);
  if (place < others_.size() && others_[place] != nullptr) bell_in(*others_[place]).ring();
}

}  // namespace crossdock::transports
