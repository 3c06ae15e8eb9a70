// Shapes of rings and their memory.
#include "data/rings/place_ring.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/rings/ring_actors.hpp"

namespace crossdock::rings {
namespace {

using ::testing::HasSubstr;

TEST(PlaceRing, every_word_has_a_line_to_itself) {
  const TestRing test(2, 8);
  const Ring& ring = test.ring();
  std::vector<uintptr_t> lines;
  for (const uint64_t* word : {ring.tail, ring.head, ring.lock})
    lines.push_back(reinterpret_cast<uintptr_t>(word));
  for (uint64_t slot = 0; slot < ring.slots(); ++slot) {
    lines.push_back(reinterpret_cast<uintptr_t>(&ring.word(slot)));
    lines.push_back(reinterpret_cast<uintptr_t>(&ring.ready_word(slot)));
  }
  for (uintptr_t& line : lines) line /= kRingLineBytes;
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(std::adjacent_find(lines.begin(), lines.end()), lines.end());
  const auto first_segment = reinterpret_cast<uintptr_t>(ring.segment(0));
  EXPECT_GT(first_segment / kRingLineBytes, lines.back());
  EXPECT_EQ(first_segment % 64, 0U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(ring.tail) + ring_bytes(ring.shape),
            reinterpret_cast<uintptr_t>(ring.segment(3)) + ring.shape.segment_bytes);
}

TEST(PlaceRing, refuses_what_has_no_room) {
  const LaneShape lane;
  const auto layout = make_segment_layout({&lane, 1}, 8).value();
  EXPECT_THAT(make_ring_shape(layout, 21).error().message, HasSubstr("from 0 to 20"));
  EXPECT_FALSE(make_ring_shape(layout, -1).ok());
  const auto big = make_segment_layout({&lane, 1}, 1 << 20).value();
  EXPECT_THAT(make_ring_shape(big, 0).error().message, HasSubstr("262143"));
  const LaneShape text{.width_bytes = 16, .is_text = true};
  const auto heavy = make_segment_layout({&text, 1}, 8, 1 << 29).value();
  EXPECT_THAT(make_ring_shape(heavy, 0).error().message, HasSubstr("268435440"));
  const RingShape shape = make_ring_shape(layout, 1).value();
  alignas(128) std::byte memory[4096];
  EXPECT_THAT(place_ring(shape, {memory, ring_bytes(shape) - 1}).error().message,
              HasSubstr("ring_bytes"));
  EXPECT_THAT(place_ring(shape, {memory + 64, ring_bytes(shape)}).error().message,
              HasSubstr("boundary"));
  EXPECT_TRUE(place_ring(shape, {memory, ring_bytes(shape)}).ok());
}

}  // namespace
}  // namespace crossdock::rings
