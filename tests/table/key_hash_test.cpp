// Words and hashes: equal for equal keys of any pair of types that compare; spread otherwise.
#include "table/key_hash.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "table/key_columns.hpp"
#include "table/row_store.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

constexpr uint64_t kHashSeed = 0xABCDEF;

struct Keyed {
  explicit Keyed(const KeyColumn& column)
      : batch(make_batch({{"k", sliced(column.array, kBegin, rows_of(column))}})),
        type(batch.schema->fields[0].type),
        keys(column.keys.begin() + kBegin, column.keys.end()) {}

  static constexpr int64_t kBegin = 5;  // rows read at an offset
  static int64_t rows_of(const KeyColumn& column) {
    return static_cast<int64_t>(column.keys.size()) - kBegin;
  }
  int32_t rows() const { return static_cast<int32_t>(keys.size()); }
  const ColumnView& view() const { return batch.columns[0]; }

  Batch batch;
  DataType type;
  std::vector<std::optional<std::string>> keys;
};

std::vector<uint64_t> hashes_of(const Keyed& keyed, const KeyKind& kind) {
  std::vector<uint64_t> hashes(keyed.keys.size());
  KeyHasher hasher(keyed.type, kind, kHashSeed);
  // In two calls, so that a block does not always start at row 0.
  const int32_t half = keyed.rows() / 2;
  hasher.hash(keyed.view(), 0, half, false, hashes.data());
  hasher.hash(keyed.view(), half, keyed.rows() - half, false, hashes.data() + half);
  return hashes;
}

TEST(KeyHasher, EqualKeysOfAnyPairOfTypesHaveEqualHashes) {
  for (const double nulls : {0.0, 0.2}) {
    Random random(1);
    for (const KeyFamily& family : key_families(900, nulls, random)) {
      for (const KeyColumn& left : family.columns) {
        for (const KeyColumn& right : family.columns) {
          const Keyed l(left);
          const Keyed r(right);
          auto kind = common_key_kind(l.type, r.type);
          ASSERT_TRUE(kind.ok()) << kind.error().message;
          std::map<std::string, uint64_t> seen;
          std::set<uint64_t> different;
          for (const Keyed* side : {&l, &r}) {
            const auto hashes = hashes_of(*side, kind.value());
            for (size_t i = 0; i < hashes.size(); ++i) {
              const std::string key = side->keys[i] ? "=" + *side->keys[i] : "null";
              ASSERT_EQ(seen.emplace(key, hashes[i]).first->second, hashes[i])
                  << left.name << " " << right.name << " key " << key;
              different.insert(hashes[i]);
            }
          }
          // Keys that no value of the other side can equal may share a hash; few do.
          EXPECT_GE(different.size() + 4, seen.size()) << left.name << " " << right.name;
        }
      }
    }
  }
}

TEST(KeyLoader, ExactWordsAreEqualOnlyForEqualKeys) {
  Random random(2);
  for (const KeyFamily& family : key_families(900, 0.1, random)) {
    for (const KeyColumn& left : family.columns) {
      for (const KeyColumn& right : family.columns) {
        const Keyed l(left);
        const Keyed r(right);
        const KeyKind kind = common_key_kind(l.type, r.type).value();
        if (!is_exact64(kind)) continue;
        std::map<std::string, uint64_t> by_key;
        std::map<uint64_t, std::string> by_word;
        for (const Keyed* side : {&l, &r}) {
          KeyLoader loader(side->type, kind);
          std::vector<uint64_t> words(side->keys.size());
          std::vector<uint8_t> valid(side->keys.size(), 1);
          loader.load(side->view(), 0, side->rows(), words.data());
          const bool nulls = loader.load_valid(side->view(), 0, side->rows(), valid.data());
          for (size_t i = 0; i < words.size(); ++i) {
            ASSERT_EQ(valid[i] != 0, side->keys[i].has_value());
            ASSERT_TRUE(nulls || valid[i] != 0);
            if (valid[i] == 0) continue;
            ASSERT_EQ(by_key.emplace(*side->keys[i], words[i]).first->second, words[i]);
            ASSERT_EQ(by_word.emplace(words[i], *side->keys[i]).first->second, *side->keys[i]);
          }
        }
      }
    }
  }
}

