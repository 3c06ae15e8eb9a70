// Tables between ranks when they are there as a whole: counts first, then every row straight to its place.
//
// It follows the radix hash join's network pass of Barthels et al. (PVLDB 10(5), 2017, section 4.1): histogram, windows
// of exact size, one-sided writes to places that no other rank writes to. It goes on from there: rows of any schema,
// threads within a rank, memory of other ranks of one host written to without a put, stages of one pool instead of two
// buffers per partition, phases, integers packed by the ranges that were found. What arrives is an Arrow
// table that lies in the window, without a copy, ordered by source and by the order of rows there: the same whatever
// the threads, the packing and the order of puts.
//
// Memory: 2 bytes per row for its destination, the window (exactly what arrives), stages (pool_bytes at most) where a
// destination is on another host, and for bits and packed integers a second copy of these alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/team.hpp"
#include "data/bulk/cell_places.hpp"
#include "data/ranks/communicator.hpp"
#include "data/sorters/row_router.hpp"
#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock::bulk {

enum class PutOrderKind : uint8_t { kPhases, kAsTheyFill };
enum class BulkPacking : uint8_t { kAuto, kAlways, kNever };

struct BulkOptions {
  PutOrderKind order = PutOrderKind::kPhases;
  // Integers as distances from their smallest value: automatic is where rows cross the network and travel in seven
  // eighths of their bytes or less.
  BulkPacking packing = BulkPacking::kAuto;
  int64_t message_bytes = int64_t{1} << 20;  // of a put of the widest column
  int64_t pool_bytes = int64_t{256} << 20;   // of all put buffers of a rank
  BatchLimits batches{};
};

// Where rows go; one of a rule, a number for each row, and neither: then all rows go to each destination.
struct BulkRoute {
  const sorters::RouteSpec* rule = nullptr;  // whose destinations are as many as there are here
  std::span<const uint16_t> named{};
  std::vector<int> destination_ranks;  // of destination 0, 1, …; each once
};

// One phase of one rank.
struct BulkPhase {
  std::string name;  // histogram, window, network partition, arrival
  int64_t rows = 0;
  int64_t bytes = 0;
  double begin_s = 0;  // since all ranks had begun
  double seconds = 0;
  std::vector<std::pair<std::string, double>> parts{};  // seconds, the mean of this rank's threads
};

struct BulkFacts {
  std::vector<BulkPhase> phases;
  double total_s = 0;
  int64_t rows_in = 0;
  int64_t rows_received = 0;
  int64_t plain_row_bytes = 0;  // without strings
  int64_t sent_row_bytes = 0;
  int64_t bytes_sent = 0;    // to other ranks, as they travelled
  int64_t window_bytes = 0;  // for what others send to this rank
  int64_t messages = 0;
  std::string order;    // of puts: "in place" if there are none
  std::string packing;  // what was done, and why
};

struct BulkResult {
  TablePtr table;  // without_dictionaries of what was sent
  BulkFacts facts;
};

struct BulkContext {
  ranks::Communicator* ranks = nullptr;
  Team* team = nullptr;
  std::shared_ptr<Memory> memory{};
};

// All ranks call it with tables of one schema and alike options; the rows that are for this rank. Errors are those of
// all ranks, the rank's own first: CD-101, CD-102, CD-103, CD-105 and CD-303 of the rule, CD-105 if ranks pass
// different schemas or routes, CD-201, CD-603 and CD-617 of the communicator.
Result<BulkResult> bulk_exchange(const BulkContext& context,
                                 const Table& rows,
                                 const BulkRoute& route,
                                 const BulkOptions& options = {});

}  // namespace crossdock::bulk
