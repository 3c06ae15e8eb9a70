// Windows by number: segments in any order, twice, too early; one by one, in the model, and between threads.
#include "data/rings/sequence_window.hpp"

#include <numeric>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/model.hpp"
#include "data/rings/ring_actors.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct NarrowWindowTraits : CpuRingTraits {
  using Word = SegmentWord<1, 4, 4>;
};
using Window = SequenceWindow<NarrowWindowTraits>;

TEST(SequenceWindow, the_number_says_where_a_segment_goes) {
  const TestRing ring(2, 2);
  Window window(ring.ring());
  EXPECT_EQ(window.place(2), ring.ring().segment(2));
  EXPECT_EQ(window.place(2), ring.ring().segment(2)) << "the same place until it is published";
  window.publish(2);
  EXPECT_EQ(window.contiguous(), 0U);
  window.publish(0);
  EXPECT_EQ(window.contiguous(), 1U);
  window.publish(1);
  EXPECT_EQ(window.contiguous(), 3U);
}

TEST(SequenceWindow, what_has_come_has_no_place) {
  const TestRing ring(2, 2);
  Window window(ring.ring());
  for (const uint64_t n : {0, 2}) window.publish(n);
  for (const uint64_t n : {0, 2}) {
    EXPECT_EQ(window.place(n), nullptr);
    EXPECT_TRUE(window.has(n));
  }
  EXPECT_FALSE(window.has(1));
  EXPECT_FALSE(window.has(3));
  EXPECT_NE(window.place(1), nullptr);
}

TEST(SequenceWindow, what_has_no_credit_has_no_place) {
  const TestRing ring(1, 2);
  Window window(ring.ring());
  RingConsumer<NarrowWindowTraits> consumer(ring.ring());
  for (uint64_t lap = 0; lap < 20; lap += 2) {
    for (const uint64_t beyond : {lap + 2, lap + 3, lap + 100, ~uint64_t{0}}) {
      EXPECT_EQ(window.place(beyond), nullptr);
      EXPECT_FALSE(window.has(beyond));
    }
    EXPECT_EQ(consumer.front(), nullptr);
    window.publish(lap + 1);
    EXPECT_EQ(consumer.front(), nullptr) << "segments are taken in the order of their numbers";
    window.publish(lap);
    EXPECT_EQ(window.contiguous(), lap + 2);
    EXPECT_EQ(window.place(lap + 2), nullptr);
    consumer.recycle(1);
    EXPECT_NE(window.place(lap + 2), nullptr);
    EXPECT_EQ(window.place(lap + 3), nullptr);
    consumer.recycle(1);
  }
}

TEST(SequenceWindowDeath, a_segment_is_published_once) {
  const TestRing ring(1, 2);
  Window window(ring.ring());
  window.publish(1);
  EXPECT_DEATH(window.publish(1), "broke the contract");
  EXPECT_DEATH(window.publish(2), "broke the contract");
}

// Delivers segments by the numbers in `arrivals`, those without credit again later, as a peer would resend them.
template <class Traits, class Placing = SequenceWindow<Traits>>
class DeliverActor : public Actor {
 public:
  DeliverActor(const TestRing& ring, std::vector<uint64_t> arrivals)
      : ring_(ring), window_(ring.ring()), left_(std::move(arrivals)) {}

  Step step() override {
    if (left_.empty()) return Step::kDone;
    for (size_t at = 0; at < left_.size(); ++at) {
      const uint64_t n = left_[at];
      std::byte* segment = window_.place(n);
      if (segment == nullptr && !window_.has(n)) continue;
      left_.erase(left_.begin() + static_cast<int64_t>(at));
      if (segment != nullptr) write(n, segment);
      return Step::kProgress;
    }
    return Step::kIdle;
  }

  std::string state() const override {
    return fmt::format(
        "{} left, contiguous {}: {}", left_.size(), window_.contiguous(), state_of<Traits>(ring_));
  }

 private:
  void write(uint64_t n, std::byte* segment) {
    auto* header = reinterpret_cast<SegmentHeader*>(segment);
    Traits::write(header->rows, uint32_t{1});
    Traits::write(header->sequence, n);
    Traits::write(*ring_.layout().template lane<uint64_t>(segment, 0), n + 100);
    window_.publish(n);
  }

  const TestRing& ring_;
  Placing window_;
  std::vector<uint64_t> left_;
};

// Writes where the number says, whether or not the segment before it has been read.
template <class Traits>
class IgnoresCredit : public SequenceWindow<Traits> {
 public:
  explicit IgnoresCredit(const Ring& ring) : SequenceWindow<Traits>(ring), ring_(ring) {}
  std::byte* place(uint64_t n) { return ring_.segment(ring_.slot_of(n)); }
  void publish(uint64_t n) {
    typename Traits::template Atomic<uint64_t, Traits::kHandOver>(
        ring_.ready_word(ring_.slot_of(n)))
        .store(Traits::Word::generation_at(n, ring_.shape.slot_bits), Release{});
  }

