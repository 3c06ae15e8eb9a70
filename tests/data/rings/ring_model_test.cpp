// Every interleaving of small rings, over a memory in which loads may see old values; and that it finds out who
// breaks the protocol, weakens one of its orders, or narrows one of its scopes.
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
  Spread spread = Spread::kDevices;
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
  int producer = 0;
  for (const auto& values : shape.values) {
    scene.actors.push_back(
        std::make_unique<AppendActor<Traits, Producer>>(stage->ring, values, shape.batch_rows));
    scene.places.push_back(producer_place(shape.spread, producer++));
    for (int collector = 0; collector < shape.collectors && all.empty(); ++collector) {
      scene.actors.push_back(std::make_unique<CollectActor<Traits>>(
          stage->ring, stage->collected, shape.collectors > 1));
      scene.places.push_back(consumer_place(shape.spread, collector));
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  stage->collected.expected_rows = all.size();
  scene.verdict = [stage = stage.get(), all] { return verdict_of(stage->collected, all); };
  return scene;
}

template <class Orders = RingOrders,
          template <class> class Producer = RingProducer,
          class Scopes = RingDefaults>
ModelReport explore_shape(const Shape& shape, const ModelOptions& options = {.stale_loads = 0}) {
  using Traits = ModelRingTraits<Orders, Scopes>;
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

// The first two are as narrow as the places of stage rings and of one block are; of the others one is too narrow.
struct StageScopes : RingDefaults {
  static constexpr Scope kProducers = Scope::kBlock;
  static constexpr Scope kHandOver = Scope::kDevice;
};
struct BlockScopes : RingDefaults {
  static constexpr Scope kProducers = Scope::kBlock;
  static constexpr Scope kHandOver = Scope::kBlock;
  static constexpr Scope kConsumers = Scope::kBlock;
};
struct NarrowProducers : RingDefaults {
  static constexpr Scope kProducers = Scope::kBlock;
};
struct DeviceHandOver : RingDefaults {
  static constexpr Scope kHandOver = Scope::kDevice;
};
struct BlockHandOver : RingDefaults {
  static constexpr Scope kHandOver = Scope::kBlock;
};
struct NarrowConsumers : RingDefaults {
  static constexpr Scope kConsumers = Scope::kBlock;
};

template <class Scopes>
ModelReport explore_scopes(Shape shape, Spread spread, const ModelOptions& options = {}) {
  shape.spread = spread;
  return explore_shape<RingOrders, RingProducer, Scopes>(shape, options);
}

TEST(RingModelScopes, those_that_include_all_who_take_part_are_enough) {
  const ModelOptions newest{.stale_loads = 0};
  expect_all_hold(explore_scopes<StageScopes>(kOneSegment, Spread::kStage, newest));
  expect_all_hold(explore_scopes<BlockScopes>(kOneSegment, Spread::kBlock, newest));
  const ModelOptions sampled{.stale_loads = 2, .samples = kSamples / 10};
  EXPECT_THAT(explore_scopes<StageScopes>(kTwoCollectors, Spread::kStage, sampled).failure,
              IsEmpty());
}

TEST(RingModelScopes, a_hand_over_that_does_not_include_the_other_side_does_not_synchronise) {
  EXPECT_THAT(explore_scopes<DeviceHandOver>(kOneProducer, Spread::kDevices).failure,
              HasSubstr("race"));
  EXPECT_THAT(explore_scopes<StageScopes>(kOneProducer, Spread::kDevices).failure,
              HasSubstr("race"));
  EXPECT_THAT(explore_scopes<BlockHandOver>(kOneProducer, Spread::kStage).failure,
              HasSubstr("race"));
}

TEST(RingModelScopes, producers_and_consumers_of_several_blocks_need_more_than_one_of_them) {
  EXPECT_THAT(explore_scopes<NarrowProducers>(kOneSegment, Spread::kDevices).failure,
              HasSubstr("a scope includes one of the two alone"));
  const ModelOptions sampled{.stale_loads = 2, .samples = kSamples / 10};
  EXPECT_THAT(explore_scopes<NarrowConsumers>(kTwoCollectors, Spread::kDevices, sampled).failure,
              HasSubstr("a scope includes one of the two alone"));
}

// The word that is read is changed in a scope that includes the reader; that the reader's own does not is enough.
TEST(RingModelScopes, both_sides_have_to_include_the_other) {
  int word = 0;
  for (const auto& [released, acquired] : {std::pair(Scope::kDevice, Scope::kBlock),
                                           std::pair(Scope::kBlock, Scope::kDevice),
                                           std::pair(Scope::kDevice, Scope::kDevice)}) {
    uint64_t flag = 0;
    ModelMemory memory({{.block = 0}, {.block = 1}}, 0, [](size_t) { return size_t{0}; });
    memory.plain_write(0, &word);
    memory.store(0, &flag, 1, {Order::kRelease, released});
    memory.load(1, &flag, {Order::kAcquire, acquired});
    if (released == acquired) {
      EXPECT_NO_THROW(memory.plain_read(1, &word));
    } else {
      EXPECT_THROW(memory.plain_read(1, &word), ModelFailure);
    }
  }
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
