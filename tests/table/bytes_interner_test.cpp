// Codes of column, against a plain map: every layout, every length, nulls, slices, dictionaries,
// limits. The arrays' buffers are exactly as large as their values.
#include "table/bytes_interner.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "table/random_columns.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

constexpr uint64_t kSeed = 12345;
constexpr uint32_t kMany = 1 << 20;
constexpr int64_t kBudget = int64_t{1} << 30;

using Values = Optionals<std::string>;
using Codes = std::vector<uint32_t>;

const std::vector<std::string>& formats() {
  static const std::vector<std::string> all = {"u", "U", "vu", "z", "Z", "vz"};
  return all;
}

struct Column {
  explicit Column(const Array& array)
      : batch(make_batch({{"k", array}})), type(batch.schema->fields[0].type) {}

  const ColumnView& view() const { return batch.columns[0]; }

  Batch batch;
  DataType type;
};

// Calls of any size up to `step`.
Status add(BytesInterner& interner, const Column& column, int64_t step = kMaxKeyRows) {
  for (int64_t begin = 0; begin < column.batch.rows; begin += step) {
    const auto count = static_cast<int32_t>(std::min(step, column.batch.rows - begin));
    CD_TRY(interner.add(column.type, column.view(), begin, count));
  }
  return {};
}

Codes find(const BytesInterner& interner, const Column& column, int64_t step = kMaxKeyRows) {
  Codes codes(static_cast<size_t>(column.batch.rows), 77);
  BytesInterner::Scratch scratch(column.type);
  for (int64_t begin = 0; begin < column.batch.rows; begin += step) {
    const auto count = static_cast<int32_t>(std::min(step, column.batch.rows - begin));
    interner.find(column.view(), begin, count, codes.data() + begin, scratch);
  }
  return codes;
}

// The reference: distinct values in the order in which they come.
struct Reference {
  std::unordered_map<std::string, uint32_t> codes;

  void add(const Values& values) {
    for (const auto& value : values) {
      if (value) codes.emplace(*value, static_cast<uint32_t>(codes.size()));
    }
  }
  Codes find(const Values& values) const {
    Codes codes_found;
    for (const auto& value : values) {
      const auto at = value ? codes.find(*value) : codes.end();
      codes_found.push_back(at == codes.end() ? kNoCode : at->second);
    }
    return codes_found;
  }
};

std::string text_of_length(size_t length, Random& random) {
  std::string text(length, '\0');
  for (char& c : text) c = "ab\0\xFF"[random() % 4];
  return text;
}

// Lengths 0 to 64, each with neighbours that differ in one byte only, or in length.
Values tricky_values(Random& random) {
  Values values;
  for (size_t length = 0; length <= 64; ++length) {
    const std::string text = text_of_length(length, random);
    values.emplace_back(text);
    values.emplace_back(text + '\0');
    values.emplace_back(std::string(length, '\0'));
    for (size_t at = 0; at < length; ++at) {
      std::string other = text;
      other[at] = static_cast<char>(other[at] ^ 0x80);
      values.emplace_back(other);
    }
  }
  return values;
}

Values picked(const Values& from, int64_t rows, double null_share, Random& random) {
  Values values;
  for (int64_t i = 0; i < rows; ++i) {
    const bool is_null = std::uniform_real_distribution<>()(random) < null_share;
    values.push_back(is_null ? std::nullopt : from[random() % from.size()]);
  }
  return values;
}

TEST(BytesInterner, AgreesWithAMapInEveryLayout) {
  Random random(1);
  const Values domain = tricky_values(random);
  const Values half(domain.begin(), domain.begin() + static_cast<int64_t>(domain.size() / 2));
  for (const double nulls : {0.0, 0.3}) {
    for (const std::string& format : formats()) {
      const auto memory = Memory::create(kBudget);
      BytesInterner interner(*memory, kMany, kSeed);
      Reference reference;
      const Values known = picked(half, 5000, nulls, random);
      reference.add(known);
      const Column added(strings(format, known));
      ASSERT_TRUE(add(interner, added, 700).ok());
      ASSERT_EQ(interner.value_count(), reference.codes.size());
      EXPECT_EQ(find(interner, added), reference.find(known)) << format;
      for (const std::string& other : formats()) {
        const Values probes = picked(domain, 3000, nulls, random);
        EXPECT_EQ(find(interner, Column(strings(other, probes)), 333), reference.find(probes))
            << format << " " << other;
      }
      EXPECT_FALSE(interner.is_full());
    }
  }
}

