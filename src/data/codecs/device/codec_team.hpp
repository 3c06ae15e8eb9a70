// A team: the threads that encode a tile. Its members are groups (data/rings/coop.hpp), each of which encodes blocks of
// its own; what they tell each other goes through the tile's scratch, between syncs of the whole team.
#pragma once

#include <concepts>
#include <cstdint>

#include "data/codecs/device/codec_scratch.hpp"
#include "data/rings/coop.hpp"

namespace crossdock::codecs {

template <class T>
concept CodecTeam = rings::Coop<typename T::Member> && kTileBlocks % T::kMembers == 0 &&
                    requires(const T& team) {
  { team.member() } -> std::convertible_to<uint32_t>;  // 0 … kMembers - 1
  { team.coop() } -> std::convertible_to<const typename T::Member&>;
  team.sync();  // all threads of all members
};

// A group that encodes all blocks of a tile, one after the other.
template <rings::Coop C>
class OneMember {
 public:
  using Member = C;
  static constexpr int kMembers = 1;

  CD_HOST_DEVICE explicit OneMember(const C& coop) : coop_(coop) {}
  CD_HOST_DEVICE uint32_t member() const { return 0; }
  CD_HOST_DEVICE const C& coop() const { return coop_; }
  CD_HOST_DEVICE void sync() const { coop_.sync(); }

 private:
  const C& coop_;
};

}  // namespace crossdock::codecs
