// Which rank each row of a table over ranks goes to, so that the rows of each rank come before those of the next, and
// all ranks have about as many: what a sort over ranks needs before its one exchange of rows.
//
// A sample of the key words of all ranks cuts them into some 64 ranges per rank. Every row's range is counted, and
// ranks begin where ranges do. Where no range begins near enough to a rank's fair first row, the rows of the range are
// cut in turn: by a sample of their own, by the next word if all words are equal and the keys may yet differ
// (long strings, further columns), and by (rank, row) if the keys are equal. So counting, and not the luck of a sample,
// says that no rank has more than its share, also where all keys are equal; and rows with equal keys keep the order
// (rank, row) from rank to rank, so that a stable sort of what arrives makes the whole stable.
//
// Cost: the keys are read twice, and 10 bytes per row are needed while it runs, 2 afterwards. Messages: two gathers of
// samples and ranges and a sum of counts, each in log2(ranks) rounds, and the same again per rank that is cut inside
// a range. Compare Barthels et al. (PVLDB 10(5), 2017, section 3.2), whose ranges come from the key's leading bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/team.hpp"
#include "data/bulk/agreed_keys.hpp"
#include "data/ranks/communicator.hpp"
#include "memory/budget.hpp"
#include "table/row_store.hpp"

namespace crossdock::bulk {

struct CutOptions {
  // No rank has more than (1 + slack) times the mean rows, and one more for the fraction.
  double slack = 0.05;
  uint64_t seed = 1;  // of samples; which rows go where may depend on it, the order does not
};

struct OrderCut {
  Block destination_block;
  int64_t rows = 0;              // of this rank's table
  std::vector<int64_t> rows_of;  // by rank: how many it will have; alike in all ranks
  int64_t samples = 0;           // how often rows were sampled and counted

  // By row: the rank that it goes to.
  std::span<const uint16_t> destinations() const {
    return {destination_block.as<const uint16_t>(), static_cast<size_t>(rows)};
  }
};

// All ranks call it, each with its rows. Errors, in all ranks: those of agree_on_keys; CD-201.
Result<OrderCut> cut_by_order(const RankRun& run,
                              const RowStore& store,
                              std::span<const CutKey> keys,
                              const CutOptions& options = {});

}  // namespace crossdock::bulk
