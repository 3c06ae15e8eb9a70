// Errors of sketches, and that neither order nor merging changes them.
#include "operators/group_by/sketches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace crossdock::operators {
namespace {

using Words = std::vector<uint64_t>;
using Reals = std::vector<double>;

// Feeds values to one group, block by block.
void feed(Accumulator& state, const Words& words) {
  ASSERT_TRUE(state.resize(1).ok());
  const std::vector<uint32_t> groups(kGroupRows, 0);
  for (size_t at = 0; at < words.size(); at += kGroupRows) {
    const InputLane lane{words.data() + at, nullptr, nullptr};
    const auto rows = static_cast<int32_t>(std::min<size_t>(kGroupRows, words.size() - at));
    ASSERT_TRUE(state.update({rows, groups.data(), nullptr, &lane}).ok());
  }
}

void merge_one(Accumulator& into, const Accumulator& from) {
  const uint32_t group = 0;
  ASSERT_TRUE(into.resize(1).ok());
  ASSERT_TRUE(into.merge(from, {1, &group, &group}).ok());
}

Words words_of(const Reals& values) {
  Words words;
  for (const double value : values) words.push_back(__builtin_bit_cast(uint64_t, value));
  return words;
}

TEST(DistinctSketch, EstimatesWithinFourStandardErrors) {
  const auto memory = Memory::create(int64_t{64} << 20);
  std::mt19937_64 random(3);
  for (const int64_t distinct : {0, 1, 64, 192, 193, 1'000, 20'000, 300'000}) {
    Words hashes;
    for (int64_t i = 0; i < distinct; ++i) hashes.push_back(random());
    DistinctSketchAccumulator one(*memory, 0);
    feed(one, hashes);
    const double bound = distinct <= DistinctSketchAccumulator::kSparseHashes
                           ? 0
                           : 4 * 0.016 * static_cast<double>(distinct);
    EXPECT_NEAR(static_cast<double>(one.count(0)), static_cast<double>(distinct), bound);
    DistinctSketchAccumulator left(*memory, 0);
    DistinctSketchAccumulator right(*memory, 0);
    feed(left, Words(hashes.begin(), hashes.begin() + distinct / 3));
    feed(right, Words(hashes.begin() + distinct / 4, hashes.end()));
    merge_one(right, left);
    EXPECT_EQ(right.count(0), one.count(0));
  }
}

TEST(QuantileSketch, StaysWithinItsErrorAndTheSameWhenMerged) {
  const auto memory = Memory::create(int64_t{64} << 20);
  const AccumulatorSpec spec{AccumulatorKind::kQuantileSketch, 0, ValueForm::kReal, 1, 0};
  std::mt19937_64 random(4);
  for (const int64_t count : {1, 2, 64, 512, 513, 1'500, 50'000}) {
    Reals values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(std::exp(static_cast<double>(random() % 2'000) / 100.0 - 10));
    }
    QuantileSketchAccumulator one(*memory, spec);
    feed(one, words_of(values));
    QuantileSketchAccumulator left(*memory, spec);
    QuantileSketchAccumulator right(*memory, spec);
    feed(left, words_of(Reals(values.begin(), values.begin() + count / 5)));
    feed(right, words_of(Reals(values.begin() + count / 5, values.end())));
    merge_one(left, right);
    std::sort(values.begin(), values.end());
    for (const double q : {0.0, 0.01, 0.5, 0.9, 1.0}) {
      const double place = q * static_cast<double>(count - 1);
      const auto rank = static_cast<int64_t>(place);
      const double low = values[rank];
      const double high = values[std::min(rank + 1, count - 1)];
      const double exact = low + (high - low) * (place - static_cast<double>(rank));
      EXPECT_NEAR(one.quantile(0, q), exact, exact / 1024 + 1e-300) << count << " " << q;
      EXPECT_EQ(one.quantile(0, q), left.quantile(0, q));
    }
  }
}

// The exact value, from values as they come and from parts of them, also where memory of other groups is used again.
TEST(QuantileValues, AreThoseOfSortedValuesHoweverTheyCome) {
  const auto memory = Memory::create(int64_t{64} << 20);
  AccumulatorSpec spec{AccumulatorKind::kQuantileValues, 0, ValueForm::kReal, 1, 0};
  spec.shares = {1.0, 0.0, 0.01, 0.5, 0.9};
  std::mt19937_64 random(4);
  const auto one = make_quantile_values(*memory, spec);
  for (const int64_t count : {1, 2, 3, 4, 5, 64, 65, 50'000}) {
    Reals values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(static_cast<int64_t>(random() % 2'000)) - 1000.5);
    }
    one->clear();
    feed(*one, words_of(values));
    const auto left = make_quantile_values(*memory, spec);
    const auto right = make_quantile_values(*memory, spec);
    feed(*left, words_of(Reals(values.begin(), values.begin() + count / 5)));
    feed(*right, words_of(Reals(values.begin() + count / 5, values.end())));
    merge_one(*left, *right);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(one->count(0), count);
    for (const double q : spec.shares) {
      const double place = q * static_cast<double>(count - 1);
      const auto rank = static_cast<int64_t>(place);
      const double low = values[rank];
      const double high = values[std::min(rank + 1, count - 1)];
      EXPECT_EQ(one->quantile(0, q), low + (high - low) * (place - static_cast<double>(rank)));
      EXPECT_EQ(one->quantile(0, q), left->quantile(0, q));
      const auto discrete = static_cast<uint64_t>(one->discrete_quantile(0, q));
      const double least = std::ceil(q * static_cast<double>(count));
      EXPECT_EQ(__builtin_bit_cast(double, discrete),
                values[std::max<int64_t>(static_cast<int64_t>(least), 1) - 1]);
    }
  }
}

TEST(QuantileValues, HaveNanAboveAllNumbersAndOneZero) {
  const auto memory = Memory::create(int64_t{64} << 20);
  AccumulatorSpec spec{AccumulatorKind::kQuantileValues, 0, ValueForm::kReal, 1, 0};
  spec.shares = {0, 0.25, 0.5, 0.75};
  const auto values = make_quantile_values(*memory, spec);
  const double infinite = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  feed(*values, words_of({-nan, infinite, -0.0, -infinite, nan}));
  EXPECT_EQ(values->quantile(0, 0), -infinite);
  EXPECT_FALSE(std::signbit(values->quantile(0, 0.25)));
  EXPECT_EQ(values->quantile(0, 0.5), infinite);
  EXPECT_TRUE(std::isnan(values->quantile(0, 0.75)));
}

// As doubles, distances beyond 2^53 would be rounded to their neighbours.
TEST(QuantileSketch, KeepsFewInstantsExactlyHoweverFarTheyLieApart) {
  const auto memory = Memory::create(int64_t{64} << 20);
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();
  AccumulatorSpec spec{AccumulatorKind::kQuantileSketch, 0, ValueForm::kSigned, 1, kLeast};
  spec.is_instant = true;
  const auto median = [&](const std::vector<int64_t>& instants) {
    QuantileSketchAccumulator sketch(*memory, spec);
    feed(sketch, Words(instants.begin(), instants.end()));
    return sketch.instant(0, 0.5, 1);
  };
  EXPECT_EQ(median({-1}), -1);
  EXPECT_EQ(median({kGreatest}), kGreatest);
  EXPECT_EQ(median({kGreatest, kGreatest - 2}), kGreatest - 1);
  EXPECT_EQ(median({kLeast, -1, kGreatest}), -1);
  const int64_t middle = median(std::vector<int64_t>(100, kGreatest - 5));
  EXPECT_EQ(middle, kGreatest - 5) << "no result is beyond the greatest instant";
}

TEST(QuantileSketch, LiesBetweenValuesWhoseDistanceIsInfinite) {
  const auto memory = Memory::create(int64_t{64} << 20);
  const AccumulatorSpec spec{AccumulatorKind::kQuantileSketch, 0, ValueForm::kReal, 1, 0};
  QuantileSketchAccumulator sketch(*memory, spec);
  feed(sketch, words_of({-1e308, 1e308}));
  EXPECT_EQ(sketch.quantile(0, 0.5), 0);
}

TEST(ExactSum, IsTheRoundedSumInAnyOrder) {
  const auto memory = Memory::create(int64_t{64} << 20);
  std::mt19937_64 random(5);
  Reals values = {5e-324, 5e-324, -5e-324, 1e-310, 1.7e308, -1.7e308};
  for (int i = 0; i < 3'000; ++i) {
    const auto exponent = static_cast<int>(random() % 600) - 300;
    const double value = std::ldexp(static_cast<double>(random()), exponent);
    values.push_back(value);
    values.push_back(-value);
  }
  values.push_back(0.1);
  for (int round = 0; round < 3; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    ExactSumAccumulator sum(*memory, 0);
    feed(sum, words_of(values));
    EXPECT_EQ(sum.sum(0), 0.1);  // what is left beside it is too small to matter
  }
  ExactSumAccumulator infinite(*memory, 0);
  feed(infinite, words_of({HUGE_VAL, 1.0}));
  EXPECT_EQ(infinite.sum(0), HUGE_VAL);
  feed(infinite, words_of({-HUGE_VAL}));
  EXPECT_TRUE(std::isnan(infinite.sum(0)));
}

TEST(ExactSum, RoundsToEven) {
  const auto memory = Memory::create(int64_t{1} << 20);
  const double ulp = std::ldexp(1.0, -52);
  for (const auto& [rest, expected] :
       {std::pair(ulp / 2, 1.0), std::pair(ulp * 0.75, 1.0 + ulp), std::pair(-ulp / 8, 1.0)}) {
    ExactSumAccumulator sum(*memory, 0);
    feed(sum, words_of({1.0, rest}));
    EXPECT_EQ(sum.sum(0), expected);
    ExactSumAccumulator negative(*memory, 0);
    feed(negative, words_of({-rest, -1.0}));
    EXPECT_EQ(negative.sum(0), -expected);
  }
}

}  // namespace
}  // namespace crossdock::operators
