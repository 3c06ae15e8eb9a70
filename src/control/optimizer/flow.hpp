// Maximum flows inside one server's shape, as the paths that carry them.
//
// Edmonds and Karp's method: augment along a shortest path until there is none (J. ACM 19(2), 1972; MGI, section 4.3).
// It departs from the textbook in three places. Of several shortest paths the widest is taken, then the one with the
// fewest relays, so that results hang on capacities and not on the order of vertices. A path that undoes another is
// looked for only when no other is left, so that paths stay as short as they can. And no path has more relays than
// allowed: a relay takes data into its memory and sends them on, which costs a buffer and twice the memory bandwidth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/graph.hpp"

namespace crossdock::control {

// Which part of a way the paths are. A NIC leads out of its server or into it; it is no bridge between two devices of
// the server, although its edges would allow it.
enum class Section : uint8_t { kInside, kToNetwork, kFromNetwork };
inline constexpr int kSections = 3;

struct FlowPath {
  std::vector<topology::VertexIndex> vertices;  // both ends included
  double flow_bytes_per_s = 0;                  // its share of the flow, not its capacity
};

// Holds a shape's edges in the form that flows need. Not thread-safe; one call at a time. The shape must outlive it.
class FlowSolver {
 public:
  FlowSolver(const topology::ServerShape& shape, Section section, int relays_max);

  // The paths of a maximum flow from all `sources` together to all `sinks` together, each path once, shortest first.
  // No path passes through another source or sink, or through a drive. Exact as long as the flow needs no path with
  // more relays than allowed; otherwise what is left out is filled with allowed paths until none has room.
  // O(V E) augmentations of O(E x relays_max) in theory; in servers of today fewer than 20.
  std::vector<FlowPath> solve(std::span<const topology::VertexIndex> sources,
                              std::span<const topology::VertexIndex> sinks);

 private:
  // What a search may use: room that no path has taken; that, and the undoing of steps of other paths; taken room.
  enum class Search : uint8_t { kFree, kResidual, kFlowing };
  enum class Role : uint8_t {
    kBetween,
    kSink,
    kClosed
  };  // of a vertex: a search does not enter what is closed
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Arc {
    topology::VertexIndex from = 0;
    topology::VertexIndex to = 0;
    int64_t capacity = 0;  // bytes/s; whole numbers, so that "full" needs no tolerance
    int64_t flow = 0;
  };
  struct Step {
    uint32_t arc = kNone;
    bool undoes = false;  // taken backwards, by taking flow back
  };
  // An arrival at a vertex over so many relays, in the search that runs.
  struct Visit {
    uint32_t parent = kNone;  // visit; kNone at a source
    Step step;
    int32_t level = -1;  // edges from a source; -1 where the search has not been
    int64_t width = 0;
  };

  bool leads_on(const topology::Edge& edge) const;
  int64_t room(Step step, Search search) const;
  void try_step(uint32_t parent, Step step, Search search);
  // The best arrival at a sink, or kNone.
  uint32_t find(Search search);
  uint32_t best_arrival() const;
  FlowPath path_to(uint32_t arrival) const;
  void augment_while(Search search);
  void split_into_paths();
  void keep(FlowPath path);

  const topology::ServerShape& shape_;
  const Section section_;
  const uint32_t layers_;  // one per number of relays
  std::vector<Arc> arcs_;
  std::vector<uint32_t> out_begin_, in_begin_;  // per vertex and one more
  std::vector<uint32_t> in_arcs_;
  std::vector<Visit> visits_;  // per vertex and layer
  std::vector<uint32_t> queue_;
  std::vector<Role> roles_;
  std::span<const topology::VertexIndex> sources_, sinks_;
  int32_t sink_level_ = -1;
  bool has_undone_ = false;
  std::vector<FlowPath> flow_paths_;
};

}  // namespace crossdock::control
