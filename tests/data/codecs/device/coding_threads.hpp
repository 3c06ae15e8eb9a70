// Coding as kernels do it, played by CPU threads: groups that claim tiles, each as a thread block would be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "data/codecs/device/column_decoder.hpp"
#include "data/codecs/device/column_encoder.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/thread_coop.hpp"

namespace crossdock::codecs {

struct CodingShape {
  uint32_t groups = 1;
  uint32_t threads = 1;  // of a group
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
template <class Step>
void play_groups(const CodingShape& shape, const Step& step) {
  std::vector<std::unique_ptr<CodecScratch>> scratches;
  std::vector<std::unique_ptr<rings::ThreadGroup>> groups;
  std::vector<std::thread> threads;
  for (uint32_t group = 0; group < shape.groups; ++group) {
    scratches.push_back(std::make_unique<CodecScratch>());
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

inline void play_encode(const EncodeWork& work,
                        const CodingShape& shape = {},
                        const CountedPatience& patience = {}) {
  play_groups(shape, [&]<class C>(uint32_t, CodecScratch& scratch, const C& coop) {
    CountedPatience mine = patience;
    ColumnEncoder<rings::CpuMemory, C>(work, scratch, coop).run(mine);
  });
}

inline void play_decode(const DecodeWork& work, const CodingShape& shape = {}) {
  play_groups(shape, [&]<class C>(uint32_t group, CodecScratch& scratch, const C& coop) {
    ColumnDecoder<rings::CpuMemory, C>(work, scratch, coop).run(group, shape.groups);
  });
}

}  // namespace crossdock::codecs
