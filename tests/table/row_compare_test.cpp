// RowComparer against comparing strings, for every pair of types that compare.
#include "table/row_compare.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "table/key_columns.hpp"
#include "table/key_side.hpp"

namespace crossdock {
namespace {

using namespace arrow_test;

// Several key columns, cut into batches of the given sizes (each read at an offset).
struct Side {
  Side(const std::vector<KeyColumn>& columns, const std::vector<int64_t>& sizes) : keys(columns) {
    int64_t begin = 0;
    for (const int64_t rows : sizes) {
      Columns batch;
      for (size_t c = 0; c < columns.size(); ++c) {
        batch.push_back({"c" + std::to_string(c), sliced(columns[c].array, begin, rows)});
      }
      batches.push_back(make_batch(batch));
      begin += rows;
    }
    store = std::make_unique<RowStore>(batches[0].schema);
    for (const Batch& batch : batches) {
      const RowRef first = store->add(batch).value();
      for (int64_t row = 0; row < batch.rows; ++row) {
        refs.push_back(static_cast<RowRef>(first + row));
      }
    }
    store->freeze();
  }

  std::vector<KeyColumn> keys;
  std::vector<Batch> batches;
  std::unique_ptr<RowStore> store;
  std::vector<RowRef> refs;
};

RowComparer compare(const Side& left, const Side& right, bool null_equals_null) {
  std::vector<KeyColumnPair> pairs;
  for (size_t c = 0; c < left.keys.size(); ++c) {
    const ChunkedColumn& l = left.store->column(static_cast<int>(c));
    const ChunkedColumn& r = right.store->column(static_cast<int>(c));
    auto kind = common_key_kind(l.field->type, r.field->type);
    EXPECT_TRUE(kind.ok()) << kind.error().message;
    pairs.push_back({&l, &r, kind.value()});
  }
  auto comparer = RowComparer::create(pairs, null_equals_null);
  EXPECT_TRUE(comparer.ok()) << comparer.error().message;
  return std::move(comparer.value());
}

bool naive_equal(const Side& left, size_t l, const Side& right, size_t r, bool null_equals_null) {
  for (size_t c = 0; c < left.keys.size(); ++c) {
    const auto& a = left.keys[c].keys[l];
    const auto& b = right.keys[c].keys[r];
    if (a.has_value() != b.has_value()) return false;
    if (a.has_value() ? *a != *b : !null_equals_null) return false;
  }
  return true;
}

void expect_same(const Side& left, const Side& right, bool null_equals_null, Random& random) {
  const RowComparer comparer = compare(left, right, null_equals_null);
  std::vector<RowRef> l;
  std::vector<RowRef> r;
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 1500; ++i) {
    const size_t a = random() % left.refs.size();
    const size_t b = random() % right.refs.size();
    l.push_back(left.refs[a]);
    r.push_back(right.refs[b]);
    if (naive_equal(left, a, right, b, null_equals_null)) expected.push_back(i);
  }
  std::vector<uint32_t> selected(l.size());
  const int32_t count =
      comparer.select_equal(l.data(), r.data(), static_cast<int32_t>(l.size()), selected.data());
  selected.resize(count);
  ASSERT_EQ(selected, expected) << left.keys[0].name << " " << right.keys[0].name;
}

TEST(RowComparer, EveryPairOfTypesThatCompare) {
  for (const double nulls : {0.0, 0.2}) {
    Random random(1);
    for (const KeyFamily& family : key_families(700, nulls, random)) {
      for (const KeyColumn& left : family.columns) {
        for (const KeyColumn& right : family.columns) {
          const Side left_side({left}, {700});
          const Side right_side({right}, {100, 1, 599});
          expect_same(left_side, right_side, false, random);
          expect_same(right_side, left_side, true, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(RowComparer, SeveralColumnsAreAllCompared) {
  Random random(2);
  const auto lefts = key_families(900, 0.1, random);
  const auto rights = key_families(900, 0.1, random);
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<KeyColumn> left;
    std::vector<KeyColumn> right;
    for (int c = 0; c < 3; ++c) {
      const size_t family = random() % lefts.size();
      left.push_back(lefts[family].columns[random() % lefts[family].columns.size()]);
      right.push_back(rights[family].columns[random() % rights[family].columns.size()]);
    }
    expect_same(Side(left, {900}), Side(right, {450, 450}), trial % 2 == 0, random);
    if (HasFatalFailure()) return;
  }
}

TEST(RowComparer, FilterCompactsItsArraysInOrder) {
  Random random(3);
  const auto families = key_families(500, 0.1, random);
  const Side side({families[1].columns[0]}, {500});
  const RowComparer comparer = compare(side, side, false);
  std::vector<RowRef> left;
  std::vector<RowRef> right;
  std::vector<uint32_t> companion;
  for (uint32_t i = 0; i < kMaxCompareRows; ++i) {
    left.push_back(side.refs[random() % 500]);
    right.push_back(i % 3 == 0 ? left.back() : side.refs[random() % 500]);
    companion.push_back(i);
  }
  auto left_again = left;
  auto right_again = right;
  std::vector<uint32_t> selected(left.size());
  const int32_t count =
      comparer.select_equal(left.data(), right.data(), kMaxCompareRows, selected.data());
  ASSERT_GT(count, 1000);
  ASSERT_EQ(comparer.filter(left_again.data(), right_again.data(), kMaxCompareRows), count);
  const auto left_before = left;
  ASSERT_EQ(comparer.filter(left.data(), right.data(), companion.data(), kMaxCompareRows), count);
  for (int32_t i = 0; i < count; ++i) {
    ASSERT_EQ(companion[i], selected[i]);
    ASSERT_EQ(left[i], left_before[selected[i]]);
    ASSERT_EQ(left[i], left_again[i]);
    ASSERT_EQ(right[i], right_again[i]);
  }
}

TEST(RowComparer, NothingToCompareIsNothingEqual) {
  Random random(4);
  const auto families = key_families(10, 0.0, random);
  const Side side({families[0].columns[0]}, {10});
  EXPECT_EQ(compare(side, side, false).select_equal(nullptr, nullptr, 0, nullptr), 0);
}

// A decimal column without nulls.
KeyColumn compared_decimals(const std::string& format, const std::vector<Int128>& values) {
  KeyColumn column{format, {}, {}};
  Optionals<std::array<uint64_t, 2>> stored;
  for (const Int128 value : values) {
    stored.push_back(__builtin_bit_cast(std::array<uint64_t, 2>, value));
    column.keys.emplace_back("");
  }
  column.array = fixed<std::array<uint64_t, 2>>(format, stored);
  return column;
}

TEST(RowComparer, WhatRescalingCannotHoldIsNotEqual) {
  // 2^126 x 100 is 0 modulo 2^128.
  const Side whole({compared_decimals("d:38,0", {Int128{1} << 126, 0, 3})}, {3});
  const Side cents({compared_decimals("d:38,2", {0, 0, 300})}, {3});
  std::vector<uint32_t> selected(3);
  ASSERT_EQ(compare(whole, cents, false)
                .select_equal(whole.refs.data(), cents.refs.data(), 3, selected.data()),
            2);
  EXPECT_EQ(selected[0], 1U);
  // 10^43 has no 128 bits; 10^38 has.
  Int128 ten_to_38 = 1;
  for (int i = 0; i < 38; ++i) ten_to_38 *= 10;
  const Side huge({compared_decimals("d:38,-5", {1, 0, -1})}, {3});
  const Side tiny({compared_decimals("d:38,38", {ten_to_38, 0, -1})}, {3});
  ASSERT_EQ(compare(huge, tiny, false)
                .select_equal(huge.refs.data(), tiny.refs.data(), 3, selected.data()),
            1);
  EXPECT_EQ(selected[0], 1U);
}

TEST(RowComparer, WrongPlansAreErrors) {
  const auto none = RowComparer::create({}, false);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kInvalidArgument);
  Random random(5);
  const auto families = key_families(10, 0.0, random);
  const Side side({families[0].columns[0]}, {10});
  const ChunkedColumn& column = side.store->column(0);
  const auto wrong = RowComparer::create({{&column, &column, KeyKind{KeyForm::kBytes}}}, false);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kKeyTypeMismatch);
}

}  // namespace
}  // namespace crossdock