 private:
  Ring ring_;
};

struct Stage {
  TestRing ring;
  Collected collected;
};

struct Arrivals {
  int slot_bits = 1;
  std::vector<uint64_t> numbers;
  uint64_t segments = 0;
};

template <class Traits, class Placing>
Scene make_scene(const Arrivals& arrivals) {
  auto stage = std::make_shared<Stage>(Stage{TestRing(arrivals.slot_bits, 1), {}});
  stage->collected.expected_rows = arrivals.segments;
  Scene scene;
  scene.memory = stage;
  scene.actors.push_back(
      std::make_unique<DeliverActor<Traits, Placing>>(stage->ring, arrivals.numbers));
  scene.actors.push_back(std::make_unique<CollectActor<Traits>>(stage->ring, stage->collected));
  scene.places = {{.device = 0}, {.device = 1}};
  std::vector<uint64_t> expected(arrivals.segments);
  std::iota(expected.begin(), expected.end(), 100);
  scene.verdict = [stage = stage.get(), expected] {
    return verdict_of(stage->collected, expected);
  };
  return scene;
}

template <class Orders = RingOrders,
          template <class> class Placing = SequenceWindow,
          class Scopes = RingDefaults>
ModelReport explore_arrivals(const Arrivals& arrivals, int stale_loads = 1) {
  using Traits = ModelRingTraits<Orders, Scopes>;
  return explore([&arrivals] { return make_scene<Traits, Placing<Traits>>(arrivals); },
                 {.stale_loads = stale_loads});
}

const Arrivals kMixed{.slot_bits = 1, .numbers = {1, 0, 1, 3, 2, 3}, .segments = 4};

TEST(SequenceWindowModel, every_segment_is_taken_once_and_in_order) {
  for (const Arrivals& arrivals :
       {kMixed,
        Arrivals{.slot_bits = 0, .numbers = {2, 1, 0, 0, 1, 2}, .segments = 3},
        Arrivals{.slot_bits = 2, .numbers = {2, 1, 0, 4, 0, 3}, .segments = 5}}) {
    const ModelReport report = explore_arrivals(arrivals, arrivals.slot_bits == 2 ? 0 : 1);
    EXPECT_THAT(report.failure, IsEmpty());
    EXPECT_TRUE(report.finished);
    EXPECT_GT(report.runs, 1U);
  }
}

struct WeakWindowPublish : RingOrders {
  using Publish = Relaxed;
};
struct WeakWindowReadHead : RingOrders {
  using ReadHead = Relaxed;
};

struct DeviceWindow : RingDefaults {
  static constexpr Scope kHandOver = Scope::kDevice;
};

TEST(SequenceWindowModel, weaker_orders_a_narrow_scope_and_a_mutant_are_found_out) {
  const auto narrow = explore_arrivals<RingOrders, SequenceWindow, DeviceWindow>(kMixed);
  EXPECT_THAT(narrow.failure, HasSubstr("race"));
  EXPECT_THAT(explore_arrivals<WeakWindowPublish>(kMixed).failure, HasSubstr("race"));
  EXPECT_THAT(explore_arrivals<WeakWindowReadHead>(kMixed).failure, HasSubstr("race"));
  const auto mutant = explore_arrivals<RingOrders, IgnoresCredit>(kMixed);
  EXPECT_THAT(mutant.failure, Not(IsEmpty()));
}

// Arrivals in the order of a seed, within what the receiver has room for, one in four of them twice.
TEST(SequenceWindowConcurrent, whole_segments_arrive_in_any_order) {
  constexpr uint64_t kSegments = 3000;
  for (const int slot_bits : {0, 1, 4}) {
    const TestRing ring(slot_bits, 1);
    std::thread mover([&ring] {
      Window window(ring.ring());
      std::minstd_rand random(7);
      const uint64_t slots = ring.ring().slots();
      while (window.contiguous() < kSegments) {
        const uint64_t n = window.contiguous() + random() % (slots + 1) - random() % 2;
        std::byte* segment = n < kSegments ? window.place(n) : nullptr;
        if (segment == nullptr) {
          std::this_thread::yield();
          continue;
        }
        reinterpret_cast<SegmentHeader*>(segment)->rows = 1;
        *ring.layout().lane<uint64_t>(segment, 0) = n;
        window.publish(n);
        EXPECT_EQ(window.place(n), nullptr);
      }
    });
    RingConsumer<NarrowWindowTraits> consumer(ring.ring());
    for (uint64_t taken = 0; taken < kSegments;) {
      std::byte* segment = consumer.front();
      if (segment == nullptr) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_EQ(*ring.layout().lane<uint64_t>(segment, 0), taken++);
      consumer.recycle();
    }
    mover.join();
  }
}

}  // namespace
}  // namespace crossdock::rings
