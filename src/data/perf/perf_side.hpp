// One process's side of a measurement: the tables of its sources, what its destinations should get, its threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "data/channels/levels.hpp"
#include "data/perf/block_loop.hpp"
#include "data/perf/copy_rates.hpp"
#include "data/perf/meeting.hpp"
#include "data/perf/run_perf.hpp"

namespace crossdock::perf {

// One thread between its runs. `end` and `waited_s` are of the last.
struct BlockState {
  int source = -1;       // place among the channel's sources; -1: the endpoint is none
  int destination = -1;  // likewise
  int block = 0;         // of its endpoint
  Block window;          // as large as what the channel holds for the endpoint, for the rates
  Meeting::Clock::time_point end;
  double waited_s = 0;
};

class PerfSide {
 public:
  // Makes tables and threads. CD-105, CD-201. Then all ranks call expect().
  static Result<std::unique_ptr<PerfSide>> make(const PerfContext& context,
                                                const PerfOptions& options,
                                                const Meeting& meeting);

  // Tells all ranks what each source sends to each destination.
  Status expect(Meeting& meeting);
  // Copying and reading, of the slowest rank, and the links' rate, of the slowest host; 0 if one of them does not know
  // it. All ranks.
  Result<CopyRates> rates(Meeting& meeting);
  // What the busiest thread of all ranks has to do.
  PredictedWork work(const Meeting& meeting) const;

  // All ranks.
  Result<std::shared_ptr<channels::Channel>> open_channel(uint64_t id) const;
  // Opens what the blocks of this process need.
  Status open(channels::Channel& channel, Checks checks);
  // Runs what was opened, from `start` on. An error of a block has closed the channel for the others.
  Status run(channels::Channel& channel, Meeting::Clock::time_point start);
  // Of the last run, by the destinations of this process; answers at least how many rows are wrong.
  uint64_t wrong_rows() const;

  const std::vector<BlockState>& blocks() const { return blocks_; }
  const PatternEnds& ends() const { return ends_; }
  int64_t rows_per_source() const { return rows_per_source_; }
  bool is_source_here(int source) const;
  // Whether the flow's begin is in this process: at a source, or at a relay of the second level.
  bool begins_here(const channels::FlowCounters& flow) const;
  // Whether it leads from an endpoint to another. Those of a broadcast lead to processes, and all count.
  bool leaves_its_endpoint(const channels::FlowCounters& flow) const;

 private:
  PerfSide() = default;
  channels::ChannelSpec channel_spec(uint64_t id) const;
  double known_link_rate() const;
  double busiest_host_bytes() const;
  channels::NodePlacement placement() const;
  Status make_tables();
  Status make_blocks();
  Result<double> timed(Meeting& meeting,
                       const std::function<void(BlockState&)>& act,
                       bool takes_part);
  int endpoint_rank(int endpoint) const { return endpoint / options_.endpoints_per_rank; }
  int64_t window_bytes() const;

  PerfContext context_;
  PerfOptions options_;
  int rank_ = 0;
  int endpoints_ = 0;
  PatternEnds ends_;
  int64_t rows_per_source_ = 0;
  std::shared_ptr<const MadeRows> made_rows_;
  std::vector<Batch> tables_;                        // by source; empty for those of other ranks
  std::vector<std::vector<RowTotals>> expected_;     // by destination, by source
  std::vector<std::vector<uint64_t>> rows_between_;  // likewise
  std::vector<BlockState> blocks_;
  std::vector<RowTally> tallies_;                  // by block
  std::vector<std::unique_ptr<BlockLoop>> loops_;  // by block
  std::unique_ptr<Team> team_;
};

}  // namespace crossdock::perf
