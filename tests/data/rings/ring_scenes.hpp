// What the model's tests of rings share: a ring with what came out of it, and what a search has to have found.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/model.hpp"
#include "data/rings/ring_actors.hpp"

namespace crossdock::rings {

struct Stage {
  TestRing ring;
  Collected collected;
};

// Which blocks and devices the actors of a scene are on.
enum class Spread : uint8_t {
  kDevices,  // producers in blocks of one device, consumers in blocks of another
  kStage,    // producers are threads of one block, consumers other blocks of the same device
  kBlock,    // all are threads of one block
};

inline ModelPlace producer_place(Spread spread, int producer) {
  return {.device = 0, .block = spread == Spread::kDevices ? producer : 0};
}
inline ModelPlace consumer_place(Spread spread, int consumer) {
  if (spread == Spread::kBlock) return {};
  return {.device = spread == Spread::kDevices ? 1 : 0, .block = 1 + consumer};
}

template <class Shape>
struct SceneCase {
  const char* name;
  Shape shape;
  int stale_loads = 0;
};

inline constexpr uint64_t kSamples = 4'000;  // of scenes that are too large for all interleavings

// All interleavings were run, there were several, and none failed.
inline void expect_all_hold(const ModelReport& report) {
  EXPECT_THAT(report.failure, ::testing::IsEmpty());
  EXPECT_TRUE(report.finished) << "more than " << report.runs << " runs";
  EXPECT_GT(report.runs, 1U);
}

}  // namespace crossdock::rings
