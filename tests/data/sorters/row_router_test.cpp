// Where rows go: residues, hashes that agree between types, numbers, ranges.
#include "data/sorters/row_router.hpp"

#include <map>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/sorters/decimal_words.hpp"
#include "data/sorters/floor_modulo.hpp"
#include "data/sorters/row_filter.hpp"
#include "table/random_columns.hpp"

namespace crossdock::sorters {
namespace {

using arrow_test::Array;
using arrow_test::encoded;
using arrow_test::fixed;
using arrow_test::make_batch;
using arrow_test::Optionals;
using arrow_test::strings;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Numbers = std::vector<uint16_t>;

Numbers route(const Batch& batch, RouteSpec spec) {
  auto router = RowRouter::make(batch.schema, std::move(spec));
  if (!router.ok()) {
    ADD_FAILURE() << router.error().message;
    return {};
  }
  Numbers numbers(static_cast<size_t>(batch.rows));
  const Status status = router.value()->route(batch, 0, numbers);
  EXPECT_TRUE(status.ok()) << status.error().message;
  return numbers;
}

Numbers route(const Array& keys, RouteSpec spec) {
  spec.keys = {0};
  return route(make_batch({{"k", keys}}), std::move(spec));
}

Error refusal(const Batch& batch, RouteSpec spec) {
  const auto router = RowRouter::make(batch.schema, std::move(spec));
  if (router.ok()) return {};
  return router.error();
}

Array decimals(const std::string& format, const std::vector<std::optional<int64_t>>& values) {
  Optionals<std::array<int64_t, 2>> wide;
  for (const auto& value : values) {
    if (value) {
      wide.push_back(std::array<int64_t, 2>{*value, *value < 0 ? -1 : 0});
    } else {
      wide.push_back(std::nullopt);
    }
  }
  return fixed<std::array<int64_t, 2>>(format, wide);
}

TEST(FloorModulo, residues_are_those_of_a_division) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> keys = {0, 1, UINT64_MAX, uint64_t{1} << 63, (uint64_t{1} << 63) - 1};
  for (int i = 0; i < 200; ++i) keys.push_back(random() >> (random() % 64));
  for (uint32_t divisor = 1; divisor <= 65536; divisor += divisor < 300 ? 1 : 997) {
    const FloorModulo modulo(divisor);
    for (const uint64_t key : keys) {
      ASSERT_EQ(modulo.of_unsigned(key), key % divisor) << key << " mod " << divisor;
      const auto signed_key = static_cast<int64_t>(key);
      const int64_t floor = (signed_key % int64_t{divisor} + int64_t{divisor}) % int64_t{divisor};
      ASSERT_EQ(modulo.of_signed(key), floor) << signed_key << " mod " << divisor;
    }
  }
}

TEST(RowRouter, an_integer_key_goes_to_key_mod_destinations) {
  RouteSpec spec{.destinations = 3};
  EXPECT_THAT(route(fixed<int64_t>("l", {0, 1, 2, 3, -1, -3, -4}), spec),
              ElementsAre(0, 1, 2, 0, 2, 0, 2));
  EXPECT_THAT(route(fixed<int8_t>("c", {5, -1, -128}), spec), ElementsAre(2, 2, 1));
  EXPECT_THAT(route(fixed<uint64_t>("L", {UINT64_MAX, 4}), spec), ElementsAre(UINT64_MAX % 3, 1));
  EXPECT_THAT(route(fixed<uint16_t>("S", {65535}), spec), ElementsAre(0));
  EXPECT_THAT(route(encoded("c", {1, 0, 1}, fixed<int32_t>("i", {-1, 7})), spec),
              ElementsAre(1, 2, 1));
  EXPECT_THAT(route(decimals("d:9,1", {70, -10}), spec), ElementsAre(1, 2)) << "7.0 and -1.0";
  spec.destinations = 4;
  EXPECT_THAT(route(fixed<int32_t>("i", {-1, 5, -8}), spec), ElementsAre(3, 1, 0));
  spec.destinations = 1;
  EXPECT_THAT(route(fixed<int32_t>("i", {-1, 5}), spec), ElementsAre(0, 0));
  spec.destinations = 65536;
  EXPECT_THAT(route(fixed<int32_t>("i", {-1, 65536 + 5}), spec), ElementsAre(65535, 5));
}

TEST(RowRouter, nulls_meet_at_the_destination_of_their_hash) {
  const int counts[] = {7, 1000};
  for (const int count : counts) {
    for (const RouteBy by : {RouteBy::kKey, RouteBy::kHash}) {
      const RouteSpec spec{.by = by, .destinations = count};
      const Numbers first = route(fixed<int64_t>("l", {std::nullopt, 3, std::nullopt}), spec);
      EXPECT_EQ(first[0], first[2]);
      const uint16_t null = first[0];
      EXPECT_EQ(route(decimals("d:9,2", {std::nullopt}), spec)[0], null);
      EXPECT_EQ(route(encoded("i", {std::nullopt, 0}, fixed<int8_t>("c", {std::nullopt})), spec),
                (Numbers{null, null}));
      EXPECT_NE(null, 0);
    }
  }
}

// Columns that a join compares, with the same values in other types.
TEST(RowRouter, equal_keys_of_unlike_types_meet) {
  const Optionals<int64_t> values = {0, 1, -1, 77, 12'000, -12'000, 100, std::nullopt};
  const auto as = [&values]<class T>(T, const char* format) {
    Optionals<T> typed;
    for (const auto& value : values) {
      typed.push_back(value ? std::optional<T>(static_cast<T>(*value)) : std::nullopt);
    }
    return fixed<T>(format, typed);
  };
  const auto scaled = [&values](int64_t factor) {
    Optionals<int64_t> typed;
    for (const auto& value : values)
      typed.push_back(value ? std::optional(*value * factor) : std::nullopt);
    return typed;
  };
  const std::vector<std::vector<Array>> families = {
      {as(int16_t{}, "s"),
       as(int32_t{}, "i"),
       as(int64_t{}, "l"),
       decimals("d:20,0", values),
       decimals("d:20,3", scaled(1000)),
       encoded("S", {0, 1, 2, 3, 4, 5, 6, std::nullopt}, as(int32_t{}, "i"))},
      {as(float{}, "f"), as(double{}, "g")},
      {as(int32_t{}, "tdD"), fixed<int64_t>("tdm", scaled(86'400'000))},
      {as(int64_t{}, "tss:"),
       fixed<int64_t>("tsm:", scaled(1000)),
       fixed<int64_t>("tsn:", scaled(1'000'000'000))},
      {as(int32_t{}, "tts"), as(int32_t{}, "tts"), fixed<int64_t>("ttu", scaled(1'000'000))},
      {as(int64_t{}, "tDs"), fixed<int64_t>("tDu", scaled(1'000'000))},
  };
  for (const auto& family : families) {
    for (const RouteBy by : {RouteBy::kHash, RouteBy::kKey}) {
      const RouteSpec spec{.by = by, .destinations = 1009};
      const Numbers first = route(family[0], spec);
      for (const Array& other : family) EXPECT_EQ(route(other, spec), first) << other.format;
      const std::set<uint16_t> different(first.begin(), first.end());
      EXPECT_GE(different.size(), 7U);
    }
  }
}

TEST(RowRouter, equal_strings_of_all_layouts_meet) {
  const Optionals<std::string> values = {
      "", "a", std::string("a\0", 2), "a text of more than sixteen bytes", std::nullopt};
  const RouteSpec spec{.destinations = 997};
  const Numbers first = route(strings("u", values), spec);
  for (const char* format : {"U", "vu", "z", "Z", "vz"})
    EXPECT_EQ(route(strings(format, values), spec), first);
  EXPECT_EQ(route(encoded("i", {0, 1, 2, 3, 4}, strings("U", values)), spec), first);
  EXPECT_NE(first[1], first[2]);
}

TEST(RowRouter, zeros_and_nans_are_one) {
  const RouteSpec spec{.destinations = 997};
  const Numbers numbers =
      route(fixed<double>("g", {0.0, -0.0, std::nan("1"), -std::nan("2")}), spec);
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_EQ(numbers[2], numbers[3]);
}

TEST(RowRouter, columns_are_distinguished_and_hashes_spread) {
  std::mt19937_64 random(3);
  Optionals<int64_t> one;
  Optionals<int64_t> other;
  for (int64_t i = 0; i < 100'000; ++i) {
    one.push_back(i % 300);
    other.push_back(i / 300);
  }
  const Batch batch =
      make_batch({{"a", fixed<int64_t>("l", one)}, {"b", fixed<int64_t>("l", other)}});
  const RouteSpec spec{.by = RouteBy::kHash, .keys = {0, 1}, .destinations = 10};
  std::map<uint16_t, int> counts;
  for (const uint16_t number : route(batch, spec)) ++counts[number];
  ASSERT_EQ(counts.size(), 10U);
  for (const auto& [number, count] : counts) EXPECT_NEAR(count, 10'000, 600) << number;
}

TEST(RowRouter, partitions_are_assigned_to_destinations) {
  RouteSpec spec{.destinations = 2, .assignment = {1, 1, 0, 1}};
  EXPECT_THAT(route(fixed<int32_t>("i", {0, 1, 2, 3, 4, -2}), spec), ElementsAre(1, 1, 0, 1, 1, 0));
  spec.by = RouteBy::kHash;
  spec.assignment = {1, 1, 1, 1};
  EXPECT_THAT(route(strings("u", {"a", "b", "c"}), spec), Each(1));
}

TEST(RowRouter, one_destination_gets_all) {
  for (const RouteBy by : {RouteBy::kKey, RouteBy::kHash}) {
    const RouteSpec spec{.by = by, .keys = {0}, .destinations = 1};
    EXPECT_THAT(route(fixed<int32_t>("i", {0, -1, 7}), spec), Each(0));
  }
}

TEST(RowRouter, rows_name_their_destination) {
  const RouteSpec spec{.by = RouteBy::kExplicit, .keys = {0}, .destinations = 3};
  EXPECT_THAT(route(fixed<int8_t>("c", {2, 0, 1}), spec), ElementsAre(2, 0, 1));
  EXPECT_THAT(route(encoded("i", {1, 0}, fixed<int64_t>("l", {2, 1})), spec), ElementsAre(1, 2));
  const auto failure = [&spec](const Array& keys) {
    const Batch batch = make_batch({{"to", keys}});
    const auto router = std::move(RowRouter::make(batch.schema, spec).value());
    Numbers numbers(static_cast<size_t>(batch.rows));
    const Status status = router->route(batch, 0, numbers);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kValueOutOfRange);
    return status.error().message;
  };
  Optionals<int64_t> many(5000, 1);
  many[4321] = 3;
  many[4322] = -1;
  EXPECT_THAT(failure(fixed<int64_t>("l", many)),
              HasSubstr("row 4321 names destination 3 in column \"to\""));
  EXPECT_THAT(failure(fixed<int64_t>("l", {0, -1})), HasSubstr("row 1 names destination -1"));
  EXPECT_THAT(failure(fixed<uint64_t>("L", {0, UINT64_MAX})),
              HasSubstr("destination 18446744073709551615"));
  EXPECT_THAT(failure(fixed<int16_t>("s", {0, 2, std::nullopt})),
              HasSubstr("row 2 names destination NULL"));
}

TEST(RowRouter, ranges_begin_with_their_bounds) {
  RouteSpec spec{.by = RouteBy::kRange, .destinations = 4};
  spec.bounds = make_batch({{"k", fixed<int64_t>("l", {-5, 10, 10})}});
  const Array keys = fixed<int32_t>("i", {-6, -5, 9, 10, 11, std::nullopt});
  EXPECT_THAT(route(keys, spec), ElementsAre(0, 1, 1, 3, 3, 3));
  spec.assignment = {3, 2, 1, 0};
  EXPECT_THAT(route(keys, spec), ElementsAre(3, 2, 2, 0, 0, 0));
  spec.assignment = {};
  EXPECT_THAT(route(decimals("d:9,1", {-51, -50, 95, 100, 1000, std::nullopt}), spec),
              ElementsAre(0, 1, 1, 3, 3, 3));
  EXPECT_THAT(route(fixed<uint64_t>("L", {0, UINT64_MAX}), spec), ElementsAre(1, 3));
  spec.bounds = make_batch({{"k", strings("u", {"b", "b but longer than a view", "c"})}});
  const Optionals<std::string> words = {
      "a", "b", "b but longer than a view", "b but longer than a views", "d", std::nullopt};
  EXPECT_THAT(route(strings("vu", words), spec), ElementsAre(0, 1, 2, 2, 3, 3));
  EXPECT_THAT(route(encoded("i", {0, 1, 2, 3, 4, 5}, strings("u", words)), spec),
              ElementsAre(0, 1, 2, 2, 3, 3));
  spec.bounds = make_batch({{"k", fixed<double>("g", {-1.5, 0, std::nullopt})}});
  EXPECT_THAT(route(fixed<float>("f", {-2, -1.5, -0.0F, 3, std::nullopt}), spec),
              ElementsAre(0, 1, 2, 2, 3));
}

TEST(RowRouter, ranges_of_several_columns_are_those_of_a_sort) {
  arrow_test::Random random(4);
  Optionals<int64_t> one;
  Optionals<std::string> other;
  for (int i = 0; i < 500; ++i) {
    one.push_back(static_cast<int64_t>(random() % 5));
    other.push_back(arrow_test::random_text(random));
  }
  const Batch batch = make_batch({{"x", fixed<int64_t>("l", one)},
                                  {"b", strings("u", other)},
                                  {"a", fixed<int64_t>("l", one)}});
  RouteSpec spec{.by = RouteBy::kRange, .keys = {2, 1}, .destinations = 3};
  spec.bounds = make_batch({{"a", fixed<int8_t>("c", {1, 3})}, {"b", strings("vu", {"f", "k"})}});
  const Numbers numbers = route(batch, spec);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto key = std::pair(*one[i], *other[i]);
    const int below = (std::pair(int64_t{1}, std::string("f")) <= key) +
                      (std::pair(int64_t{3}, std::string("k")) <= key);
    ASSERT_EQ(numbers[i], below) << i;
  }
}

TEST(RowRouter, a_part_of_a_sliced_batch_is_routed_like_the_whole) {
  arrow_test::Random random(7);
  for (const std::string& format : arrow_test::plain_formats()) {
    for (const RouteBy by : {RouteBy::kKey, RouteBy::kHash}) {
      const Batch batch = make_batch({{"k", arrow_test::random_array(format, 5000, 0.2, random)}});
      const RouteSpec spec{.by = by, .keys = {0}, .destinations = 61};
      const Numbers all = route(batch, spec);
      Batch part = batch;
      part.rows = 4000;
      part.columns[0] = slice(batch.columns[0], 777, 4000);
      const auto router = std::move(RowRouter::make(batch.schema, spec).value());
      Numbers some(3001);
      ASSERT_TRUE(router->route(part, 333, some).ok());
      EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 1110)) << format;
    }
  }
}

TEST(RowRouter, what_cannot_be_routed_is_refused_with_the_value) {
  const Batch batch = make_batch({{"k", fixed<int64_t>("l", {1})}, {"t", strings("u", {"x"})}});
  EXPECT_EQ(refusal(batch, {.keys = {2}}).code, ErrorCode::kUnknownColumn);
  EXPECT_EQ(refusal(batch, {.keys = {-1}}).code, ErrorCode::kUnknownColumn);
  EXPECT_EQ(refusal(batch, {.keys = {}}).code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refusal(batch, {.keys = {0}, .destinations = 65537}).message, HasSubstr("65537"));
  EXPECT_THAT(refusal(batch, {.keys = {0}, .destinations = 0}).message,
              HasSubstr("0 destinations"));
  EXPECT_EQ(refusal(batch, {.by = RouteBy::kExplicit, .keys = {1}}).code,
            ErrorCode::kUnsupportedType);
  EXPECT_THAT(refusal(batch, {.keys = {0}, .assignment = {0, 0, 0}}).message,
              HasSubstr("power of two"));
  EXPECT_THAT(refusal(batch, {.keys = {0}, .assignment = {0, 1}}).message,
              HasSubstr("partition 1 is assigned to destination 1"));
  RouteSpec ranges{.by = RouteBy::kRange, .keys = {0}, .destinations = 3};
  EXPECT_EQ(refusal(batch, ranges).code, ErrorCode::kInvalidArgument);
  ranges.bounds = make_batch({{"k", fixed<int64_t>("l", {2, 1})}});
  EXPECT_THAT(refusal(batch, ranges).message, HasSubstr("bound 1 comes before"));
  ranges.destinations = 4;
  EXPECT_THAT(refusal(batch, ranges).message, HasSubstr("2 bounds are given for 4 ranges"));
  ranges.destinations = 3;
  ranges.bounds = make_batch({{"k", strings("u", {"a", "b"})}});
  EXPECT_EQ(refusal(batch, ranges).code, ErrorCode::kKeyTypeMismatch);
}

TEST(RowFilter, passes_all_keys_of_any_type_and_few_others) {
  constexpr int kKeys = 1000;
  Optionals<int32_t> entered;
  Optionals<int64_t> tested;
  for (int i = 0; i < kKeys; ++i) entered.emplace_back(7 * i);
  for (int i = 0; i < 20 * kKeys; ++i)
    tested.emplace_back(i % 2 == 0 ? 7 * (i % kKeys) : 7 * i + 1);
  const Batch keys = make_batch({{"k", fixed<int32_t>("i", entered)}});
  const Batch rows = make_batch({{"k", fixed<int64_t>("l", tested)}});
  const RowFilter::Form form{RowFilter::blocks_for(kKeys), {}};
  EXPECT_EQ(form.blocks, 128);
  std::vector<uint64_t> blocks(static_cast<size_t>(form.blocks));
  RowFilter(*keys.schema, {0}, form).enter(keys, blocks);
  std::vector<uint8_t> answers(static_cast<size_t>(rows.rows));
  RowFilter(*rows.schema, {0}, form).test(rows, blocks, answers);
  int others = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i % 2 == 0) {
      ASSERT_EQ(answers[i], RowFilter::kPasses) << i;
    } else {
      others += answers[i] == RowFilter::kPasses ? 1 : 0;
    }
  }
  EXPECT_LT(others, 10 * kKeys / 10);
  // An eighth of the filter knows the answers of an eighth of the rows.
  std::vector<uint8_t> some(answers.size());
  RowFilter(*rows.schema, {0}, form).test(rows, std::span(blocks).first(blocks.size() / 8), some);
  int64_t known = 0;
  for (size_t i = 0; i < some.size(); ++i) {
    if (some[i] == RowFilter::kUnknown) continue;
    ASSERT_EQ(some[i], answers[i]);
    ++known;
  }
  EXPECT_NEAR(static_cast<double>(known) / static_cast<double>(some.size()), 0.125, 0.05);
}

