// What is picked for columns of known shapes, links of known speed and coders of known cost.
#include "data/codecs/scheme_picker.hpp"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::codecs {
namespace {

constexpr CodecRates kRates = {1e-9, 1e-9, 2e-9, 2e-9, 0.5e-9, 1e-9};
constexpr double kSlowLink = 12.5e6;  // 640 ns for a value of 8 bytes

CodecChoice picked(const std::vector<int64_t>& values, double link, const CodecTask& like = {}) {
  CodecTask task = like;
  task.link_bytes_per_s = link;
  return pick_scheme(task, kRates, std::as_bytes(std::span(values)));
}

constexpr int64_t kValues = 100'000;

std::vector<int64_t> values_of(int64_t (*value)(int64_t)) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < kValues; ++i) values.push_back(value(i));
  return values;
}

// Below 1,000, `times` times each.
std::vector<int64_t> noise(int64_t times) {
  std::mt19937_64 random(1);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < kValues; ++i) {
    values.push_back(i % times == 0 ? static_cast<int64_t>(random() % 1000) : values.back());
  }
  return values;
}

TEST(SchemePicker, PicksTheLevelsThatAColumnIsMadeOf) {
  EXPECT_EQ(picked(noise(1), kSlowLink).scheme, (CodecScheme{0, 0}));
  EXPECT_EQ(picked(values_of([](int64_t i) { return 3 * i; }), kSlowLink).scheme,
            (CodecScheme{0, 1}));
  EXPECT_EQ(picked(noise(50), kSlowLink).scheme, (CodecScheme{1, 0}));
  // Keys of orders as TPC-H has them, eight of each 32 numbers, with their lines.
  const CodecChoice orders =
      picked(values_of([](int64_t i) { return i / 4 / 8 * 32 + i / 4 % 8; }), kSlowLink);
  EXPECT_EQ(orders.scheme.deltas, 1);
  EXPECT_GE(orders.scheme.runs, 1);
  EXPECT_GT(orders.ratio, 20);
}

TEST(SchemePicker, LeavesColumnsThatDoNotShrinkAndLinksThatAreFasterThanCoding) {
  std::mt19937_64 random(1);
  std::vector<int64_t> any(10'000);
  for (int64_t& value : any) value = static_cast<int64_t>(random());
  EXPECT_FALSE(picked(any, kSlowLink).pays);
  const std::vector<int64_t> small = noise(1);
  EXPECT_TRUE(picked(small, kSlowLink).pays);
  EXPECT_FALSE(picked(small, 20e9).pays);
  EXPECT_FALSE(picked({}, kSlowLink).pays);
}

TEST(SchemePicker, CountsCodingBesideOrBeforeTheLink) {
  const std::vector<int64_t> small = noise(1);
  CodecTask apart;
  apart.overlaps = false;
  // 4 ns as it is; 0.6 ns of link, and 2 ns of coding apart or 1 ns beside it.
  EXPECT_NEAR(picked(small, 2e9).coded_s, 1e-9, 1e-12);
  EXPECT_NEAR(
      picked(small, 2e9, apart).coded_s, 2e-9 + 4e-9 / picked(small, 2e9, apart).ratio, 1e-12);
  EXPECT_FALSE(picked(small, 4e9, apart).pays);
  apart.cores = 4;
  EXPECT_TRUE(picked(small, 4e9, apart).pays);
}

}  // namespace
}  // namespace crossdock::codecs
