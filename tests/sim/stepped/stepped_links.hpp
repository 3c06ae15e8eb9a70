// The links of real movers on a virtual clock: a frame takes the time of its size on the wires between two servers, and
// carries only the few bytes that it has.
//
// A row of a frame stands for `bytes_per_row` bytes on the wire. Its lane has a byte a row, and rates are stated in
// those bytes, so that all that movers reckon with them comes out in seconds of the machine. Between two servers there
// is a link for each NIC that both have. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "data/transports/link.hpp"
#include "sim/stepped/chunk_network.hpp"
#include "topology/graph.hpp"

namespace crossdock::sim {

struct SteppedServer {
  std::shared_ptr<const topology::ServerShape> shape;
  LinkNumber first_link = 0;                // of the network: the shape's edges, in their order
  std::vector<topology::VertexIndex> nics;  // ascending
  bool sends = true;                        // in the channel
  bool gets = true;
  bool is_dead = false;  // says and hears nothing

  LinkNumber link(topology::VertexIndex from, topology::VertexIndex to) const;
};

struct LinkOptions {
  double bytes_per_row = 1;
  double header_bytes = 64;
  int depth = 8;            // frames that a link takes before it says "not now"
  double latency_s = 1e-6;  // of an edge whose latency the graph does not know
};

class SteppedLinks {
 public:
  // Between which vertices the frames of a flow go, by its numbers.
  struct Ends {
    topology::VertexIndex source = 0;       // on the server that sends
    topology::VertexIndex destination = 0;  // on the one that gets
  };
  using EndsOf = std::function<Ends(const rings::SegmentHeader& header)>;
  // What a server does in the one channel that there is: links join those of which one sends and the other gets.
  struct Role {
    std::shared_ptr<const topology::ServerShape> shape;
    bool sends = true;
    bool gets = true;
  };

  // Adds the edges of all servers to the network, which is used by this alone. Servers are the movers' ranks.
  SteppedLinks(VirtualClock& clock,
               ChunkNetwork& network,
               const std::vector<Role>& roles,
               LinkOptions options,
               EndsOf ends_of);
  ~SteppedLinks();

  // A server has something to take from its links. Not called of dead ones.
  void on_woken(std::function<void(uint32_t server)> woken) { woken_ = std::move(woken); }
  // A frame was put in its place at a server, within a step of its mover.
  void on_placed(std::function<void(uint32_t server, const rings::SegmentHeader&)> placed) {
    placed_ = std::move(placed);
  }
  transports::Transport& transport(uint32_t server);
  const SteppedServer& server(uint32_t server) const { return servers_[server]; }

  // No byte gets over a NIC any more. Both ends of its links hear of it, or find out by silence.
  void lose_nic(uint32_t server, size_t nic, bool is_announced);
  // A NIC carries less from now on, both ways.
  void slow_nic(uint32_t server, size_t nic, double share);
  void kill(uint32_t server);

 private:
  class End;
  class ServerLinks;
  struct Frame {
    End* from = nullptr;
    uint64_t token = 0;  // the mover's
    rings::SegmentHeader header;
    std::vector<std::byte> payload;
  };

  LinkPath path_of(const End& from, const Ends& ends);
  const std::vector<LinkNumber>& inside(const topology::ServerShape& shape,
                                        topology::VertexIndex from,
                                        topology::VertexIndex to);
  // Links between two servers: none if they have nothing for each other.
  size_t links_between(uint32_t one, uint32_t other) const;
  void left(uint64_t frame);
  void arrived(uint64_t frame);
  // Frames and notes have numbers until they are taken, or lost; their memory is used again.
  template <typename T>
  struct Pool {
    std::deque<T> all;  // addresses stay
    std::vector<uint64_t> free;
    uint64_t take();
  };

  VirtualClock& clock_;
  ChunkNetwork& network_;
  std::vector<SteppedServer> servers_;
  const LinkOptions options_;
  const EndsOf ends_of_;
  std::function<void(uint32_t)> woken_ = [](uint32_t) {};
  std::function<void(uint32_t, const rings::SegmentHeader&)> placed_ =
      [](uint32_t, const rings::SegmentHeader&) {};
  std::vector<std::unique_ptr<ServerLinks>> links_;  // per server
  Pool<Frame> frames_;
  Pool<std::vector<std::byte>> notes_;
  using Section =
      std::tuple<const topology::ServerShape*, topology::VertexIndex, topology::VertexIndex>;
  std::map<Section, std::vector<LinkNumber>> inside_;  // places among the shape's edges
};

}  // namespace crossdock::sim