TEST(RowFilter, first_blocks_alone_are_those_of_the_whole) {
  Optionals<int64_t> entered;
  for (int64_t i = 0; i < 5000; ++i) entered.emplace_back(i * i);
  const Batch keys = make_batch({{"k", fixed<int64_t>("l", entered)}});
  const RowFilter::Form form{RowFilter::blocks_for(5000), {}};
  std::vector<uint64_t> blocks(static_cast<size_t>(form.blocks));
  RowFilter(*keys.schema, {0}, form).enter(keys, blocks);
  std::vector<uint64_t> first(blocks.size() / 64 + 1);
  RowFilter(*keys.schema, {0}, form).enter(keys, first);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), blocks.begin()));
}

TEST(DecimalWords, equal_values_of_all_scales_have_one_word) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 20'000; ++i) {
    Int128 value = static_cast<Int128>(static_cast<int64_t>(random())) >> (random() % 64);
    const auto scale = static_cast<int32_t>(random() % 30) - 10;
    const DecimalWord word = decimal_word(value, scale);
    Int128 more = value;
    for (int32_t zeros = 1; zeros <= 18; ++zeros) {
      more *= 10;
      const DecimalWord same = decimal_word(more, scale + zeros);
      ASSERT_EQ(same.word, word.word) << i << " " << zeros;
      ASSERT_EQ(same.sort, word.sort);
    }
    if (scale != 0) continue;
    ASSERT_EQ(word.word, static_cast<uint64_t>(value));
    ASSERT_EQ(word.sort, value < 0 ? DecimalSort::kNegative : DecimalSort::kPositive);
  }
  EXPECT_EQ(decimal_word(static_cast<Int128>(UINT64_MAX) * 10, 1).word, UINT64_MAX);
  EXPECT_EQ(decimal_word(static_cast<Int128>(UINT64_MAX) + 1, 0).sort, DecimalSort::kFraction);
  EXPECT_EQ(decimal_word(5, 1).sort, DecimalSort::kFraction);
  EXPECT_NE(decimal_word(5, 1).word, decimal_word(5, 2).word);
}

}  // namespace
}  // namespace crossdock::sorters
