// What sorters and blocks of an endpoint on a device work on, as plain values that a kernel takes as they are: rings by
// number, and where rows go from here.
//
// A node is a managed vertex of a channel: a source, a destination, a relay, or several of these. Its inputs are the
// stage rings of its own blocks and the windows into which movers copy from other nodes; its targets are the final
// rings of its own blocks and the sort rings, from which movers copy. A row comes in with the links that it has passed
// (its hop), which is the virtual channel of its ring: rows of hop h wait for rings of hop h + 1, never the other way
// round, so relays can form no circle that waits for itself.
//
// Rows carry a mark in the last lane of their segment: the number of their destination, or kToAll. A sorter that has
// passed a row on marks it kForwarded, so a segment whose rows go to a full ring and to free ones needs no list of what
// is left: it is the list.
//
// Who owns it: a DeviceChannel. Bounds: the constants below.
#pragma once

#include <cstdint>

#include "data/rings/ring.hpp"
#include "data/rings/segment_layout.hpp"

namespace crossdock::device {

inline constexpr uint32_t kDeviceDestinationsMax = 256;
inline constexpr uint32_t kDeviceInputsMax = 1024;
inline constexpr uint32_t kDeviceHopsMax = 2;      // links that a row may pass
inline constexpr uint32_t kDeviceTileRows = 2048;  // that a sorter orders at once

inline constexpr uint16_t kToAll = 0xFFFF;
inline constexpr uint16_t kForwarded = 0xFFFE;

// A ring and where the lanes of its segments lie.
struct DeviceRing {
  rings::Ring ring;
  const rings::SegmentLayout* layout = nullptr;
  uint32_t hop = 0;  // of an input: links that its rows have passed
};

struct DeviceRange {
  uint16_t first = 0;
  uint16_t count = 0;
};

struct DeviceNode {
  const DeviceRing* inputs = nullptr;  // stage rings by block, then windows
  uint32_t input_count = 0;
  uint32_t stage_count = 0;
  const DeviceRing* targets = nullptr;  // final rings by block, then sort rings
  uint32_t target_count = 0;
  uint32_t final_count = 0;

  uint32_t destinations = 0;
  const DeviceRange* routes = nullptr;   // [hop][destination]: some of `choices`
  const uint16_t* choices = nullptr;     // targets that are as good as each other
  const DeviceRange* spreads = nullptr;  // [hop]: some of `spread_to`
  const uint16_t* spread_to = nullptr;   // destinations that get a copy of what is for all

  uint32_t* cursors =
      nullptr;  // [input][destination]: rows of the oldest segment that a copy was made of
  uint64_t* sent = nullptr;  // [destination], and one more for all: rows that left stage rings
  uint64_t* progress =
      nullptr;  // steps that moved something; what the host looks at before it gives up
  uint64_t* ended_blocks = nullptr;  // blocks of this source that have begun their last flush
  uint64_t* reported = nullptr;      // 1: `ends` are written
  uint64_t* ends = nullptr;  // [destination]: 1 + the rows from this source, in memory that all see
  const uint32_t* finish = nullptr;  // not 0: sorters are done; in memory that the host writes
  uint32_t seal_after_idle = 1;      // steps with nothing to do before unfinished segments leave
};

}  // namespace crossdock::device
