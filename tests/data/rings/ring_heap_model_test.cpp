// Rows with strings: every interleaving of small rings whose segments share a heap, and producers that get it wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/mutant_text_producers.hpp"
#include "data/rings/ring_scenes.hpp"
#include "data/rings/text_actors.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct HeapShape {
  int slot_bits = 0;
  uint32_t rows_max = 3;
  uint64_t heap_units = 2;                    // of a segment, and at most of a text
  std::vector<std::vector<uint64_t>> values;  // per producer
  uint32_t batch_rows = 1;
};

template <class Traits, class Producer>
Scene make_scene(const HeapShape& shape) {
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
    scene.places.push_back(producer_place(Spread::kDevices, static_cast<int>(appenders.size())));
    if (all.empty()) {
      scene.actors.push_back(std::make_unique<ReadTextsActor<Traits>>(
          stage->ring, stage->collected, shape.heap_units));
      scene.places.push_back(consumer_place(Spread::kDevices, 0));
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
ModelReport explore_heap(const HeapShape& shape, const ModelOptions& options = {.stale_loads = 0}) {
  using Traits = ModelRingTraits<Orders>;
  return explore([&shape] { return make_scene<Traits, Producer<Traits>>(shape); }, options);
}

// With a heap of two units: value v takes v mod 3 of them.
const HeapShape kOneTextProducer{.values = {{1, 2, 4, 3}}};
const HeapShape kOneTextSegment{.rows_max = 2, .values = {{1}, {4}}};
const HeapShape kThreeUnits{.values = {{1}, {2}}};
const HeapShape kPassOn{.slot_bits = 1, .values = {{2}, {5}}};

using HeapCase = SceneCase<HeapShape>;

class RingHeapModel : public ::testing::TestWithParam<HeapCase> {};

TEST_P(RingHeapModel, no_text_is_lost_doubled_or_overwritten) {
  expect_all_hold(explore_heap(GetParam().shape, {.stale_loads = GetParam().stale_loads}));
}

INSTANTIATE_TEST_SUITE_P(
    Scenes,
    RingHeapModel,
    ::testing::Values(HeapCase{"one_slot", kOneTextProducer, 1},
                      HeapCase{"two_slots", {.slot_bits = 1, .values = {{2, 1, 4, 2}}}, 1},
                      HeapCase{"batches", {.values = {{1, 4, 3, 2, 5}}, .batch_rows = 3}, 2},
                      HeapCase{"two_producers_in_one_segment", kOneTextSegment}),
    [](const auto& param) { return param.param.name; });

// Too large for all interleavings: some, by seeds.
class RingHeapModelSampled : public ::testing::TestWithParam<HeapCase> {};

TEST_P(RingHeapModelSampled, no_text_is_lost_doubled_or_overwritten) {
  const ModelReport report =
      explore_heap(GetParam().shape, {.stale_loads = GetParam().stale_loads, .samples = kSamples});
  EXPECT_THAT(report.failure, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Scenes,
    RingHeapModelSampled,
    ::testing::Values(
        HeapCase{"two_producers_in_one_segment", kOneTextSegment, 2},
        HeapCase{"two_producers_and_a_heap_for_one", kThreeUnits, 2},
        HeapCase{"two_producers_in_two_slots", kPassOn, 2},
        HeapCase{"three_producers_in_one_slot", {.values = {{1, 2}, {2, 3}, {5, 4}}}, 3},
        HeapCase{"three_producers_in_two_slots",
                 {.slot_bits = 1, .heap_units = 4, .values = {{1, 2, 3}, {4, 7, 6}, {9, 8}}},
                 3},
        HeapCase{
            "batches", {.heap_units = 3, .values = {{1, 2, 3}, {6, 7, 8, 9}}, .batch_rows = 2}, 3}),
    [](const auto& param) { return param.param.name; });

struct WeakHeapClose : RingOrders {
  using Close = Relaxed;
};
struct WeakHeapInitialise : RingOrders {
  using Initialise = Relaxed;
};

TEST(RingHeapModelOrders, who_passes_a_segment_on_acquires_the_strings_of_others) {
  EXPECT_THAT(explore_heap<WeakHeapClose>({.rows_max = 3, .values = {{1, 2}, {4}}}).failure,
              HasSubstr("race"));
  EXPECT_THAT(explore_heap<WeakHeapInitialise>(kOneTextSegment).failure, HasSubstr("race"));
}

template <template <class> class Producer>
std::string heap_fault_of(const HeapShape& shape, uint64_t samples = 0) {
  return explore_heap<RingOrders, Producer>(shape, {.stale_loads = 0, .samples = samples}).failure;
}

TEST(RingHeapModelMutants, are_found_out) {
  EXPECT_THAT(heap_fault_of<TakesTheHeapLater>(kOneTextSegment), Not(IsEmpty()));
  EXPECT_THAT(heap_fault_of<TakesWithoutALook>(kThreeUnits), HasSubstr("beyond the heap"));
  EXPECT_THAT(heap_fault_of<PassesOnWithoutPublishing>(kOneTextProducer), HasSubstr("deadlock"));
  // These two take long to come to by the search, and seeds find them at once.
  EXPECT_THAT(heap_fault_of<PassesOnBlindly>({.slot_bits = 1, .values = {{2, 5}, {8}}}, kSamples),
              Not(IsEmpty()));
  EXPECT_THAT(heap_fault_of<PassesOnByStore>({.rows_max = 3, .values = {{1, 2}, {3}}}, kSamples),
              HasSubstr("deadlock"));
}

}  // namespace
}  // namespace crossdock::rings
