// Which rings a channel on devices needs, and which of them a row may take next: forwarding tables, which say it of
// vertices, turned into numbers that a sorter looks up. A pure function; rings get their memory from a DeviceChannel.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "data/channels/levels.hpp"
#include "data/device/device_node.hpp"
#include "data/device/device_port.hpp"
#include "data/device/level_tables.hpp"
#include "data/rings/make_segment_layout.hpp"
#include "topology/paths.hpp"

namespace crossdock::device {

struct DeviceChannelSpec {
  std::vector<rings::LaneShape> lanes;  // of the columns; no strings
  // Sources and destinations by number, each on a vertex; a vertex is at most one of each. Several vertices may be
  // endpoints of one GPU.
  EndpointVertices endpoints;
  std::vector<topology::ForwardingTable> tables;  // of each vertex of the server
  std::vector<uint8_t> is_host;                   // of each vertex: its blocks are CPU threads
  // Of a channel whose rows go to all: who hands them on beside it. None: every source sends to every destination.
  std::optional<channels::LevelPlan> levels{};

  DeviceRule rule = DeviceRule::kNone;
  uint32_t key_lane = 0;
  bool key_is_signed = true;

  uint32_t blocks = 1;  // of each endpoint
  uint32_t rings_per_link =
      1;  // that share the rows of a link, so that as many sorters may take what arrives
  uint32_t stage_rows = 4096, link_rows = 65'536, final_rows = 4096;  // of a segment
  int stage_slot_bits = 2, link_slot_bits = 2, final_slot_bits = 2;
  uint32_t seal_after_idle = 64;  // steps of a sorter without work before unfinished segments leave
  // Whether the mover also copies between nodes of one device. It need not: there, what a sorter has written is the
  // window of the next node.
  bool copies_inside = false;
  double stuck_after_s = 0;  // DevicePort::stuck_after_ns
};

// From one vertex to another, into windows whose rows have passed `hop` links.
struct WiredLink {
  topology::VertexIndex from = 0;
  topology::VertexIndex to = 0;
  uint32_t hop = 1;

  auto operator<=>(const WiredLink&) const = default;
};

struct WiredNode {
  topology::VertexIndex vertex = 0;
  bool is_host = false;
  int source = -1;       // its number, or -1
  int destination = -1;  // the same
  std::vector<uint32_t>
      links_out;  // into links; link i of it has targets finals + i * rings_per_link ...
  std::vector<uint32_t> links_in;   // windows behind the stage rings, in the same way
  std::vector<DeviceRange> routes;  // [hop][destination]
  std::vector<uint16_t> choices;
  std::vector<DeviceRange> spreads;  // [hop]
  std::vector<uint16_t> spread_to;
};

struct DeviceWiring {
  std::vector<WiredNode> nodes;  // by vertex, those that take part
  std::vector<WiredLink> links;
};

// CD-105: no endpoints, too many, two of a kind on one vertex, a broken number of the spec; CD-102: strings; CD-602: no
// table leads from a source to a destination within kDeviceHopsMax links.
Result<DeviceWiring> wire_device_channel(const DeviceChannelSpec& spec);

}  // namespace crossdock::device
