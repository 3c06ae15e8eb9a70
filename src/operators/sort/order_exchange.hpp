// Rows to the rank that is named for each, and rows in the order of their keys over all ranks: the exchange behind
// sorts over ranks, for callers that sort what came (operators/sort/rank_sort.hpp, session/bulk_group.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/bulk/agreed_keys.hpp"
#include "data/bulk/bulk_exchange.hpp"

namespace crossdock::operators {

// All ranks call it, each with the number of a rank for each of its rows. Errors: those of bulk_exchange.
Result<bulk::BulkResult> exchange_named(const bulk::RankRun& run,
                                        const Table& rows,
                                        std::span<const uint16_t> ranks);

enum class RankCutBy : uint8_t {
  kSplitters,  // any keys
  kDigits,     // keys that fit a word: a radix sort over ranks
};

struct RankOrder {
  std::vector<bulk::CutKey> keys;
  RankCutBy by = RankCutBy::kSplitters;
  int digit_bits = 11;  // of kDigits
};

struct OrderedRows {
  bulk::BulkResult
      arrived;  // before its other phases "cut", in which ranks agree on which row goes where
  std::vector<int64_t> rows_of;  // by rank: what came to it
};

// All ranks call it; the rows of each rank come before those of the next one, and are in the order of ranks and rows,
// not yet in that of keys. Errors in all ranks: those of store_rows, of the cuts and of bulk_exchange.
Result<OrderedRows> exchange_by_order(const bulk::RankRun& run,
                                      const Table& rows,
                                      const RankOrder& order);

}  // namespace crossdock::operators
