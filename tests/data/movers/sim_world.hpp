// Processes joined by simulated links, each with a mover, and rows that go from sources to sinks. One thread plays all
// of them, in an order that a seed chooses; the clock goes on only when none can move. Sinks check that each row
// comes once, in the order of its flow.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/movers/mover.hpp"
#include "data/movers/sim_links.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/sequence_window.hpp"

namespace crossdock::movers::mover_test {

std::shared_ptr<const segments::RowLayout> two_longs(int64_t segment_bytes = 2048);

// Memory of a flow.
struct FlowMemory {
  explicit FlowMemory(const rings::RingShape& shape);
  std::vector<std::byte> bytes;
  rings::Flow flow;
};

struct SimFlow {
  FlowId id;
  int from = 0, to = 0;
  uint64_t segments = 0;
  int slot_bits = 2;
  bool is_full = false;      // all segments are; else of any number of rows
  double source_pace_s = 0;  // between segments
  double sink_pace_s = 0;
  std::vector<PathIndex> paths = {};  // among those of `from`; none: all

  std::shared_ptr<FlowMemory> out = nullptr, in = nullptr;
  std::unique_ptr<rings::SequenceWindow<rings::CpuRingTraits>> writer = nullptr;
  std::unique_ptr<rings::RingConsumer<rings::CpuRingTraits>> reader = nullptr;
  uint64_t put = 0, put_rows = 0, taken = 0, taken_rows = 0;
  double put_at = 0, take_at = 0;  // not before
  bool is_ended = false;
  bool has_end = false;
};

struct SimProcess {
  std::unique_ptr<Mover> mover;
  std::map<uint64_t, Error> failures;
};

class SimWorld {
 public:
  SimWorld(int ranks, std::vector<SimLinkSpec> links, MoverSettings settings, uint64_t seed);

  // Before the first run: paths to a peer. Its links, if it was never called.
  void add_path(int from, int to, size_t link);
  SimFlow& add_flow(SimFlow flow);

  // Until all flows are through, or none can be before `until_s`: then the states of all.
  Status run(double until_s);
  // Until nothing is left to tell.
  Status settle(double until_s);
  // Until that time, whatever happens.
  void run_until(double time_s);

  SimNet& net() { return net_; }
  SimProcess& process(int rank) { return processes_[static_cast<size_t>(rank)]; }
  std::vector<std::unique_ptr<SimFlow>>& flows() { return flows_; }
  LinkCounters counters(size_t link, int rank);
  std::string states() const;
  bool is_through() const;
  // Sums over all movers.
  uint64_t sum(uint64_t LinkCounters::*counter);

 private:
  void open();
  void join(const SimFlow& flow);
  bool move(size_t actor);
  bool move_source(SimFlow& flow);
  bool move_sink(SimFlow& flow);
  bool advance(double until_s);
  void run_idle();

  std::mt19937_64 random_;
  SimNet net_;
  std::vector<SimLinkSpec> specs_;
  MoverSettings settings_;
  std::vector<SimProcess> processes_;
  std::vector<std::vector<PathTo>> paths_;
  std::vector<std::unique_ptr<SimFlow>> flows_;
  std::shared_ptr<const segments::RowLayout> layout_ = two_longs();
  std::string broken_;  // what a sink found wrong
  bool is_open_ = false;
};

}  // namespace crossdock::movers::mover_test
