// One measurement of a pattern: rows are made, copying is measured, and then a channel is opened, used and checked as
// often as wanted. What `crossdock perf` and the benches run.
//
// Per endpoint there are `blocks` threads, which send and receive in turn. The first run looks at every row and is not
// timed; the timed ones read every value once and compare sums, as long as no other checks are wanted. A run lasts from
// the common start (Meeting) to when the last rank has sent, delivered and received everything.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/team.hpp"
#include "data/channels/channel.hpp"
#include "data/channels/data_plane.hpp"
#include "data/channels/sent_part.hpp"
#include "data/perf/pattern.hpp"
#include "data/perf/row_tally.hpp"
#include "data/ranks/rank_group.hpp"
#include "memory/budget.hpp"

namespace crossdock::perf {

struct PerfOptions {
  Pattern pattern = Pattern::kExchange;
  int64_t bytes_per_source = int64_t{64} << 20;
  int columns = 2;             // of 8 bytes each
  double zipf_theta = 0;       // of the keys
  int endpoints_per_rank = 1;  // threads of one process as sources and destinations
  int blocks = 1;              // threads per endpoint
  int64_t segment_bytes = int64_t{256} << 10;
  int slot_bits = channels::kSlotBitsByDistance;
  int64_t batch_rows = channels::kRowsPerSend;
  // Of a source, which sends it over and over. Larger than caches: rows are read from memory, as a program's are.
  int64_t table_bytes = int64_t{64} << 20;
  int levels = 1;  // 2: an exchange between nodes first, then inside each (two_level.hpp)
  int nodes = 0;   // that the endpoints are spread over, in order; 0: the hosts are the nodes
  // Of all links of a host together, each way; 0: as the transports know.
  double link_bytes_per_s = 0;
  int repeats = 5;
  Checks checks = Checks::kSums;  // of the timed runs
  bool traces = false;            // one more run, which is traced and not timed
  uint64_t seed = 1;
};

// What a measurement works with. One at a time.
struct PerfContext {
  channels::DataPlane* plane = nullptr;
  ranks::RankGroup* group = nullptr;  // that of the plane; null: a process alone
  std::shared_ptr<Memory> memory;
  uint64_t* next_channel_id = nullptr;  // the same in all ranks
  const CancelFlag* cancel = nullptr;
  std::chrono::milliseconds meet_within =
      std::chrono::minutes(2);  // in which all ranks come to each step
  // Called in every rank when a timed run is about to start; may be empty.
  std::function<void(int run)> on_timed_run = {};
};

// The same in all ranks, up to where it says otherwise.
struct PerfReport {
  int endpoints = 0;
  int sources = 0;
  int destinations = 0;
  int64_t row_bytes = 0;
  int64_t rows_per_source = 0;
  std::vector<double> seconds;  // per timed run: of the slowest rank
  uint64_t wrong_rows = 0;      // in all runs
  double predicted_s = 0;
  std::string bound;
  double copy_bytes_per_s = 0;  // of one thread, while all copy
  double read_bytes_per_s = 0;
  double link_bytes = 0;        // of a run, that leave or reach the busiest host, whichever is more
  double link_bytes_per_s = 0;  // that was counted with; 0: unknown
  // Of all timed runs together.
  uint64_t segments = 0;               // put into flows, from an endpoint to another or itself
  uint64_t messages = 0;               // segments of these from an endpoint to another
  uint64_t messages_second_level = 0;  // of these, inside nodes
  uint64_t rows = 0;                   // put into flows
  uint64_t refused = 0;                // sends for which there was no room
  double waited_share = 0;             // of the threads' time that they slept
  int64_t channel_bytes = 0;           // flows of one channel, of the process that has most
  int64_t memory_peak_bytes = 0;       // likewise
  // Of this rank and the last run, which is the traced one if there is one.
  uint64_t channel = 0;
  int64_t channel_here_bytes = 0;
  channels::ChannelCounters counters;
  std::vector<movers::LinkCounters> links;
  std::string trace;  // of all ranks, at rank 0 (trace_json); "" if none was wanted
};

// All ranks call it with the same options. CD-105 for an option outside its limits; CD-201; errors of channels and of
// the group, in all ranks alike; CD-401 where `cancel` was set.
Result<PerfReport> run_perf(const PerfContext& context, const PerfOptions& options);

}  // namespace crossdock::perf
