// The same cut as order_cut.hpp by a radix sort over ranks, lowest digit first: all (word, row) pairs move once per
// digit to their places among those of all ranks. It is how Arkouda sorts, and stands here for comparison: a sort of
// 64-bit keys moves its pairs six times with digits of 11 bits, where a cut by splitters moves none.
//
// A pass: tasks count their pairs by digit; all ranks find where the pairs of each digit, rank and task start
// (bucket_counts.hpp); each rank lays its own out by digit and puts the runs straight to their places, in windows of
// exactly all / ranks pairs. At the end the rank of each pair's row learns where it went.
#pragma once

#include <cstdint>
#include <span>

#include "data/bulk/bucket_counts.hpp"
#include "data/bulk/order_cut.hpp"

namespace crossdock::bulk {

struct DigitOptions {
  int digit_bits = 11;  // 1 to 16
  model::BucketForm form = model::BucketForm::kCombined;
  int64_t buffer_elements = 8192;  // of the forms that have buffers
};

struct DigitCut {
  OrderCut cut;  // ranks have equally many rows, but for one
  // Of this rank.
  int passes = 0;
  model::BucketTraffic counts;
  model::BucketTraffic starts;
  int64_t run_messages = 0;  // pairs to other ranks
};

// All ranks call it, each with its rows; every worker of the team is a task. Errors, in all ranks: those of
// agree_on_keys; CD-105 for digits of other sizes, and for keys that do not fit a word; CD-201.
Result<DigitCut> cut_by_digits(const RankRun& run,
                               const RowStore& store,
                               std::span<const CutKey> keys,
                               const DigitOptions& options = {});

}  // namespace crossdock::bulk
