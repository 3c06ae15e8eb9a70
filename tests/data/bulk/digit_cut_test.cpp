// Cuts by digits against the order of plain keys, in all forms of the exchange.
#include "data/bulk/digit_cut.hpp"

#include <gtest/gtest.h>

#include "data/bulk/cutting.hpp"

namespace crossdock::arrow_test {
namespace {

struct Passes {
  std::vector<bulk::DigitCut> by_rank;
};

CutRows cut_digits(const Cutting& cutting,
                   const bulk::DigitOptions& options,
                   Passes* passes = nullptr) {
  if (passes != nullptr) passes->by_rank.resize(cutting.ends.size());
  return cut_by(
      cutting, [&](const bulk::RankRun& run, const RowStore& store) -> Result<bulk::OrderCut> {
        CD_ASSIGN(bulk::DigitCut digits, bulk::cut_by_digits(run, store, cutting.keys, options));
        bulk::OrderCut order = std::move(digits.cut);
        if (passes != nullptr) {
          passes->by_rank[static_cast<size_t>(run.ranks->rank())] = std::move(digits);
        }
        return order;
      });
}

std::vector<int64_t> random_numbers(int64_t count, uint64_t below) {
  Random random(3);
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& value : values) value = static_cast<int64_t>(random() % below);
  return values;
}

TEST(DigitCut, ConcurrentRanksCutInAllForms) {
  for (const model::BucketForm form : model::kBucketForms) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
      SCOPED_TRACE(testing::Message() << model::bucket_form_name(form) << ", ranks " << ranks);
      Cutting cutting{
          {numbers(random_numbers(3000, 1'000'000))}, {{0, true}}, even_ends(3000, ranks)};
      cutting.options.slack = 0;
      cutting.threads = 1 + ranks % 3;
      expect_right(cutting,
                   cut_digits(cutting, {.digit_bits = 7, .form = form, .buffer_elements = 10}));
    }
  }
}

TEST(DigitCut, ConcurrentRanksCutEveryTypeThatFitsAWord) {
  Random random(5);
  constexpr int64_t kRows = 300;
  int cuts = 0;
  for (OrderedColumn& column : ordered_columns(kRows, 0.1, random)) {
    SCOPED_TRACE(column.name);
    Cutting cutting{
        {std::move(column)}, {{0, random() % 2 == 0, random() % 2 == 0}}, even_ends(kRows, 3)};
    const CutRows done = cut_digits(cutting, {});
    if (done.errors[0] == ErrorCode::kInternal) {
      expect_right(cutting, done);
      ++cuts;
    } else {
      EXPECT_EQ(done.errors, std::vector<ErrorCode>(3, ErrorCode::kInvalidArgument));
    }
  }
  EXPECT_GT(cuts, 5);
}

TEST(DigitCut, ConcurrentRanksWithoutRowsAndEqualKeys) {
  for (const std::vector<int64_t>& ends : {std::vector<int64_t>{0, 0, 100},
                                           std::vector<int64_t>{100, 100, 100},
                                           std::vector<int64_t>{0, 0}}) {
    Cutting cutting{
        {numbers(std::vector<int64_t>(static_cast<size_t>(ends.back()), 4))}, {{0}}, ends};
    cutting.options.slack = 0;
    expect_right(cutting, cut_digits(cutting, {}));
  }
}

// 20 bits in three digits of 7: three exchanges of 128 buckets.
TEST(DigitCut, ConcurrentRanksCountTheirMessages) {
  Cutting cutting{{numbers(random_numbers(5000, 1 << 20))}, {{0}}, even_ends(5000, 4)};
  cutting.threads = 2;
  for (const model::BucketForm form : {model::BucketForm::kTaskBuffers,
                                       model::BucketForm::kChunkBuffers,
                                       model::BucketForm::kCombined}) {
    Passes passes;
    cut_digits(cutting, {.digit_bits = 7, .form = form, .buffer_elements = 20}, &passes);
    const model::BucketTraffic expected = model::bucket_traffic({4, 2, 128, 20}, form);
    int64_t messages = 0;
    int64_t bytes = 0;
    int64_t runs = 0;
    for (const bulk::DigitCut& of_rank : passes.by_rank) {
      EXPECT_EQ(of_rank.passes, 3);
      messages += of_rank.counts.messages;
      bytes += of_rank.counts.bytes;
      runs += of_rank.run_messages;
    }
    EXPECT_EQ(messages, 3 * expected.messages);
    EXPECT_EQ(bytes, 3 * expected.bytes);
    // A rank's pairs of one bucket go in one put, or two where the next rank's block begins.
    EXPECT_LE(runs, 3 * 4 * (128 + 4));
    EXPECT_GT(runs, 3 * 4 * 64);
  }
}

TEST(DigitCut, ConcurrentRanksRefuseDigitsOfOtherSizesAndLongStrings) {
  Cutting cutting{{numbers({1, 2})}, {{0}}, {1, 2}};
  for (const int bits : {0, 17}) {
    EXPECT_EQ(cut_digits(cutting, {.digit_bits = bits}).errors,
              std::vector<ErrorCode>(2, ErrorCode::kInvalidArgument));
  }
  cutting.columns = {words({"a text of twenty bytes", "another one"})};
  EXPECT_EQ(cut_digits(cutting, {}).errors, std::vector<ErrorCode>(2, ErrorCode::kInvalidArgument));
}

// Three counters of 2^16 digits take 1.5 MiB.
TEST(DigitCut, ConcurrentRanksChargeTheirCounters) {
  const Cutting cutting{{numbers({1, 2})}, {{0}}, {1, 2}};
  const auto memory = Memory::create(1 << 20);
  const CutRows done = cut_by(cutting, [&](const bulk::RankRun& run, const RowStore& store) {
    bulk::RankRun little = run;
    little.memory = memory;
    Result<bulk::DigitCut> cut =
        bulk::cut_by_digits(little, store, cutting.keys, {.digit_bits = 16});
    return cut.ok() ? Result<bulk::OrderCut>(std::move(cut.value().cut))
                    : Result<bulk::OrderCut>(cut.error());
  });
  EXPECT_EQ(done.errors, std::vector<ErrorCode>(2, ErrorCode::kOutOfMemoryBudget));
}

}  // namespace
}  // namespace crossdock::arrow_test
