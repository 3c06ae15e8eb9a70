// How fast the threads of a measurement copy and read when that is all they do: what a run is compared with.
//
// No channel can be faster than to copy every row once, from the table to where the destination reads it, and to read
// it there, nor than the links of a host let rows out or in. So a run is predicted from the first two rates, measured
// on the same threads, all at the same time, just before, and from the rate of the links where that is known.
#pragma once

#include <cstdint>
#include <span>

#include "memory/budget.hpp"
#include "table/column.hpp"

namespace crossdock::perf {

inline constexpr int64_t kRateBytes = int64_t{32} << 20;  // that each thread copies, and reads

// Copies kRateBytes of a table, round and round, into `window` in pieces of `piece_bytes`.
void copy_for_rate(const Batch& table, std::span<std::byte> window, int64_t piece_bytes);
// Reads kRateBytes of `window`, round and round. Answers a sum of them.
uint64_t read_for_rate(std::span<const std::byte> window);

// Bytes per second of one thread.
struct CopyRates {
  double copy_bytes_per_s = 0;
  double read_bytes_per_s = 0;
  double link_bytes_per_s = 0;  // of all links of a host, each way; 0: unknown
};

// What one thread of a pattern does at most, and whether sending and receiving share the cores.
struct PredictedWork {
  double sent_bytes = 0;
  double received_bytes = 0;
  double link_bytes = 0;     // that leave or reach the host with most of them, whichever is more
  bool takes_turns = false;  // one thread does both, or there are fewer cores than threads
};
struct Prediction {
  double seconds = 0;
  const char* bound = "";  // what takes longest: "copying", "reading" or "links"
};
Prediction predict(const CopyRates& rates, const PredictedWork& work);

}  // namespace crossdock::perf
