// The name of a flow, the same in both processes, and what a mover counts of it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace crossdock::movers {

struct FlowId {
  uint64_t channel = 0;
  uint16_t source = 0;
  uint16_t outlet = 0;

  auto operator<=>(const FlowId&) const = default;
};

// Of an outgoing flow, while the mover has it.
struct MovedFlowCounters {
  FlowId id;
  uint64_t resent = 0;                                    // segments that were sent before
  uint64_t stalled_no_credit = 0, stalled_link_full = 0;  // turns in which that kept a segment
};

struct FlowIdHash {
  size_t operator()(const FlowId& id) const {
    const uint64_t ends = uint64_t{id.source} << 16 | id.outlet;
    // The finaliser of MurmurHash3, over both.
    uint64_t mixed = id.channel * 0x9E37'79B9'7F4A'7C15 ^ ends;
    mixed = (mixed ^ mixed >> 33) * 0xFF51'AFD7'ED55'8CCD;
    mixed = (mixed ^ mixed >> 33) * 0xC4CE'B9FE'1A85'EC53;
    return static_cast<size_t>(mixed ^ mixed >> 33);
  }
};

}  // namespace crossdock::movers
