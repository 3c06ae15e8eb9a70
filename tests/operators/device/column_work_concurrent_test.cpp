// Kernels that only tables on devices launch, by themselves, against plain loops.
#include <bit>

#include <gtest/gtest.h>

#include "operators/device/column_work.hpp"
#include "operators/device/device_kernel.hpp"
#include "operators/device/tried_runners.hpp"

namespace crossdock::operators {
namespace {

class ColumnWorkConcurrent : public ::testing::TestWithParam<TriedRunner> {};

INSTANTIATE_TEST_SUITE_P(Shapes, ColumnWorkConcurrent, ::testing::ValuesIn(tried_runners()));

DeviceBuffer zeroed_word(DeviceRunner& runner) { return load<uint64_t>(runner, {0}); }

uint32_t blocks_of(const DeviceRunner& runner) { return grid_of(runner, 7); }

TEST_P(ColumnWorkConcurrent, zeros_of_bitmaps_are_counted_from_any_bit_on) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  std::vector<uint8_t> bytes(2000);
  for (size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<uint8_t>(at * 37 + at / 11);
  const DeviceBuffer bits = load(runner, bytes);
  for (const auto& [first, count] : {std::pair<uint64_t, uint64_t>{0, 16'000},
                                     {3, 15'990},
                                     {8, 8},
                                     {5, 1},
                                     {7, 2},
                                     {15'999, 1},
                                     {9, 0}}) {
    const DeviceBuffer zeros = zeroed_word(runner);
    const CountZeros work{
        .bits = bits.as<uint8_t>(), .first = first, .count = count, .zeros = zeros.words()};
    ASSERT_TRUE(runner.launch(work, blocks_of(runner)).ok());
    uint64_t expected = 0;
    for (uint64_t at = first; at < first + count; ++at)
      expected += (bytes[at / 8] >> at % 8 & 1) == 0 ? 1 : 0;
    EXPECT_EQ(values_of<uint64_t>(runner, zeros, 1)[0], expected) << first << " + " << count;
  }
}

TEST_P(ColumnWorkConcurrent, counts_become_bits_and_sums_words) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  constexpr uint64_t kCount = 1003;
  std::vector<uint64_t> counts, low, high;
  std::vector<uint8_t> expected((kCount + 7) / 8);
  uint64_t empty = 0;
  for (uint64_t at = 0; at < kCount; ++at) {
    counts.push_back(at % 3);
    empty += at % 3 == 0 ? 1 : 0;
    if (at % 3 != 0) expected[at / 8] |= static_cast<uint8_t>(1U << at % 8);
    low.push_back(at * 0x9E3779B97F4A7C15U);
    high.push_back(low.back() >> 63 == 0 ? 0 : UINT64_MAX);  // as signed sums that fit have it
  }
  const DeviceBuffer from = load(runner, counts);
  const DeviceBuffer bits = load(runner, std::vector<uint8_t>(expected.size(), 0xFF));
  const DeviceBuffer zeros = zeroed_word(runner);
  ASSERT_TRUE(runner
                  .launch(CountedBits{.counts = from.words(),
                                      .count = kCount,
                                      .to = bits.as<uint8_t>(),
                                      .zeros = zeros.words()},
                          blocks_of(runner))
                  .ok());
  EXPECT_EQ(values_of<uint8_t>(runner, bits, expected.size()), expected);
  EXPECT_EQ(values_of<uint64_t>(runner, zeros, 1)[0], empty);

  const DeviceBuffer low_words = load(runner, low);
  for (const bool fits : {true, false}) {
    if (!fits) high[500] = 7;
    const DeviceBuffer high_words = load(runner, high);
    const DeviceBuffer misfits = zeroed_word(runner);
    const DeviceBuffer narrow = load(runner, std::vector<uint64_t>(kCount));
    ASSERT_TRUE(runner
                    .launch(NarrowSums{.low = low_words.words(),
                                       .high = high_words.words(),
                                       .to = narrow.words(),
                                       .misfits = misfits.words(),
                                       .count = kCount},
                            blocks_of(runner))
                    .ok());
    EXPECT_EQ(values_of<uint64_t>(runner, narrow, kCount), low);
    EXPECT_EQ(values_of<uint64_t>(runner, misfits, 1)[0], fits ? 0U : 1U);
  }
}

TEST_P(ColumnWorkConcurrent, words_become_values_and_indices_rows) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  constexpr uint64_t kCount = 777;
  std::vector<uint64_t> words;
  std::vector<int16_t> narrow;
  std::vector<uint8_t> indices, validity(kCount / 8 + 1);
  std::vector<uint64_t> rows;
  for (uint64_t at = 0; at < kCount; ++at) {
    const auto value = static_cast<int16_t>(at * 91 - 20'000);
    narrow.push_back(value);
    words.push_back(static_cast<uint64_t>(int64_t{value}));
    indices.push_back(static_cast<uint8_t>(at % 200));
    const bool is_valid = at % 5 != 0;
    if (is_valid) validity[at / 8] |= static_cast<uint8_t>(1U << at % 8);
    rows.push_back(is_valid ? at % 200 : kNoRow);
  }
  const DeviceBuffer from = load(runner, words);
  const DeviceBuffer to = load(runner, std::vector<int16_t>(kCount));
  const WriteWords write{
      .words = from.words(), .stored = Stored::kInt16, .to = to.as<std::byte>(), .count = kCount};
  ASSERT_TRUE(runner.launch(write, blocks_of(runner)).ok());
  EXPECT_EQ(values_of<int16_t>(runner, to, kCount), narrow);

  const DeviceBuffer index = load(runner, indices);
  const DeviceBuffer bits = load(runner, validity);
  for (const uint64_t dictionary_rows : {200U, 199U}) {
    const DeviceBuffer misfits = zeroed_word(runner);
    const DeviceBuffer read = load(runner, std::vector<uint64_t>(kCount));
    ASSERT_TRUE(runner
                    .launch(ReadIndices{.from = {.stored = Stored::kUInt8,
                                                 .values = index.as<uint8_t>(),
                                                 .validity = bits.as<uint8_t>()},
                                        .dictionary_rows = dictionary_rows,
                                        .to = read.words(),
                                        .misfits = misfits.words(),
                                        .count = kCount},
                            blocks_of(runner))
                    .ok());
    EXPECT_EQ(values_of<uint64_t>(runner, misfits, 1)[0], dictionary_rows == 200 ? 0U : 1U);
    if (dictionary_rows != 200) continue;
    EXPECT_EQ(values_of<uint64_t>(runner, read, kCount), rows);
  }
}

WordRange range_of(DeviceRunner& runner, const DeviceRangeSource& source, uint64_t count) {
  return measure_ranges(runner, {source}, count).value()[0];
}

TEST_P(ColumnWorkConcurrent, ranges_are_those_of_the_rows_that_count) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  constexpr uint64_t kRows = 20'000;
  std::vector<int64_t> numbers, reals;
  std::vector<uint64_t> ends;
  std::vector<uint8_t> validity(kRows / 8), valid;
  WordRange of_numbers = kNoRange;
  for (uint64_t row = 0; row < kRows; ++row) {
    numbers.push_back(static_cast<int64_t>(row * 0x9E3779B97F4A7C15U));
    reals.push_back(std::bit_cast<int64_t>(row % 3 == 0 ? 0.0 : row % 2 == 0 ? 0.25 : -6.0));
    ends.push_back(row % 1000 == 999 ? 1 : 0);
    valid.push_back(row % 5 == 0 ? 0 : 1);
    if (valid.back() == 0) continue;
    validity[row / 8] |= static_cast<uint8_t>(1 << row % 8);
    of_numbers = of_numbers.with({numbers.back(), numbers.back()});
  }
  const DeviceBuffer number = load(runner, numbers), real = load(runner, reals);
  const DeviceBuffer end = load(runner, ends), bits = load(runner, validity);
  const DeviceBuffer byte = load(runner, valid);
  const FieldRange keys{{.values = {.values = number.words(), .validity = bits.as<uint8_t>()}}};
  EXPECT_EQ(range_of(runner, keys, kRows), of_numbers);
  EXPECT_EQ(range_of(runner, keys, 1), kNoRange);  // a NULL
  EXPECT_EQ(range_of(runner, keys, 0), kNoRange);
  // From the bit of 0.25 to behind that of 4, where that of 1 is number 1022 + 52.
  const RealRange of_reals{.values = real.as<int64_t>(), .valid = byte.as<uint8_t>()};
  EXPECT_EQ(range_of(runner, of_reals, kRows), (WordRange{1022 + 50, 1022 + 55}));
  const TieEnds ties{.ends = end.words(), .first = 5500};
  EXPECT_EQ(range_of(runner, ties, kRows - 5500).least, 5999);
  EXPECT_EQ(range_of(runner, ties, 499), kNoRange);
}

TEST_P(ColumnWorkConcurrent, what_is_selected_keeps_its_order) {
  const auto owner = GetParam().make();
  DeviceRunner& runner = *owner;
  constexpr uint64_t kStride = 3;
  for (const uint64_t count : {0, 1, 777, 70'001}) {
    std::vector<uint64_t> flags(count * kStride, 1), values;
    std::vector<uint64_t> places, chosen;
    for (uint64_t at = 0; at < count; ++at) {
      values.push_back(at * at);
      flags[at * kStride] = at % 7 < 3 ? at + 1 : 0;
      if (at % 7 >= 3) continue;
      places.push_back(at);
      chosen.push_back(at * at);
    }
    const DeviceBuffer flag = load(runner, flags), value = load(runner, values);
    const DeviceBuffer selected = load(runner, std::vector<uint64_t>(count));
    const DeviceBuffer chosen_rows = zeroed_word(runner);
    DeviceSelectWork work{.flags = flag.words(),
                          .flag_stride = kStride,
                          .count = count,
                          .selected = selected.words(),
                          .selected_count = chosen_rows.words()};
    for (const auto* expected : {&places, &chosen}) {
      ASSERT_TRUE(runner.select(work).ok());
      ASSERT_EQ(values_of<uint64_t>(runner, chosen_rows, 1)[0], expected->size());
      EXPECT_EQ(values_of<uint64_t>(runner, selected, expected->size()), *expected);
      work.values = value.words();
    }
  }
}

}  // namespace
}  // namespace crossdock::operators
