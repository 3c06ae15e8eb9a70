// The in-cache sorts agree with the standard library's stable sort, whatever the words look like.
#include "data/sorters/word_sort.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::sorters {
namespace {

using Words = std::vector<uint64_t>;

struct Shape {
  std::string name;
  std::function<uint64_t(std::mt19937_64&, int64_t row, int64_t rows)> word;
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"random", [](auto& random, int64_t, int64_t) { return random(); }},
      {"small", [](auto& random, int64_t, int64_t) { return random() % 100; }},
      {"one", [](auto&, int64_t, int64_t) { return uint64_t{42}; }},
      {"ascending", [](auto&, int64_t row, int64_t) { return static_cast<uint64_t>(row) << 20; }},
      {"descending",
       [](auto&, int64_t row, int64_t rows) { return static_cast<uint64_t>(rows - row) << 33; }},
      {"ones and zeros", [](auto& random, int64_t, int64_t) { return -(random() & 1); }},
      // Few high digits, so that the low bits decide within long runs: the insertion sort gives up.
      {"clustered",
       [](auto& random, int64_t, int64_t) { return random() << 56 | random() % 5000; }},
      {"exponential", [](auto& random, int64_t, int64_t) { return random() >> random() % 64; }},
      {"far and near",
       [](auto& random, int64_t row, int64_t) {
         return row == 7 ? ~uint64_t{0} : random() % 3000;
       }},
  };
  return all;
}

const std::vector<int64_t>& sizes() {
  static const std::vector<int64_t> all = {0, 1, 2, 3, 39, 40, 41, 127, 128, 1000, 20'000, 150'000};
  return all;
}

Words make_words(const Shape& shape, int64_t rows) {
  std::mt19937_64 random(static_cast<uint64_t>(rows));
  Words words;
  for (int64_t i = 0; i < rows; ++i) words.push_back(shape.word(random, i, rows));
  return words;
}

TEST(WordSort, SortsWords) {
  for (const Shape& shape : shapes()) {
    for (const int64_t rows : sizes()) {
      Words words = make_words(shape, rows);
      Words expected = words;
      std::sort(expected.begin(), expected.end());
      Words scratch(words.size());
      sort_words(words.data(), rows, scratch.data());
      ASSERT_EQ(words, expected) << shape.name << " " << rows;
    }
  }
}

template <class Carry, class RowLanes>
void expect_stable_pairs() {
  for (const Shape& shape : shapes()) {
    for (const int64_t rows : sizes()) {
      Words words = make_words(shape, rows);
      std::vector<Carry> carry(words.size());
      std::iota(carry.begin(), carry.end(), Carry{0});
      std::vector<Carry> order = carry;
      std::stable_sort(
          order.begin(), order.end(), [&](Carry a, Carry b) { return words[a] < words[b]; });
      Words expected;
      for (const Carry row : order) expected.push_back(words[row]);
      Words scratch_words(words.size());
      std::vector<Carry> scratch_carry(words.size());
      sort_pairs(RowLanes{words.data(), carry.data()},
                 rows,
                 RowLanes{scratch_words.data(), scratch_carry.data()});
      ASSERT_EQ(words, expected) << shape.name << " " << rows;
      ASSERT_EQ(carry, order) << shape.name << " " << rows;
    }
  }
}

TEST(WordSort, SortsPairsStably) { expect_stable_pairs<uint64_t, PairLanes>(); }
TEST(WordSort, SortsReferencesStably) { expect_stable_pairs<uint32_t, RefLanes>(); }

}  // namespace
}  // namespace crossdock::sorters