TEST(BytesInterner, ReadsNoByteBeyondShortBuffers) {
  Random random(2);
  for (const std::string& format : formats()) {
    for (size_t length = 0; length <= 64; ++length) {
      const Values values = {text_of_length(length, random), text_of_length(length / 2, random)};
      const Column column(strings(format, values));
      const auto memory = Memory::create(kBudget);
      BytesInterner interner(*memory, kMany, kSeed);
      Reference reference;
      reference.add(values);
      ASSERT_TRUE(add(interner, column).ok());
      EXPECT_EQ(find(interner, column), reference.find(values)) << format << " " << length;
    }
  }
}

TEST(BytesInterner, AgreesOnEveryInstructionSet) {
  Random random(6);
  const Values values = tricky_values(random);
  Reference reference;
  reference.add(values);
  const Column column(strings("u", values));
  const Column views(strings("vu", values));
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const auto memory = Memory::create(kBudget);
    BytesInterner interner(*memory, kMany, kSeed);
    EXPECT_TRUE(add(interner, column).ok());
    EXPECT_EQ(find(interner, column), reference.find(values)) << hwy::TargetName(left & -left);
    EXPECT_EQ(find(interner, views), reference.find(values)) << hwy::TargetName(left & -left);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(BytesInterner, ReadsSlices) {
  Random random(3);
  const Values all = picked(tricky_values(random), 900, 0.2, random);
  for (const std::string& format : formats()) {
    for (const int64_t begin : {0, 1, 7, 500}) {
      const int64_t count = 301;
      const Values values(all.begin() + begin, all.begin() + begin + count);
      const Column column(sliced(strings(format, all), begin, count));
      const auto memory = Memory::create(kBudget);
      BytesInterner interner(*memory, kMany, kSeed);
      Reference reference;
      reference.add(values);
      ASSERT_TRUE(add(interner, column, 100).ok());
      EXPECT_EQ(interner.value_count(), reference.codes.size());
      EXPECT_EQ(find(interner, column, 77), reference.find(values)) << format << " " << begin;
    }
  }
}

TEST(BytesInterner, KeepsLongValuesApart) {
  const size_t length = size_t{64} << 10;
  Values values;
  for (const size_t at : {size_t{0}, length / 2, length - 1}) {
    std::string text(length, 'x');
    text[at] = 'y';
    values.emplace_back(text);
    values.emplace_back(text + 'x');
  }
  for (int i = 0; i < 200; ++i) values.emplace_back(std::string(5000, 'a') + std::to_string(i));
  Reference reference;
  reference.add(values);
  const auto memory = Memory::create(kBudget);
  BytesInterner interner(*memory, kMany, kSeed);
  {
    const Column gone(strings("u", values));
    ASSERT_TRUE(add(interner, gone).ok());
  }
  EXPECT_GE(interner.memory_bytes(), static_cast<int64_t>(6 * length));
  for (const std::string& format : formats()) {
    EXPECT_EQ(find(interner, Column(strings(format, values))), reference.find(values)) << format;
  }
  EXPECT_EQ(find(interner, Column(strings("u", {std::string(length, 'x')}))), Codes{kNoCode});
}

TEST(BytesInterner, GrowsToManyValues) {
  Values values;
  for (int i = 0; i < 60000; ++i) values.emplace_back("Customer#" + std::to_string(i % 50000));
  Reference reference;
  reference.add(values);
  const Column column(strings("u", values));
  const auto memory = Memory::create(kBudget);
  {
    BytesInterner interner(*memory, kMany, kSeed);
    ASSERT_TRUE(add(interner, column).ok());
    EXPECT_EQ(interner.value_count(), 50000U);
    EXPECT_EQ(find(interner, column), reference.find(values));
    EXPECT_EQ(memory->used_bytes(), interner.memory_bytes());
  }
  EXPECT_EQ(memory->used_bytes(), 0);
}

TEST(BytesInterner, IsFullOnlyWhenAValueIsLeftOut) {
  const auto memory = Memory::create(kBudget);
  BytesInterner interner(*memory, 3, kSeed);
  ASSERT_TRUE(add(interner, Column(strings("u", {"a", "b", std::nullopt, "c", "a"}))).ok());
  EXPECT_FALSE(interner.is_full());
  ASSERT_TRUE(add(interner, Column(strings("u", {"b", "d", "e"}))).ok());
  EXPECT_TRUE(interner.is_full());
  EXPECT_EQ(interner.value_count(), 3U);
  EXPECT_EQ(find(interner, Column(strings("u", {"d", "c", "e", "a"}))),
            (Codes{kNoCode, 2, kNoCode, 0}));

  BytesInterner none(*memory, 0, kSeed);
  ASSERT_TRUE(add(none, Column(strings("u", {std::nullopt}))).ok());
  EXPECT_FALSE(none.is_full());
  ASSERT_TRUE(add(none, Column(strings("u", {""}))).ok());
  EXPECT_TRUE(none.is_full());
  EXPECT_EQ(find(none, Column(strings("u", {""}))), Codes{kNoCode});

  BytesInterner unbounded(*memory, UINT32_MAX, kSeed);  // no bits are left for tags
  ASSERT_TRUE(add(unbounded, Column(strings("u", {"a", "b"}))).ok());
  EXPECT_EQ(find(unbounded, Column(strings("u", {"b", "c", "a"}))), (Codes{1, kNoCode, 0}));
}

TEST(BytesInterner, AddsAllOfAnother) {
  Random random(4);
  const Values domain = tricky_values(random);
  const Values first = picked(domain, 1500, 0.1, random);
  const Values second = picked(domain, 1500, 0.1, random);
  const auto memory = Memory::create(kBudget);
  BytesInterner a(*memory, kMany, kSeed);
  Reference reference;
  reference.add(first);
  reference.add(second);
  {
    BytesInterner b(*memory, kMany, kSeed);
    ASSERT_TRUE(add(a, Column(strings("u", first))).ok());
    ASSERT_TRUE(add(b, Column(strings("vz", second))).ok());
    ASSERT_TRUE(a.add_all(b).ok());
  }
  EXPECT_EQ(a.value_count(), reference.codes.size());
  EXPECT_EQ(find(a, Column(strings("U", domain))), reference.find(domain));

  BytesInterner small(*memory, 5, kSeed);
  ASSERT_TRUE(small.add_all(a).ok());
  EXPECT_TRUE(small.is_full());
  BytesInterner of_full(*memory, kMany, kSeed);
  ASSERT_TRUE(of_full.add_all(small).ok());
  EXPECT_TRUE(of_full.is_full());  // it lacks what `small` left out
  EXPECT_EQ(of_full.value_count(), 5U);
}

TEST(BytesInterner, SeesThroughDictionaries) {
  // Duplicates, a null and values of no row inside the dictionary; nulls among the rows.
  const Array dictionary =
      strings("u", {"x", "unused", "y", std::nullopt, "x", "a value longer than 28 bytes"});
  const Optionals<int64_t> indices = {4, std::nullopt, 2, 3, 0, 5, 2};
  const Values values = {
      "x", std::nullopt, "y", std::nullopt, "x", "a value longer than 28 bytes", "y"};
  Reference reference;
  reference.add(values);
  for (const std::string index : {"c", "C", "s", "S", "i", "I", "l", "L"}) {
    const Column column(encoded(index, indices, dictionary));
    const auto memory = Memory::create(kBudget);
    BytesInterner interner(*memory, kMany, kSeed);
    ASSERT_TRUE(add(interner, column, 2).ok());
    EXPECT_EQ(interner.value_count(), 3U);
    EXPECT_EQ(find(interner, column, 3), reference.find(values));
    EXPECT_EQ(find(interner, Column(strings("vu", values))), reference.find(values));
    EXPECT_EQ(find(interner, Column(strings("u", {"unused"}))), Codes{kNoCode});
  }
}

TEST(BytesInterner, TranslatesADictionaryAgainWhenValuesWereAdded) {
  const Column column(encoded("i", {1, 0, std::nullopt}, strings("U", {"x", "y"})));
  const Column other(encoded("i", {0, 0, 0}, strings("U", {"y"})));
  const auto memory = Memory::create(kBudget);
  BytesInterner interner(*memory, kMany, kSeed);
  BytesInterner::Scratch scratch(column.type);
  Codes codes(3);
  interner.find(column.view(), 0, 3, codes.data(), scratch);
  EXPECT_EQ(codes, (Codes{kNoCode, kNoCode, kNoCode}));
  ASSERT_TRUE(add(interner, other).ok());
  interner.find(column.view(), 0, 3, codes.data(), scratch);
  EXPECT_EQ(codes, (Codes{0, kNoCode, kNoCode}));
  interner.find(other.view(), 0, 3, codes.data(), scratch);
  EXPECT_EQ(codes, (Codes{0, 0, 0}));
  ASSERT_TRUE(add(interner, column).ok());
  interner.find(column.view(), 0, 3, codes.data(), scratch);
  EXPECT_EQ(codes, (Codes{0, 1, kNoCode}));
}

TEST(BytesInterner, AgreesWithAMapForDictionaries) {
  Random random(5);
  const Values domain = picked(tricky_values(random), 3000, 0.1, random);
  for (const std::string& format : formats()) {
    Optionals<int64_t> indices;
    Values values;
    for (int i = 0; i < 2500; ++i) {
      const auto at = random() % domain.size();
      const bool is_null = random() % 10 == 0;
      indices.push_back(is_null ? std::nullopt : std::optional<int64_t>(at));
      values.push_back(is_null ? std::nullopt : domain[at]);
    }
    Reference reference;
    reference.add(values);
    const Column column(encoded("i", indices, strings(format, domain)));
    const auto memory = Memory::create(kBudget);
    BytesInterner interner(*memory, kMany, kSeed);
    ASSERT_TRUE(add(interner, column, 999).ok());
    EXPECT_EQ(find(interner, column, 999), reference.find(values)) << format;
  }
}

TEST(BytesInterner, KeepsToTheBudget) {
  Values values;
  for (int i = 0; i < 20000; ++i) values.emplace_back(std::to_string(i));
  const Column column(strings("u", values));
  const auto memory = Memory::create(256 << 10);
  BytesInterner interner(*memory, kMany, kSeed);
  const Status status = add(interner, column);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfMemoryBudget);
  // What was added before is still there.
  const Codes codes = find(interner, column);
  EXPECT_GT(interner.value_count(), 0U);
  for (uint32_t i = 0; i < codes.size(); ++i) {
    ASSERT_EQ(codes[i], i < interner.value_count() ? i : kNoCode);
  }
}

TEST(BytesInterner, ConcurrentFindsAgree) {
  Values values;
  for (int i = 0; i < 6000; ++i) values.emplace_back("value number " + std::to_string(i % 3000));
  const Column column(strings("vu", values));
  const auto memory = Memory::create(kBudget);
  BytesInterner interner(*memory, kMany, kSeed);
  ASSERT_TRUE(add(interner, column).ok());
  const Codes expected = find(interner, column);
  std::vector<Codes> codes_of(4);
  std::vector<std::thread> threads;
  for (Codes& codes : codes_of) {
    threads.emplace_back([&] { codes = find(interner, column); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Codes& codes : codes_of) EXPECT_EQ(codes, expected);
}

}  // namespace
}  // namespace crossdock
