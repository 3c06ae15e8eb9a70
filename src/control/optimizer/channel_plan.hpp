// Which wires a channel uses: the paths between its endpoints, and the forwarding tables made of them.
//
// A plan holds the endpoints, one number per server, and what is planned once for all servers that look alike and take
// part alike (ServerPlan). Ways between two servers are put together when they are asked for, so memory is linear in
// the endpoints although every source can reach every destination. Immutable; const access from any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "control/optimizer/structure_paths.hpp"
#include "topology/graph.hpp"
#include "topology/paths.hpp"

namespace crossdock::control {

// What the channel is on one server, and on every other server of the same structure with the same endpoints.
struct ServerPlan {
  std::shared_ptr<const topology::ServerShape> shape;
  std::vector<topology::VertexIndex> sources;       // ascending
  std::vector<topology::VertexIndex> destinations;  // ascending
  bool sends_out = false;                           // a destination is on another server
  bool takes_in = false;                            // a source is on another server

  // Sources x destinations; null where both are the same vertex.
  std::vector<SectionPathsPtr> inside;
  std::vector<SectionPathsPtr> to_network;    // per source, if sends_out
  std::vector<SectionPathsPtr> from_network;  // per destination, if takes_in
  // Flow of all its sources together to the network, and from the network to all its destinations.
  double out_bytes_per_s = 0;
  double in_bytes_per_s = 0;

  int64_t memory_bytes() const;  // without the sets of paths, which the structure keeps
};

// How data can go from a source to a destination: vertices of one server, or of two joined by the network.
struct Way {
  // Both ends included; the network once, as a vertex of the source's server.
  std::vector<topology::Location> vertices;
  double bytes_per_s = 0;  // of its narrowest edge
  double latency_s = 0;
  // Its share of the largest flow that source and destination can have alone.
  double flow_bytes_per_s = 0;
};

class ChannelPlan {
 public:
  const topology::InfrastructureGraph& graph() const { return *graph_; }
  std::span<const topology::Location> sources() const { return *sources_; }  // ascending
  std::span<const topology::Location> destinations() const { return *destinations_; }

  // Servers with endpoints, ascending, and what is planned for each.
  std::span<const topology::ServerIndex> servers() const { return servers_; }
  const ServerPlan& server_plan(int server) const { return *parts_[part_of_[server]].plan; }

  // All ways, shortest sections first. Error kInvalidArgument: not a source, not a destination of this channel.
  // Empty if both are the same vertex, which needs no wire.
  Result<std::vector<Way>> ways(topology::Location source, topology::Location destination) const;

  // The table of every managed vertex of a server that has something to forward, by ascending vertex (section 4.4).
  // Servers with the same plan have the same tables. Error kInvalidArgument: the server has no endpoint here.
  struct VertexTable {
    topology::VertexIndex vertex = 0;
    topology::ForwardingTable table;
  };
  Result<std::vector<VertexTable>> tables(topology::ServerIndex server) const;

  // Own memory, and that of the server plans and sets of paths it shares with others.
  int64_t memory_bytes() const;

 private:
  friend class PlanBuilder;

  struct Part {
    std::shared_ptr<const ServerPlan> plan;
    topology::ShapeIndex structure = 0;
  };
  // How data come in from the network to one destination vertex, on all servers of a structure alike: a table names the
  // destination by these two, so a relay on any of those servers must know every way that any of them uses.
  struct Arrival {
    topology::ShapeIndex structure = 0;
    topology::VertexIndex destination = 0;
    uint32_t servers = 0;  // that have it
    SectionPathsPtr paths;
  };

  int find_server(topology::ServerIndex server) const;  // -1 if it has no endpoint
  const Arrival* find_arrival(topology::ShapeIndex structure,
                              topology::VertexIndex destination) const;

  std::shared_ptr<const topology::InfrastructureGraph> graph_;
  std::shared_ptr<const std::vector<topology::Location>> sources_,
      destinations_;  // one vector if they are equal
  std::vector<topology::ServerIndex> servers_;
  std::vector<uint32_t> part_of_;  // per server
  std::vector<Part> parts_;
  std::vector<Arrival> arrivals_;  // by (structure, destination)
};

}  // namespace crossdock::control
