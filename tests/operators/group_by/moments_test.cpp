// Moments against sums of powers in long double, and that merging and blocks change nothing.
#include "operators/group_by/moments.hpp"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "operators/group_by/accumulator.hpp"

namespace crossdock::operators {
namespace {

using Reals = std::vector<double>;

HigherMoments expected_of(const Reals& values) {
  long double mean = 0;
  for (const double value : values) mean += value;
  mean /= static_cast<long double>(values.size());
  long double powers[3] = {};
  for (const double value : values) {
    const long double distance = value - mean;
    powers[0] += distance * distance;
    powers[1] += distance * distance * distance;
    powers[2] += distance * distance * distance * distance;
  }
  return {static_cast<int64_t>(values.size()),
          static_cast<double>(mean),
          static_cast<double>(powers[0]),
          static_cast<double>(powers[1]),
          static_cast<double>(powers[2])};
}

void expect_same(const HigherMoments& moments, const HigherMoments& expected) {
  EXPECT_EQ(moments.count, expected.count);
  const double fourths = expected.fourths;
  EXPECT_NEAR(moments.squares, expected.squares, 1e-9 * expected.squares);
  EXPECT_NEAR(moments.cubes, expected.cubes, 1e-9 * std::pow(fourths, 0.75));
  EXPECT_NEAR(moments.fourths, fourths, 1e-9 * fourths);
}

Reals random_values(size_t count, double origin, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> spread(0.5);
  Reals values;
  for (size_t i = 0; i < count; ++i) values.push_back(origin + spread(random));
  return values;
}

TEST(HigherMoments, AreThoseOfAllValuesHoweverTheyAreCut) {
  for (const double origin : {0.0, -3.0, 1e6}) {
    const Reals values = random_values(5'000, origin, 7);
    for (const size_t cut : {size_t{1}, size_t{700}, size_t{4'999}}) {
      HigherMoments first;
      HigherMoments second;
      for (size_t i = 0; i < values.size(); ++i) (i < cut ? first : second).add(values[i]);
      HigherMoments empty;
      first.merge(empty);
      empty.merge(first);
      empty.merge(second);
      expect_same(empty, expected_of(values));
    }
  }
}

TEST(HigherMoments, OfEqualValuesHaveNoShape) {
  HigherMoments left;
  HigherMoments right;
  for (int i = 0; i < 1'000; ++i) (i % 3 == 0 ? left : right).add(0.1);
  left.merge(right);
  for (const Shape shape : {Shape::kSkewness, Shape::kKurtosis, Shape::kKurtosisPop}) {
    EXPECT_FALSE(shape_of(shape, left).has_value());
  }
}

TEST(HigherMoments, OfFewValuesHaveAShapeWhereItIsOne) {
  HigherMoments moments;
  moments.add(1);
  EXPECT_FALSE(shape_of(Shape::kKurtosisPop, moments).has_value());
  moments.add(2);
  EXPECT_NEAR(shape_of(Shape::kKurtosisPop, moments).value(), -2.0, 1e-12);
  EXPECT_FALSE(shape_of(Shape::kSkewness, moments).has_value());
  moments.add(4);
  EXPECT_NEAR(shape_of(Shape::kSkewness, moments).value(), 0.9352195295828243, 1e-12);
  EXPECT_FALSE(shape_of(Shape::kKurtosis, moments).has_value());
}

TEST(MomentsAccumulator, TakesOneGroupByTheBlock) {
  const auto memory = Memory::create(int64_t{1} << 20);
  const Reals values = random_values(3 * kGroupRows + 5, 50, 3);
  std::vector<uint8_t> valid(values.size());
  for (size_t i = 0; i < valid.size(); ++i) valid[i] = i % 7 != 2;
  const std::vector<uint32_t> groups(kGroupRows, 0);
  AccumulatorSpec spec;
  spec.kind = AccumulatorKind::kHigherMoments;
  spec.input = 0;
  spec.form = ValueForm::kReal;
  MomentsAccumulator<HigherMoments> state(*memory, spec);
  ASSERT_TRUE(state.resize(1).ok());
  Reals counted;
  for (size_t at = 0; at < values.size(); at += kGroupRows) {
    const auto rows = static_cast<int32_t>(std::min<size_t>(kGroupRows, values.size() - at));
    const auto* words = reinterpret_cast<const uint64_t*>(values.data() + at);
    const InputLane lane{words, nullptr, valid.data() + at};
    ASSERT_TRUE(state.update({rows, groups.data(), nullptr, &lane}).ok());
    for (int32_t i = 0; i < rows; ++i) {
      if (valid[at + i] != 0) counted.push_back(values[at + i]);
    }
  }
  expect_same(state.moments(0), expected_of(counted));
}

}  // namespace
}  // namespace crossdock::operators
