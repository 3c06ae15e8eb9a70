// An exchange among endpoints of a machine by the real thing: controller, agents, forwarding tables, rings and
// movers, stepped under a virtual clock. Only rows are missing: a segment says how many it has.
//
// Each server is a process with an agent and a mover. A channel is asked for and planned, agents set up their parts,
// sources fill their rings, movers move, destinations take, and the channel is deleted. Faults happen on the way. What
// must hold is checked all the while: segments come once and in order, no ring has more than its slots, no link more
// frames than it may, and all that was sent arrives, or every server that misses something knows why.
//
// Pairs inside a server share their ring in the product, so they take wires here and no mover. Memory: some 3 KB a pair
// of endpoints. The same input gives the same output, to the last bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/chance.hpp"
#include "base/result.hpp"
#include "topology/graph.hpp"

namespace crossdock::sim {

struct SteppedFault {
  enum class Kind : uint8_t {
    kSlowNic,         // carries `share` of what it did
    kLostNic,         // both ends hear of it
    kSilentNic,       // neither does
    kDeadServer,      // process, agent and all
    kLostAgent,       // its connection to the controller breaks; it comes back
    kControllerDies,  // and is started again, knowing nothing
  };
  Kind kind = Kind::kSlowNic;
  double at_s = 0;
  uint32_t server = 0;
  uint32_t nic = 0;
  double share = 1;
};

struct SteppedTask {
  // Ascending; none: all GPUs, or all CPUs of a machine without any.
  std::vector<topology::Location> sources, destinations;
  double bytes_per_pair = 0;
  double segment_bytes = 1 << 20;
  int slot_bits = 1;  // 2^slot_bits segments of a pair at each end
  int depth = 8;      // frames that a link takes
  int outstanding = 4;
  double latency_s = 2e-6;     // of messages of the control plane, and least of a step
  double turn_s = 1e-6;        // a mover steps no more often
  std::vector<double> late_s;  // per server, when its sources begin
  std::vector<SteppedFault> faults;
};

struct SteppedExchange {
  double seconds =
      0;  // from the open channel to the last segment, or to the end of a channel that failed
  double open_s = 0;  // from the request to the open channel
  int64_t pairs = 0;  // between servers
  int64_t segments = 0;
  int64_t taken = 0;
  uint64_t frames = 0;  // put on links
  uint64_t resent = 0;
  uint64_t duplicates = 0;  // that came and were there already
  uint64_t notes = 0;
  uint64_t control_messages = 0;  // between controller and agents, both ways
  uint64_t events = 0;
  uint64_t steps = 0;  // of movers
  bool is_failed = false;
  std::vector<std::string> causes;  // that servers learned, each once
  std::string broken;               // what must not be; "": nothing
};

// All GPUs, or all CPUs of a machine without any.
std::vector<topology::Location> endpoints_of(const topology::InfrastructureGraph& graph);

// Error kInvalidArgument: a size, a machine of one server, or more endpoints than a channel may have.
Result<SteppedExchange> stepped_exchange(const topology::InfrastructureGraph& graph,
                                         const SteppedTask& task);

// Faults by chance, most of which an exchange survives; `about_s` is how long it takes without.
SteppedTask chance_stepped_faults(const topology::InfrastructureGraph& graph,
                                  SteppedTask task,
                                  double about_s,
                                  Chance& chance);

}  // namespace crossdock::sim
