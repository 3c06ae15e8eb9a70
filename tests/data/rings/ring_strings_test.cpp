// Strings through rings of many shapes, in orders that seeds choose.
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/scheduled_driver.hpp"
#include "data/rings/text_actors.hpp"

namespace crossdock::rings {
namespace {

// What is wrong after a run of a shape and an order that follow from the seed; "" if nothing.
std::string run_strings(uint64_t seed) {
  std::minstd_rand random(static_cast<uint32_t>(seed));
  const uint64_t units_max = 1 + random() % 6;
  const uint64_t heap_units = units_max + random() % 20;
  const TestRing ring(static_cast<int>(random() % 3),
                      1 + static_cast<uint32_t>(random() % 12),
                      /*nullable=*/false,
                      heap_units * kHeapUnitBytes);
  std::vector<uint64_t> all(60 + random() % 60);
  std::iota(all.begin(), all.end(), random() % 100);
  Collected collected;
  collected.expected_rows = all.size();
  ReadTextsActor<CpuRingTraits> reader(ring, collected, units_max);
  std::vector<std::unique_ptr<TextActor<CpuRingTraits>>> appenders;
  std::vector<Actor*> actors = {&reader};
  const size_t producers = 1 + random() % 3;
  for (size_t producer = 0; producer < producers; ++producer) {
    const size_t from = all.size() * producer / producers;
    const size_t to = all.size() * (producer + 1) / producers;
    const auto begin = all.begin();
    appenders.push_back(std::make_unique<TextActor<CpuRingTraits>>(
        ring,
        std::vector<uint64_t>(begin + static_cast<int64_t>(from), begin + static_cast<int64_t>(to)),
        units_max,
        1 + static_cast<uint32_t>(random() % 5)));
    actors.push_back(appenders.back().get());
  }
  SeededChance chance(seed);
  const Status ran = run_scheduled(actors, chance, 100'000);
  if (!ran.ok()) return ran.error().message;
  std::string wrong = verdict_of(collected, all);
  for (const auto& appender : appenders) wrong += appender->wrong();
  return wrong;
}

TEST(RingTexts, seeds_deliver_every_text) {
  for (uint64_t seed = 1; seed <= 2000; ++seed) ASSERT_EQ(run_strings(seed), "") << "seed " << seed;
}

}  // namespace
}  // namespace crossdock::rings
