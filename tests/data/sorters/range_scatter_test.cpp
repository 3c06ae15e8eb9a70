// Every value lands in its range, in order of arrival, and nothing beside it is touched.
#include "data/sorters/range_scatter.hpp"

#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::sorters {
namespace {

using Bytes = std::vector<uint8_t>;

struct Input {
  Bytes values;
  std::vector<uint16_t> ranges;
};

Input make_input(int ranges, int width, int32_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  Input input;
  for (int32_t i = 0; i < rows; ++i) {
    // Range 0 gets most rows, some ranges none.
    const uint64_t range = random() % 3 == 0 ? random() % static_cast<uint64_t>(ranges) : 0;
    input.ranges.push_back(static_cast<uint16_t>(range / 2));
  }
  for (int32_t i = 0; i < rows * width; ++i) input.values.push_back(static_cast<uint8_t>(random()));
  return input;
}

// Two scatters share the arrays, as two workers do, each with its own part of every range.
void expect_scattered(int ranges, int width, int32_t rows, bool streams) {
  const auto memory = Memory::create(int64_t{64} << 20);
  std::vector<Input> parts = {make_input(ranges, width, rows, 1),
                              make_input(ranges, width, rows / 2, 2)};
  std::vector<Bytes> expected(ranges);
  std::vector<std::vector<int64_t>> starts;
  for (const Input& part : parts) {
    starts.emplace_back();
    for (const Bytes& bytes : expected) starts.back().push_back(static_cast<int64_t>(bytes.size()));
    for (size_t i = 0; i < part.ranges.size(); ++i) {
      Bytes& to = expected[part.ranges[i]];
      const uint8_t* value = part.values.data() + i * width;
      to.insert(to.end(), value, value + width);
    }
  }
  Bytes all;
  std::vector<int64_t> first;
  for (const Bytes& bytes : expected) {
    first.push_back(static_cast<int64_t>(all.size()));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  // Starts in the middle of a line; what stands before and after must stay.
  const int64_t margin = 16;
  auto block = memory->get(static_cast<int64_t>(all.size()) + 2 * margin, "test");
  const Block out = std::move(block.value());
  std::memset(out.data(), 0xEE, static_cast<size_t>(out.bytes()));
  std::vector<LaneScatter> scatters(2);
  for (size_t s = 0; s < 2; ++s) {
    ASSERT_TRUE(scatters[s].open(*memory, ranges, width, streams, "test").ok());
    for (int range = 0; range < ranges; ++range) {
      scatters[s].start(range, out.data() + margin + first[range] + starts[s][range]);
    }
  }
  for (size_t s = 0; s < 2; ++s) {
    const auto count = static_cast<int32_t>(parts[s].ranges.size());
    for (int32_t at = 0; at < count; at += 777) {
      scatters[s].put(parts[s].values.data() + at * width,
                      parts[s].ranges.data() + at,
                      std::min(777, count - at));
    }
  }
  for (LaneScatter& scatter : scatters) scatter.finish();
  ASSERT_TRUE(std::equal(all.begin(), all.end(), out.data() + margin)) << ranges << " " << width;
  for (int64_t i = 0; i < margin; ++i) {
    ASSERT_EQ(out.data()[i], 0xEE);
    ASSERT_EQ(out.data()[margin + static_cast<int64_t>(all.size()) + i], 0xEE);
  }
}

TEST(LaneScatter, PutsEveryValueIntoItsRange) {
  for (const int ranges : {1, 2, 100, 3000}) {
    for (const int width : {1, 2, 4, 8, 16}) {
      for (const int32_t rows : {0, 1, 17, 5000, 40'000}) {
        expect_scattered(ranges, width, rows, true);
        expect_scattered(ranges, width, rows, false);
      }
    }
  }
}

TEST(LaneScatter, SomeLanesAtOnceFitTheCache) {
  EXPECT_EQ(lanes_at_once(100'000, 1 << 20), 1);
  EXPECT_GE(lanes_at_once(1024, 1 << 20), 3);
}

}  // namespace
}  // namespace crossdock::sorters