TEST(KeyHasher, CombinesColumnsInOrder) {
  Random random(3);
  const auto family = key_families(400, 0.1, random)[0];
  const Keyed a(family.columns[2]);
  const Keyed b(family.columns[3]);
  const KeyKind kind{KeyForm::kInteger64};
  const auto combine = [&](const Keyed& first, const Keyed& second) {
    auto hashes = hashes_of(first, kind);
    KeyHasher hasher(second.type, kind, kHashSeed);
    hasher.hash(second.view(), 0, second.rows(), true, hashes.data());
    return hashes;
  };
  const auto ab = combine(a, b);
  const auto ba = combine(b, a);
  std::map<std::pair<std::string, std::string>, uint64_t> seen;
  for (size_t i = 0; i < ab.size(); ++i) {
    const auto pair = std::make_pair(a.keys[i].value_or("null"), b.keys[i].value_or("null"));
    EXPECT_EQ(seen.emplace(pair, ab[i]).first->second, ab[i]);
    EXPECT_TRUE(pair.first == pair.second || ab[i] != ba[i]);
  }
  std::set<uint64_t> different;
  for (const auto& [pair, hash] : seen) different.insert(hash);
  EXPECT_EQ(different.size(), seen.size());
}

// Chi-squared of the hashes' top and bottom 8 bits stays near its expectation of 255.
void expect_spread(const Array& array) {
  const Batch batch = make_batch({{"k", array}});
  const DataType& type = batch.schema->fields[0].type;
  const KeyKind kind = common_key_kind(type, type).value();
  KeyHasher hasher(type, kind, kHashSeed);
  std::vector<uint64_t> hashes(batch.rows);
  for (int64_t begin = 0; begin < batch.rows; begin += kMaxKeyRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, batch.rows - begin));
    hasher.hash(batch.columns[0], begin, count, false, hashes.data() + begin);
  }
  for (const int shift : {0, 20, 40, 56}) {
    std::vector<double> bins(256);
    for (const uint64_t hash : hashes) ++bins[(hash >> shift) & 255];
    const double expected = static_cast<double>(batch.rows) / 256;
    double chi = 0;
    for (const double bin : bins) chi += (bin - expected) * (bin - expected) / expected;
    EXPECT_LT(chi, 400) << type_name(type) << " bits from " << shift;
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end()) << type_name(type);
}

TEST(KeyHasher, SpreadsSequentialKeys) {
  constexpr int64_t kRows = 50000;
  Optionals<int64_t> numbers;
  Optionals<int64_t> strided;
  Optionals<double> floats;
  Optionals<std::string> short_strings;
  Optionals<std::string> long_strings;
  for (int64_t i = 0; i < kRows; ++i) {
    numbers.push_back(i);
    strided.push_back(i << 32);
    floats.push_back(static_cast<double>(i));
    short_strings.push_back(std::to_string(i));
    long_strings.push_back("Customer#" + std::to_string(1000000000 + i));
  }
  expect_spread(fixed<int64_t>("l", numbers));
  expect_spread(fixed<int64_t>("l", strided));
  expect_spread(fixed<double>("g", floats));
  for (const std::string format : {"u", "U", "vu"}) {
    expect_spread(strings(format, short_strings));
    expect_spread(strings(format, long_strings, 1 << 20));
  }
}

TEST(KeyHasher, TheLengthOfATextCounts) {
  Optionals<std::string> zeros;
  for (int64_t bytes = 0; bytes <= 40; ++bytes) zeros.push_back(std::string(bytes, '\0'));
  for (const std::string format : {"z", "Z", "vz"}) {
    const Batch batch = make_batch({{"k", strings(format, zeros)}});
    std::vector<uint64_t> hashes(zeros.size());
    KeyHasher(batch.schema->fields[0].type, KeyKind{KeyForm::kBytes}, kHashSeed)
        .hash(batch.columns[0], 0, static_cast<int32_t>(zeros.size()), false, hashes.data());
    EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), zeros.size()) << format;
  }
}

TEST(KeyHasher, NullsInsideADictionaryAreNulls) {
  const Array values = strings("u", {"x", std::nullopt});
  const Batch encoded_batch = make_batch({{"k", encoded("c", {0, 1, std::nullopt}, values)}});
  const Batch plain = make_batch({{"k", strings("vu", {"x", std::nullopt, std::nullopt})}});
  const KeyKind kind{KeyForm::kBytes};
  std::vector<uint64_t> left(3);
  std::vector<uint64_t> right(3);
  KeyHasher(encoded_batch.schema->fields[0].type, kind, 1)
      .hash(encoded_batch.columns[0], 0, 3, false, left.data());
  KeyHasher(plain.schema->fields[0].type, kind, 1)
      .hash(plain.columns[0], 0, 3, false, right.data());
  EXPECT_EQ(left, right);
  EXPECT_EQ(left[1], left[2]);
}

}  // namespace
}  // namespace crossdock
