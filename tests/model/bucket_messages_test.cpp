// The sums against the closed formulas, and against what the pull request says of its own numbers.
#include "model/bucket_messages.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The closed formulas at the head of bucket_messages.hpp.
int64_t task_buffer_messages(const BucketShape& shape) {
  const int64_t ranks = shape.ranks;
  return ranks * ranks * shape.tasks * ceil_div(shape.buckets, ranks * shape.buffer_elements);
}

int64_t chunk_buffer_messages(const BucketShape& shape) {
  const int64_t owners = std::max(1, shape.ranks / shape.tasks);  // whose buckets a chunk holds
  return int64_t{shape.ranks} * shape.tasks * owners *
         ceil_div(shape.buckets, owners * shape.buffer_elements);
}

TEST(BucketMessages, SumsAreTheFormulasWhereNumbersDivide) {
  for (const int ranks : {1, 2, 4, 8, 16, 64}) {
    for (const int tasks : {1, 2, 4, 16, 32}) {
      for (const int64_t buckets : {1 << 10, 1 << 11, 1 << 16}) {
        for (const int64_t buffer : {1, 7, 100, 1024, 8192, 1 << 17}) {
          const BucketShape shape{ranks, tasks, buckets, buffer};
          EXPECT_EQ(bucket_traffic(shape, BucketForm::kTaskBuffers).all_messages(),
                    task_buffer_messages(shape));
          EXPECT_EQ(bucket_traffic(shape, BucketForm::kChunkBuffers).all_messages(),
                    chunk_buffer_messages(shape));
          EXPECT_EQ(bucket_traffic(shape, BucketForm::kContiguous).messages,
                    int64_t{ranks} * (ranks - 1));
        }
      }
    }
  }
}

// "Each task has 64K buckets with 64K/numLocales going to each locale. With 8K aggregation buffers this meant that at
// over 8 locales we'd have single-use aggregators."
TEST(BucketMessages, BeyondEightRanksABufferIsUsedOnce) {
  BucketShape shape{8, 1, 1 << 16, 8192};
  EXPECT_EQ(task_buffer_messages(shape), 8 * 8);
  shape.ranks = 7;  // one buffer would no longer do
  EXPECT_EQ(task_buffer_messages(shape), 2 * 7 * 7);
  shape.ranks = 512;
  shape.tasks = 36;  // not said there
  EXPECT_EQ(task_buffer_messages(shape), 512 * 512 * 36);
  EXPECT_EQ(chunk_buffer_messages({512, 32, 1 << 16, 8192}), 512 * 512);
  // 36 does not divide 512: both cut the buckets, 4 times in the same place.
  EXPECT_EQ(bucket_traffic(shape, BucketForm::kChunkBuffers).all_messages(), 512 * (512 + 36 - 4));
}

TEST(BucketMessages, EachFormSendsLessThanTheOneBefore) {
  for (const int ranks : {8, 16, 40, 512}) {
    const BucketShape shape{ranks, 8, 1 << 16, 8192};
    const auto messages = [&](BucketForm form) { return bucket_traffic(shape, form).messages; };
    EXPECT_GE(messages(BucketForm::kTaskBuffers),
              messages(BucketForm::kChunkBuffers) * (ranks > 8 ? 2 : 1));
    EXPECT_GE(messages(BucketForm::kChunkBuffers), messages(BucketForm::kContiguous));
    EXPECT_EQ(messages(BucketForm::kContiguous), messages(BucketForm::kCombined));
    EXPECT_GT(messages(BucketForm::kCombined), messages(BucketForm::kScanned));
    EXPECT_EQ(bucket_traffic(shape, BucketForm::kTaskBuffers).bytes,
              2 * bucket_traffic(shape, BucketForm::kContiguous).bytes);
    EXPECT_EQ(bucket_traffic(shape, BucketForm::kContiguous).bytes,
              8 * bucket_traffic(shape, BucketForm::kCombined).bytes);
  }
}

// docs/concept-order.md has them.
TEST(BucketMessages, NumbersOfTheDocument) {
  struct Row {
    BucketForm form;
    int64_t messages[3];
    int64_t bytes;
  };
  const Row rows[] = {{BucketForm::kTaskBuffers, {448, 12'480, 2'093'056}, 4'286'578'688},
                      {BucketForm::kChunkBuffers, {448, 3'120, 261'632}, 4'286'578'688},
                      {BucketForm::kContiguous, {56, 1'560, 261'632}, 2'143'289'344},
                      {BucketForm::kCombined, {56, 1'560, 261'632}, 267'911'168},
                      {BucketForm::kScanned, {31, 255, 5'119}, 2'683'871'224}};
  for (const Row& row : rows) {
    const int ranks[] = {8, 40, 512};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(bucket_traffic({ranks[i], 8, 1 << 16, 8192}, row.form).messages, row.messages[i]);
    }
    EXPECT_EQ(bucket_traffic({512, 8, 1 << 16, 8192}, row.form).bytes, row.bytes);
  }
}

TEST(BucketMessages, OwnersWithoutBucketsGetNone) {
  const BucketShape shape{8, 3, 5, 2};
  EXPECT_EQ(bucket_traffic(shape, BucketForm::kCombined).messages, 5 * 7);
  EXPECT_EQ(bucket_traffic(shape, BucketForm::kContiguous).bytes, 7 * 5 * 3 * 8);
  // Five owners of one bucket each, of whom each rank's three tasks know a count.
  EXPECT_EQ(bucket_traffic(shape, BucketForm::kTaskBuffers).all_messages(), 8 * 3 * 5);
  EXPECT_EQ(bucket_traffic(shape, BucketForm::kChunkBuffers).all_messages(), 8 * 5 * 2);
}

TEST(BucketMessages, OneRankSendsNothing) {
  const BucketShape shape{1, 4, 256, 16};
  for (const BucketForm form : kBucketForms) EXPECT_EQ(bucket_traffic(shape, form).messages, 0);
}

TEST(BucketMessages, AScanTakesRounds) {
  EXPECT_EQ(scanned_messages(1), 0);
  EXPECT_EQ(scanned_messages(2), 1 + 2);
  EXPECT_EQ(scanned_messages(5), 4 + 3 + 1 + 2 * 4);
  EXPECT_EQ(scanned_messages(8), 7 + 6 + 4 + 2 * 7);
}

}  // namespace
}  // namespace crossdock::model
