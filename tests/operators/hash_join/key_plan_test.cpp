// Which keys pack into words, and that words say exactly what the keys say.
#include "operators/hash_join/key_plan.hpp"

#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "table/random_columns.hpp"

namespace crossdock::operators {
namespace {

using namespace arrow_test;

constexpr uint64_t kSeed = 7;

Columns columns_of(const std::vector<std::string>& formats, bool nullable = true) {
  Random random(1);
  Columns columns;
  for (const std::string& format : formats) {
    const double nulls = nullable ? 0.2 : 0.0;
    columns.push_back({"c" + std::to_string(columns.size()),
                       random_array(format, 1'000, nulls, random),
                       nullable});
  }
  return columns;
}

JoinSpec key_spec_of(size_t keys) {
  JoinSpec spec;
  for (size_t i = 0; i < keys; ++i) spec.keys.emplace_back(i, i);
  return spec;
}

KeyPlan must_plan(const JoinSpec& spec, const Schema& left, const Schema& right) {
  auto plan = plan_keys(spec, left, right, kSeed);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return std::move(plan.value());
}

bool packs(const std::vector<std::string>& left, const std::vector<std::string>& right) {
  const JoinSpec spec = key_spec_of(left.size());
  return must_plan(spec, *make_schema_ptr(columns_of(left)), *make_schema_ptr(columns_of(right)))
      .packs_exactly;
}

bool packs(const std::vector<std::string>& formats) { return packs(formats, formats); }

TEST(KeyPlan, PacksWhatFitsAWord) {
  for (const char* format : {"b", "c", "S", "i", "l", "L", "f", "g", "tdD", "tsu:", "ttm", "tDs"}) {
    EXPECT_TRUE(packs({format})) << format;
  }
  EXPECT_TRUE(packs({"i", "i"}));
  EXPECT_TRUE(packs({"s", "S", "i"}));
  EXPECT_TRUE(packs({"b", "i", "c"}));
  EXPECT_TRUE(packs({"i"}, {"l"}));
}

TEST(KeyPlan, HashesWhatDoesNotFit) {
  for (const char* format : {"u", "vu", "z", "d:12,2"}) EXPECT_FALSE(packs({format})) << format;
  EXPECT_FALSE(packs({"l", "b"}));
  EXPECT_FALSE(packs({"i", "i", "c"}));
  EXPECT_FALSE(packs({"i", "c"}, {"l", "c"}));
  EXPECT_FALSE(packs({"L"}, {"l"})) << "their words overlap, their values do not";
  EXPECT_FALSE(packs({"f", "i"})) << "a float needs the whole word";
}

TEST(KeyPlan, NullsThatMatchNeedHashes) {
  JoinSpec spec = key_spec_of(1);
  spec.null_equals_null = true;
  const auto nullable = make_schema_ptr(columns_of({"i"}));
  const auto never_null = make_schema_ptr(columns_of({"i"}, false));
  EXPECT_FALSE(must_plan(spec, *nullable, *never_null).packs_exactly);
  EXPECT_TRUE(must_plan(spec, *never_null, *never_null).packs_exactly);
}

TEST(KeyPlan, RefusesNoKeysAndKeysThatDoNotCompare) {
  const auto left = make_schema_ptr(columns_of({"i", "u"}));
  const auto none = plan_keys(key_spec_of(0), *left, *left, kSeed);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  JoinSpec crossed;
  crossed.keys = {{0, 1}};
  const auto unlike = plan_keys(crossed, *left, *left, kSeed);
  ASSERT_FALSE(unlike.ok());
  EXPECT_EQ(unlike.error().code, ErrorCode::kKeyTypeMismatch);
  for (const char* part : {"left.c0", "right.c1", "int32", "utf8"}) {
    EXPECT_NE(unlike.error().message.find(part), std::string::npos) << unlike.error().message;
  }
}

struct Encoded {
  std::vector<uint64_t> words;
  std::vector<uint8_t> live;
  int32_t live_count = 0;
};

Encoded encode(const KeyPlan& plan, const Batch& batch, Side side) {
  const auto rows = static_cast<int32_t>(batch.rows);
  Encoded out{std::vector<uint64_t>(batch.rows), std::vector<uint8_t>(batch.rows, 0xEE), 0};
  KeyEncoder encoder(plan, *batch.schema, side);
  out.live_count = encoder.encode(batch, 0, rows, out.words.data(), out.live.data());
  if (out.live_count == rows) out.live.assign(out.live.size(), 1);
  return out;
}

TEST(KeyEncoder, EqualWordsAreEqualKeysWhereKeysPack) {
  for (const auto& formats : std::vector<std::vector<std::string>>{
           {"c"}, {"l"}, {"b", "c"}, {"c", "c"}, {"s", "c", "i"}, {"g"}}) {
    const Batch batch = make_batch(columns_of(formats, false));
    const KeyPlan plan = must_plan(key_spec_of(formats.size()), *batch.schema, *batch.schema);
    const Encoded encoded = encode(plan, batch, Side::kLeft);
    EXPECT_EQ(encoded.live_count, batch.rows);
    std::map<uint64_t, std::string> key_of;
    std::map<std::string, uint64_t> word_of;
    for (int64_t row = 0; row < batch.rows; ++row) {
      std::string key;
      for (size_t c = 0; c < formats.size(); ++c) {
        key += cell(batch.schema->fields[c].type, batch.columns[c], row) + "|";
      }
      const uint64_t word = encoded.words[row];
      EXPECT_EQ(key_of.emplace(word, key).first->second, key);
      EXPECT_EQ(word_of.emplace(key, word).first->second, word);
    }
  }
}

TEST(KeyEncoder, WordsGiveKeysBack) {
  const Batch batch = make_batch(columns_of({"s", "S", "i"}, false));
  const KeyPlan plan = must_plan(key_spec_of(3), *batch.schema, *batch.schema);
  Encoded encoded = encode(plan, batch, Side::kRight);
  std::vector<uint64_t> keys(batch.rows);
  KeyEncoder encoder(plan, *batch.schema, Side::kRight);
  encoder.load_keys(batch, 0, static_cast<int32_t>(batch.rows), keys.data());
  plan.words_to_keys(encoded.words.data(), static_cast<int32_t>(batch.rows));
  EXPECT_EQ(encoded.words, keys);
  for (int64_t row = 0; row < batch.rows; ++row) {
    EXPECT_EQ(static_cast<int16_t>(keys[row]), batch.columns[0].data<int16_t>()[row]);
    EXPECT_EQ(static_cast<uint16_t>(keys[row] >> 16), batch.columns[1].data<uint16_t>()[row]);
    EXPECT_EQ(static_cast<int32_t>(keys[row] >> 32), batch.columns[2].data<int32_t>()[row]);
  }
}

TEST(KeyEncoder, SidesOfUnlikeWidthMeet) {
  const Batch narrow = make_batch({{"k", fixed<int8_t>("c", {-1, 5, 127, -128})}});
  const Batch wide = make_batch({{"k", fixed<int64_t>("l", {-1, 5, 127, -128, 255, 261})}});
  const KeyPlan plan = must_plan(key_spec_of(1), *narrow.schema, *wide.schema);
  const Encoded left = encode(plan, narrow, Side::kLeft);
  const Encoded right = encode(plan, wide, Side::kRight);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(left.words[i], right.words[i]);
  EXPECT_NE(right.words[4], left.words[0]) << "255 has the low bits of -1";
  EXPECT_NE(right.words[5], left.words[1]);
}

TEST(KeyEncoder, RowsWithANullAnywhereAreDead) {
  const Batch batch = make_batch(columns_of({"i", "u", "b"}));
  JoinSpec spec = key_spec_of(3);
  for (const bool match : {false, true}) {
    spec.null_equals_null = match;
    const KeyPlan plan = must_plan(spec, *batch.schema, *batch.schema);
    const Encoded encoded = encode(plan, batch, Side::kLeft);
    int32_t live = 0;
    for (int64_t row = 0; row < batch.rows; ++row) {
      bool any_null = false;
      for (const ColumnView& column : batch.columns) any_null |= !column.is_valid(row);
      EXPECT_EQ(encoded.live[row], match || !any_null ? 1 : 0);
      live += encoded.live[row];
    }
    EXPECT_EQ(encoded.live_count, live);
  }
}

TEST(KeyEncoder, NullsInsideADictionaryAreNulls) {
  const Array values = strings("u", {"x", std::nullopt, "y"});
  const Batch batch = make_batch({{"k", encoded("c", {0, 1, 2, std::nullopt, 1}, values)}});
  const KeyPlan plan = must_plan(key_spec_of(1), *batch.schema, *batch.schema);
  EXPECT_EQ(encode(plan, batch, Side::kLeft).live, (std::vector<uint8_t>{1, 0, 1, 0, 0}));
}

TEST(KeyEncoder, DenseWordsCountFromTheSmallestKey) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  const Batch batch = make_batch({{"k", fixed<int64_t>("l", {-3, -2, 4, 5, std::nullopt, kMin})}});
  KeyPlan plan = must_plan(key_spec_of(1), *batch.schema, *batch.schema);
  plan.mode = KeyMode::kDense;
  plan.range_min = -3;
  plan.range_bits = 3;
  plan.limits = {.known = true, .empty = false, .min = -3, .max = 4};
  Encoded encoded = encode(plan, batch, Side::kLeft);
  EXPECT_EQ(encoded.live, (std::vector<uint8_t>{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(encoded.live_count, 3);
  EXPECT_EQ(encoded.words[0] >> 61, 0U);
  EXPECT_EQ(encoded.words[1] >> 61, 1U);
  EXPECT_EQ(encoded.words[2] >> 61, 7U);
  plan.words_to_keys(encoded.words.data(), 3);
  EXPECT_EQ(static_cast<int64_t>(encoded.words[0]), -3);
  EXPECT_EQ(static_cast<int64_t>(encoded.words[2]), 4);
}

TEST(KeyEncoder, NothingMatchesWhereTheSidesDoNotOverlap) {
  const Batch batch = make_batch({{"k", fixed<int32_t>("i", {1, 2, 3})}});
  KeyPlan plan = must_plan(key_spec_of(1), *batch.schema, *batch.schema);
  plan.limits = {.known = true, .empty = true};
  EXPECT_EQ(encode(plan, batch, Side::kLeft).live_count, 0);
}

}  // namespace
}  // namespace crossdock::operators
