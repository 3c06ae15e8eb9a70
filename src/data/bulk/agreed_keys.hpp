// Key words that compare with those of all other ranks.
//
// A word says how far a key is from the smallest one, after the bytes that all strings share (table/order_key.hpp). So
// ranks tell each other what range their keys have, and each lays out the words of the range that holds all.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/team.hpp"
#include "data/ranks/communicator.hpp"
#include "memory/budget.hpp"
#include "table/order_key.hpp"

namespace crossdock::bulk {

struct CutKey {
  int column = 0;
  bool descending = false;
  bool nulls_first = false;  // whatever the direction
};

// What ranks that compute together work with; each has its own.
struct RankRun {
  ranks::Communicator* ranks = nullptr;
  Team* team = nullptr;
  std::shared_ptr<Memory> memory;
};

// Rows of one batch: what a worker takes at a time.
struct RowPiece {
  const Batch* batch = nullptr;
  int64_t begin = 0;
  int64_t rows = 0;
  RowRef first_ref = 0;
  int64_t first_row = 0;  // in the table
};
std::vector<RowPiece> pieces_of(const RowStore& store);

// Calls call(worker, i) for i below `count`, each once, by the workers in turns. Answers the first worker's error.
Status in_turns(Team& team,
                int64_t count,
                const std::function<Status(int worker, int64_t i)>& call);

// All ranks call it, each with its own rows; keys are the same, and their columns' types. The plan is settled, with
// strings of dictionaries by their bytes. Errors in all ranks: CD-105 if types differ or there is no key; what keys of
// these types have (common_key_kind); those of the communicator. `store` must outlive the plan.
Result<OrderKeyPlan> agree_on_keys(ranks::Communicator& ranks,
                                   const RowStore& store,
                                   std::span<const CutKey> keys,
                                   Team& team);

}  // namespace crossdock::bulk
