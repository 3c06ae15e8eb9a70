// Ranks as threads that exchange random tables, and what each should get by plain counting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/bulk/bulk_exchange.hpp"

namespace crossdock::bulk {

enum class RouteKind : uint8_t { kKey, kHash, kNumber, kRange, kNamed, kAll };

struct BulkTrial {
  uint64_t seed = 0;
  int ranks = 1;
  int ranks_per_host = 0;
  int threads = 1;
  int64_t rows_max = 300;
  RouteKind route = RouteKind::kHash;
  std::vector<int> destination_ranks{};
  std::vector<std::string> formats{};
  BulkOptions options{};

  std::string text() const;
};

BulkTrial random_bulk_trial(uint64_t seed);

// What came of a trial, by rank.
struct BulkOutcome {
  std::vector<std::vector<std::string>> rows;  // as row_text, in their order
  std::vector<std::vector<std::string>> expected;
  std::vector<BulkFacts> facts;
  std::vector<int64_t> batches;
  std::vector<int64_t> peak_bytes;
  std::string error;       // of any rank; "": none
  int64_t bytes_left = 0;  // of all budgets, when tables and communicators are gone
};
BulkOutcome run_bulk_trial(const BulkTrial& trial);

}  // namespace crossdock::bulk
