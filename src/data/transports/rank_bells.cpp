// Doorbells in pages, and beside each the number of messages that its rank misses: one word, so that of a rank that
// begins to wait and one that sends, the second sees what the first did. It is below zero while messages are there that
// the rank does not yet wait for.
#include "data/transports/rank_bells.hpp"

#include "data/rings/atomic.hpp"

namespace crossdock::transports {
namespace {

rings::Doorbell bell_in(const SharedRegion& page) {
  return rings::Doorbell(
      reinterpret_cast<rings::DoorbellWords*>(page.bytes().data() + RankBells::kBellPlace));
}

rings::StdAtomic<int64_t, rings::Scope::kSystem> missing_in(const SharedRegion& page) {
  return rings::StdAtomic<int64_t, rings::Scope::kSystem>(
      *reinterpret_cast<int64_t*>(page.bytes().data() + RankBells::kMissingPlace));
}

}  // namespace

uint32_t RankBells::look() const { return local_ == nullptr ? 0 : bell_in(*local_).look(); }

void RankBells::wait(uint32_t note, std::chrono::microseconds at_most) const {
  bell_in(*local_).wait(note, at_most);
}

void RankBells::ring(int rank) const {
  const auto place = static_cast<size_t>(rank);
  if (place < others_.size() && others_[place] != nullptr) bell_in(*others_[place]).ring();
}

void RankBells::expect(int64_t messages) const {
  if (local_ != nullptr) (void)missing_in(*local_).fetch_add(messages, rings::AcquireRelease{});
}

void RankBells::arrive(int rank) const {
  const auto place = static_cast<size_t>(rank);
  if (place >= others_.size() || others_[place] == nullptr) return;
  const int64_t before = missing_in(*others_[place]).fetch_add(-1, rings::AcquireRelease{});
  if (before <= 1) ring(rank);
}

}  // namespace crossdock::transports
