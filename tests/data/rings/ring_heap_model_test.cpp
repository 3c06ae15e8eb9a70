// Rows with texts: every interleaving of small rings whose segments share a heap, and producers that get it wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/mutant_text_producers.hpp"
#include "data/rings/ring_scenes.hpp"
#include "data/rings/text_actors.hpp"

namespace crossdock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Shape {
  int slot_bits = 0;
  uint32_t rows_max = 3;
  uint64_t heap_units = 2;                    // of a segment, and at most of a text
  std::vector<std::vector<uint64_t>> values;  // per producer
  uint32_t batch_rows = 1;
};

template <class Traits, class Producer>
Scene make_scene(const Shape& shape) {
  using Appender = TextActor<Traits, Producer>;
  auto stage = std::make_shared<Stage>(Stage{
      TestRing(shape.slot_bits, shape.rows_max, false, shape.heap_units * kHeapUnitBytes), {}});
  Scene scene;
  scene.memory = stage;
  std::vector<uint64_t> all;
  std::vector<const Appender*> appenders;
  for (const auto& values : shape.values) {
    auto appender =
        std::make_unique<Appender>(stage->ring, values, shape.heap_units, shape.batch_rows);
    appenders.push_back(appender.get());
    scene.actors.push_back(std::move(appender));
    if (all.empty()) {
      scene.actors.push_back(std::make_unique<ReadTextsActor<Traits>>(
          stage->ring, stage->collected, shape.heap_units));
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  stage->collected.expected_rows = all.size();
  scene.verdict = [stage = stage.get(), all, appenders] {
    std::string wrong = verdict_of(stage->collected, all);
    for (const Appender* appender : appenders) wrong += appender->wrong();
    return wrong;
  };
  return scene;
}

template <class Orders = RingOrders, template <class> class Producer = RingProducer>
ModelReport explore_shape(const Shape& shape, const ModelOptions& options = {.stale_loads = 0}) {
  using Traits = ModelRingTraits<Orders>;
  return explore([&shape] { return make_scene<Traits, Producer<Traits>>(shape); }, options);
}

// With a heap of two units: value v takes v mod 3 of them.
const Shape kOneProducer{.values = {{1, 2, 4, 3}}};
const Shape kOneSegment{.rows_max = 2, .values = {{1}, {4}}};
const Shape kThreeUnits{.values = {{1}, {2}}};
const Shape kPassOn{.slot_bits = 1, .values = {{2}, {5}}};

using Case = SceneCase<Shape>;

class RingHeapModel : public ::testing::TestWithParam<Case> {};

TEST_P(RingHeapModel, no_text_is_lost_doubled_or_overwritten) {
  expect_all_hold(explore_shape(GetParam().shape, {.stale_loads = GetParam().stale_loads}));
}

INSTANTIATE_TEST_SUITE_P(
    Scenes,
    RingHeapModel,
    ::testing::Values(Case{"one_slot", kOneProducer, 1},
                      Case{"two_slots", {.slot_bits = 1, .values = {{2, 1, 4, 2}}}, 1},
                      Case{"batches", {.values = {{1, 4, 3, 2, 5}}, .batch_rows = 3}, 2},
                      Case{"two_producers_in_one_segment", kOneSegment}),
    [](const auto& param) { return param.param.name; });

// Too large for all interleavings: some, by seeds.
class RingHeapModelSampled : public ::testing::TestWithParam<Case> {};

TEST_P(RingHeapModelSampled, no_text_is_lost_doubled_or_overwritten) {
  const ModelReport report =
      explore_shape(GetParam().shape, {.stale_loads = GetParam().stale_loads, .samples = kSamples});
  EXPECT_THAT(report.failure, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Scenes,
    RingHeapModelSampled,
    ::testing::Values(
        Case{"two_producers_in_one_segment", kOneSegment, 2},
        Case{"two_producers_and_a_heap_for_one", kThreeUnits, 2},
        Case{"two_producers_in_two_slots", kPassOn, 2},
        Case{"three_producers_in_one_slot", {.values = {{1, 2}, {2, 3}, {5, 4}}}, 3},
        Case{"three_producers_in_two_slots",
             {.slot_bits = 1, .heap_units = 4, .values = {{1, 2, 3}, {4, 7, 6}, {9, 8}}},
             3},
        Case{
            "batches", {.heap_units = 3, .values = {{1, 2, 3}, {6, 7, 8, 9}}, .batch_rows = 2}, 3}),
    [](const auto& param) { return param.param.name; });

struct WeakClose : RingOrders {
  using Close = Relaxed;
};
struct WeakInitialise : RingOrders {
  using Initialise = Relaxed;
};

TEST(RingHeapModelOrders, who_passes_a_segment_on_acquires_the_texts_of_others) {
  EXPECT_THAT(explore_shape<WeakClose>({.rows_max = 3, .values = {{1, 2}, {4}}}).failure,
              HasSubstr("race"));
  EXPECT_THAT(explore_shape<WeakInitialise>(kOneSegment).failure, HasSubstr("race"));
}

template <template <class> class Producer>
std::string fault_of(const Shape& shape, uint64_t samples = 0) {
  return explore_shape<RingOrders, Producer>(shape, {.stale_loads = 0, .samples = samples}).failure;
}

TEST(RingHeapModelMutants, are_found_out) {
  EXPECT_THAT(fault_of<TakesTheHeapLater>(kOneSegment), Not(IsEmpty()));
  EXPECT_THAT(fault_of<TakesWithoutALook>(kThreeUnits), HasSubstr("beyond the heap"));
  EXPECT_THAT(fault_of<PassesOnWithoutPublishing>(kOneProducer), HasSubstr("deadlock"));
  // These two take long to come to by the search, and seeds find them at once.
  EXPECT_THAT(fault_of<PassesOnBlindly>({.slot_bits = 1, .values = {{2, 5}, {8}}}, kSamples),
              Not(IsEmpty()));
  EXPECT_THAT(fault_of<PassesOnByStore>({.rows_max = 3, .values = {{1, 2}, {3}}}, kSamples),
              HasSubstr("deadlock"));
}

}  // namespace
}  // namespace crossdock
