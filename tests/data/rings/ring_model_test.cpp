// Every interleaving of small rings, over a memory in which loads may see old values; and that it finds out whoever
// breaks the protocol, or weakens one of its orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/mutant_producers.hpp"
#include "data/rings/ring_actors.hpp"
#include "data/rings/ring_scenes.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Shape {
  int slot_bits = 0;
  uint32_t rows_max = 1;
  std::vector<std::vector<uint64_t>> values;  // per producer
  int collectors = 1;
  uint32_t batch_rows = 1;
  bool nullable = false;
};

// The first producer, the collectors, the other producers: the search tries the first ones first, so the others come
// late, when the ring has gone round.
template <class Traits, class Producer>
Scene make_scene(const Shape& shape) {
  auto stage =
      std::make_shared<Stage>(Stage{TestRing(shape.slot_bits, shape.rows_max, shape.nullable), {}});
  Scene scene;
  scene.memory = stage;
  std::vector<uint64_t> all;
  for (const auto& values : shape.values) {
    scene.actors.push_back(
        std::make_unique<AppendActor<Traits, Producer>>(stage->ring, values, shape.batch_rows));
    for (int collector = 0; collector < shape.collectors && all.empty(); ++collector) {
      scene.actors.push_back(std::make_unique<CollectActor<Traits>>(
          stage->ring, stage->collected, shape.collectors > 1));
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  stage->collected.expected_rows = all.size();
  scene.verdict = [stage = stage.get(), all] { return verdict_of(stage->collected, all); };
  return scene;
}

template <class Orders = RingOrders, template <class> class Producer = RingProducer>
ModelReport explore_shape(const Shape& shape, const ModelOptions& options = {.stale_loads = 0}) {
  using Traits = ModelRingTraits<Orders>;
  return explore([&shape] { return make_scene<Traits, Producer<Traits>>(shape); }, options);
}

const Shape kOneProducer{.values = {{1, 2, 3}}};
const Shape kOneSegment{.rows_max = 2, .values = {{1}, {2}}};
const Shape kTwoLaps{.values = {{1}, {2}}};
const Shape kTwoSlots{.slot_bits = 1, .values = {{1, 2, 3, 4}}};
const Shape kTwoCollectors{.values = {{1, 2}}, .collectors = 2};

using Case = SceneCase<Shape>;

class RingModel : public ::testing::TestWithParam<Case> {};

TEST_P(RingModel, nothing_is_lost_doubled_or_stuck) {
  expect_all_hold(explore_shape(GetParam().shape, {.stale_loads = GetParam().stale_loads}));
}

INSTANTIATE_TEST_SUITE_P(
    Scenes,
    RingModel,
    ::testing::Values(
        Case{"one_slot", kOneProducer, 2},
        Case{"two_slots", kTwoSlots, 1},
        Case{"batches", {.rows_max = 2, .values = {{1, 2, 3, 4, 5}}, .batch_rows = 3}, 2},
        Case{"validity", {.rows_max = 2, .values = {{1, 2, 3}}, .nullable = true}, 1},
        Case{"two_producers_in_one_segment", kOneSegment},
        Case{"two_producers_in_one_slot", kTwoLaps},
        Case{"two_producers_in_two_slots", {.slot_bits = 1, .values = {{1}, {2}}}},
        Case{"two_collectors", {.values = {{1}}, .collectors = 2}}),
    [](const auto& param) { return param.param.name; });

// Too large for all interleavings: some, by seeds.
class RingModelSampled : public ::testing::TestWithParam<Case> {};

TEST_P(RingModelSampled, nothing_is_lost_doubled_or_stuck) {
  const ModelReport report =
      explore_shape(GetParam().shape, {.stale_loads = GetParam().stale_loads, .samples = kSamples});
  EXPECT_THAT(report.failure, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Scenes,
    RingModelSampled,
    ::testing::Values(
        Case{"two_producers_in_one_segment", kOneSegment, 2},
        Case{"three_producers_in_one_slot", {.rows_max = 2, .values = {{1}, {2}, {3, 4}}}, 3},
        Case{"three_producers_in_two_slots",
             {.slot_bits = 1,
              .rows_max = 2,
              .values = {{1, 2}, {3, 4}, {5, 6, 7}},
              .nullable = true},
             3},
        Case{
            "batches", {.rows_max = 3, .values = {{1, 2, 3, 4}, {5, 6, 7, 8}}, .batch_rows = 2}, 3},
        Case{"two_collectors", {.values = {{1, 2, 3}, {4, 5}}, .collectors = 2}, 3}),
    [](const auto& param) { return param.param.name; });

// Orders, each weakened in one place.
struct WeakReadTail : RingOrders {
  using ReadTail = Relaxed;
};
struct WeakOpen : RingOrders {
  using Open = Relaxed;
};
struct WeakInitialise : RingOrders {
  using Initialise = Relaxed;
};
struct WeakReserve : RingOrders {
  using Reserve = Relaxed;
};
struct CommitWithoutAcquire : RingOrders {
  using Commit = Release;
};
struct CommitWithoutRelease : RingOrders {
  using Commit = Acquire;
};
struct WeakClose : RingOrders {
  using Close = Relaxed;
};
struct WeakPublish : RingOrders {
  using Publish = Relaxed;
};
struct WeakPoll : RingOrders {
  using Poll = Relaxed;
};
struct WeakRecycle : RingOrders {
  using Recycle = Relaxed;
};
struct WeakReadHead : RingOrders {
  using ReadHead = Relaxed;
};
struct WeakLock : RingOrders {
  using Lock = Relaxed;
};
struct WeakUnlock : RingOrders {
  using Unlock = Relaxed;
};

template <class Orders>
std::string fault(const Shape& shape, int stale_loads = 0) {
  return explore_shape<Orders>(shape, {.stale_loads = stale_loads}).failure;
}

TEST(RingModelOrders, a_commit_releases_its_rows_and_acquires_those_of_others) {
  EXPECT_THAT(fault<CommitWithoutRelease>(kOneSegment), HasSubstr("race"));
  EXPECT_THAT(fault<CommitWithoutAcquire>(kOneSegment), HasSubstr("race"));
}

TEST(RingModelOrders, a_seal_that_publishes_acquires_the_rows_of_others) {
  EXPECT_THAT(fault<WeakClose>({.rows_max = 3, .values = {{1}, {2}}}), HasSubstr("race"));
}

TEST(RingModelOrders, ready_words_release_and_acquire) {
  EXPECT_THAT(fault<WeakPublish>(kOneProducer), HasSubstr("race"));
  EXPECT_THAT(fault<WeakPoll>(kOneProducer), HasSubstr("race"));
}

TEST(RingModelOrders, heads_release_and_acquire) {
  EXPECT_THAT(fault<WeakRecycle>(kOneProducer), HasSubstr("race"));
  EXPECT_THAT(fault<WeakReadHead>(kOneProducer), HasSubstr("race"));
}

TEST(RingModelOrders, who_reserves_has_acquired_what_the_opener_released) {
  EXPECT_THAT(fault<WeakInitialise>(kOneSegment), HasSubstr("race"));
  EXPECT_THAT(fault<WeakReserve>({.rows_max = 2, .values = {{1}, {2}}, .nullable = true}),
              HasSubstr("race"));
}

TEST(RingModelOrders, consumers_that_take_turns_acquire_and_release_the_lock) {
  const ModelOptions sampled{.stale_loads = 2, .samples = kSamples};
  EXPECT_THAT(explore_shape<WeakLock>(kTwoCollectors, sampled).failure, HasSubstr("race"));
  EXPECT_THAT(explore_shape<WeakUnlock>(kTwoCollectors, sampled).failure, HasSubstr("race"));
}

TEST(RingModelOrders, an_old_word_does_not_pass_for_that_of_a_later_lap) {
  const Shape late{.slot_bits = 1,
                   .rows_max = 2,
                   .values = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {10}},
                   .batch_rows = 2};
  EXPECT_THAT(fault<WeakReadTail>(late, 1), Not(IsEmpty()));
  EXPECT_THAT(fault<WeakOpen>(late, 1), Not(IsEmpty()));
}

template <template <class> class Producer>
std::string fault_of(const Shape& shape) {
  return explore_shape<RingOrders, Producer>(shape).failure;
}

TEST(RingModelMutants, are_found_out) {
  EXPECT_THAT(fault_of<PublishesBeforeCommit>(kOneSegment), Not(IsEmpty()));
  EXPECT_THAT(fault_of<PublishesTwice>(kOneSegment), HasSubstr("race"));
  EXPECT_THAT(fault_of<CommitsByStore>(kOneSegment), HasSubstr("deadlock"));
  EXPECT_THAT(fault_of<SealsWithoutPublishing>(kOneSegment), HasSubstr("deadlock"));
  EXPECT_THAT(fault_of<SealsEmptySegments>(kTwoLaps), HasSubstr("empty segment"));
  EXPECT_THAT(fault_of<IgnoresTheHead>(kOneProducer), Not(IsEmpty()));
}

}  // namespace
}  // namespace crossdock::rings
