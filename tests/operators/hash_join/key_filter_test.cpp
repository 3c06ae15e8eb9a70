// A filter never drops a build key, and drops nearly all others.
#include "operators/hash_join/key_filter.hpp"

#include <tuple>

#include <gtest/gtest.h>

#include "operators/hash_join/sorted_rows.hpp"

namespace crossdock::operators {
namespace {

using namespace join_test;

KeyFilter filled(const KeyPlan& keys, const WordRows& build, int bits, Memory& memory) {
  const SortedRows rows(build, bits, 2, false);
  auto filter = KeyFilter::create(keys, build.size(), bits, memory);
  EXPECT_TRUE(filter.ok()) << filter.error().message;
  for (int index = 0; index < rows.part_count(); ++index) {
    const auto lists = rows.part(index);
    filter.value().fill_partition(index, lists.data(), static_cast<int>(lists.size()));
  }
  return std::move(filter.value());
}

// How many of `words` pass; what `test` and `select` say must be the same.
int32_t passing(const KeyFilter& filter, std::vector<uint64_t> words) {
  const auto count = static_cast<int32_t>(words.size());
  std::vector<uint8_t> keep(words.size(), 0xEE);
  const int32_t passed = filter.test(words.data(), count, keep.data());
  std::vector<uint64_t> expected_words;
  std::vector<uint64_t> expected_carry;
  std::vector<uint64_t> carry;
  for (int32_t i = 0; i < count; ++i) {
    carry.push_back(static_cast<uint64_t>(i) * 3);
    if (keep[i] == 0) continue;
    EXPECT_EQ(keep[i], 1);
    expected_words.push_back(words[i]);
    expected_carry.push_back(carry[i]);
  }
  EXPECT_EQ(passed, static_cast<int32_t>(expected_words.size()));
  EXPECT_EQ(filter.select({words.data(), carry.data(), count}), passed);
  words.resize(static_cast<size_t>(passed));
  carry.resize(static_cast<size_t>(passed));
  EXPECT_EQ(words, expected_words);
  EXPECT_EQ(carry, expected_carry);
  return passed;
}

class KeyFilterTest : public testing::TestWithParam<std::tuple<int64_t, int>> {};
INSTANTIATE_TEST_SUITE_P(Sizes,
                         KeyFilterTest,
                         testing::Combine(testing::Values(1, 10, 1'000, 50'000),
                                          testing::Values(0, 1, 5, 11)));

TEST_P(KeyFilterTest, KeepsBuildKeysAndDropsMostOthers) {
  const auto [count, bits] = GetParam();
  const auto memory = Memory::create(int64_t{64} << 20);
  WordRows build;
  std::vector<uint64_t> others;
  for (int64_t i = 0; i < count; ++i) {
    build.words.push_back(word_of(static_cast<uint64_t>(i)));
    others.push_back(word_of(static_cast<uint64_t>(i + count)));
  }
  const KeyFilter filter = filled(KeyPlan{}, build, bits, *memory);
  EXPECT_EQ(passing(filter, build.words), count);
  EXPECT_LE(passing(filter, others), 2 + count / 20) << "5 % false positives at most";
}

TEST(KeyFilter, IsExactForDenseWords) {
  const auto memory = Memory::create(int64_t{64} << 20);
  for (const int range_bits : {1, 5, 6, 7, 12, 18}) {
    KeyPlan keys;
    keys.mode = KeyMode::kDense;
    keys.range_bits = range_bits;
    WordRows build;
    std::vector<uint64_t> others;
    for (uint64_t key = 0; key < uint64_t{1} << range_bits; ++key) {
      const uint64_t word = key << (64 - range_bits);
      (key % 3 == 0 ? build.words : others).push_back(word);
    }
    for (const int bits : {0, 1, 4}) {
      if (bits > range_bits) continue;
      const KeyFilter filter = filled(keys, build, bits, *memory);
      EXPECT_EQ(passing(filter, build.words), build.size());
      EXPECT_EQ(passing(filter, others), 0);
    }
  }
}

TEST(KeyFilter, OfNoKeysDropsEverything) {
  const auto memory = Memory::create(int64_t{64} << 20);
  Random random(1);
  const KeyFilter filter = filled(KeyPlan{}, {}, 3, *memory);
  EXPECT_EQ(passing(filter, random_rows(1'000, ~uint64_t{0}, random).words), 0);
}

TEST(KeyFilter, TakesTheBytesItSays) {
  const auto memory = Memory::create(int64_t{64} << 20);
  for (const int64_t rows : {1, 1'000, 300'000}) {
    const auto filter = KeyFilter::create(KeyPlan{}, rows, 4, *memory);
    ASSERT_TRUE(filter.ok());
    EXPECT_GE(memory->used_bytes(), KeyFilter::bytes_for(KeyPlan{}, rows, 4));
    EXPECT_LE(KeyFilter::bytes_for(KeyPlan{}, rows, 4), 4 * rows + 1'024);
  }
}

}  // namespace
}  // namespace crossdock::operators
