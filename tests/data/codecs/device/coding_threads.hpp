// Coding as kernels do it, played by CPU threads: groups that claim tiles, each as a thread block would be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "data/codecs/device/column_decoder.hpp"
#include "data/codecs/device/column_encoder.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/thread_coop.hpp"

namespace crossdock::codecs {

struct CodingShape {
  uint32_t groups = 1;
  uint32_t threads = 1;  // of a group, or of a member
  bool is_a_team =
      false;  // to encode, a group has a member for each block of a tile, as thread blocks have
};

// Threads of a group as kTileBlocks members.
class ThreadTeam {
 public:
  using Member = rings::ThreadCoop;
  static constexpr int kMembers = kTileBlocks;

  ThreadTeam(const rings::ThreadCoop& all, const rings::ThreadCoop& mine, uint32_t member)
      : all_(all), mine_(mine), member_(member) {}
  uint32_t member() const { return member_; }
  const rings::ThreadCoop& coop() const { return mine_; }
  void sync() const { all_.sync(); }

 private:
  rings::ThreadCoop all_;
  rings::ThreadCoop mine_;
  uint32_t member_;
};

// Gives up after so many looks.
struct CountedPatience {
  uint64_t limit = UINT64_MAX;
  uint64_t left = 0;

  void restart() { left = limit; }
  bool goes_on() {
    std::this_thread::yield();
    return left-- > 0;
  }
};

// step(group, scratch, coop) by all threads of all groups; one group of one thread is the caller.
template <class Scratch, class Step>
void play_groups(const CodingShape& shape, const Step& step) {
  std::vector<std::unique_ptr<Scratch>> scratches;
  std::vector<std::unique_ptr<rings::ThreadGroup>> groups;
  std::vector<std::thread> threads;
  for (uint32_t group = 0; group < shape.groups; ++group) {
    scratches.push_back(std::make_unique<Scratch>());
    groups.push_back(std::make_unique<rings::ThreadGroup>(shape.threads));
  }
  if (shape.groups * shape.threads == 1) return step(0, *scratches[0], rings::SoloCoop());
  for (uint32_t group = 0; group < shape.groups; ++group) {
    for (uint32_t rank = 0; rank < shape.threads; ++rank) {
      threads.emplace_back([&, group, rank] {
        step(group, *scratches[group], rings::ThreadCoop(*groups[group], rank));
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
}

// Teams of members of `threads` each.
inline void play_teams(const EncodeWork& work, const CodingShape& shape) {
  std::vector<std::unique_ptr<rings::ThreadGroup>> members;
  for (uint32_t member = 0; member < shape.groups * kTileBlocks; ++member)
    members.push_back(std::make_unique<rings::ThreadGroup>(shape.threads));
  play_groups<EncodeScratch>(
      {shape.groups, shape.threads * kTileBlocks},
      [&]<class C>(uint32_t group, EncodeScratch& scratch, const C& all) {
        if constexpr (std::is_same_v<C, rings::ThreadCoop>) {
          const uint32_t member = all.rank() / shape.threads;
          const rings::ThreadCoop mine(*members[group * kTileBlocks + member],
                                       all.rank() % shape.threads);
          CountedPatience patience;
          const ThreadTeam team(all, mine, member);
          ColumnEncoder<rings::CpuMemory, ThreadTeam>(work, scratch, team).run(patience);
        }
      });
}

inline void play_encode(const EncodeWork& work,
                        const CodingShape& shape = {},
                        const CountedPatience& patience = {}) {
  if (shape.is_a_team) return play_teams(work, shape);
  play_groups<EncodeScratch>(shape, [&]<class C>(uint32_t, EncodeScratch& scratch, const C& coop) {
    CountedPatience mine = patience;
    const OneMember<C> team(coop);
    ColumnEncoder<rings::CpuMemory, OneMember<C>>(work, scratch, team).run(mine);
  });
}

inline void play_decode(const DecodeWork& work, const CodingShape& shape = {}) {
  play_groups<CodecScratch>(
      shape, [&]<class C>(uint32_t group, CodecScratch& scratch, const C& coop) {
        ColumnDecoder<rings::CpuMemory, C>(work, scratch, coop).run(group, shape.groups);
      });
}

}  // namespace crossdock::codecs
