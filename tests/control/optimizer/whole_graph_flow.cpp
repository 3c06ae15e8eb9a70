// See whole_graph_flow.hpp.
#include "control/optimizer/whole_graph_flow.hpp"

#include <cmath>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

namespace crossdock::control {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS,
    boost::vecS,
    boost::directedS,
    boost::no_property,
    boost::property<
        boost::edge_capacity_t,
        int64_t,
        boost::property<boost::edge_residual_capacity_t,
                        int64_t,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

void add_edge(FlowGraph& graph, size_t from, size_t to, int64_t capacity) {
  const auto forward = boost::add_edge(from, to, graph).first;
  const auto backward = boost::add_edge(to, from, graph).first;
  boost::put(boost::edge_capacity, graph, forward, capacity);
  boost::put(boost::edge_capacity, graph, backward, 0);
  boost::put(boost::edge_reverse, graph, forward, backward);
  boost::put(boost::edge_reverse, graph, backward, forward);
}

}  // namespace

double whole_graph_flow(const topology::InfrastructureGraph& graph,
                        std::span<const topology::Location> sources,
                        std::span<const topology::Location> sinks,
                        const EdgeFilter& counts) {
  // A NIC is two vertices: one on the way out, one on the way in.
  const size_t vertices = graph.vertex_count();
  const size_t source = 2 * vertices;
  const size_t sink = source + 1;
  FlowGraph flow(sink + 1);
  for (topology::ServerIndex server = 0;
       server < static_cast<topology::ServerIndex>(graph.server_count());
       ++server) {
    const topology::ServerShape& shape = graph.shape(server);
    for (const topology::Edge& edge : shape.edges()) {
      if (!counts(server, edge)) continue;
      size_t from = graph.global({server, edge.from});
      size_t to = graph.global({server, edge.to});
      const bool comes_in = shape.kind(edge.from) == topology::VertexKind::kNetwork;
      const bool leads_out = shape.kind(edge.to) == topology::VertexKind::kNetwork;
      if (shape.kind(edge.from) == topology::VertexKind::kNic && !leads_out) from += vertices;
      if (shape.kind(edge.to) == topology::VertexKind::kNic && comes_in) to += vertices;
      add_edge(flow, from, to, std::llround(edge.bytes_per_s));
    }
  }
  constexpr int64_t kUnbounded = int64_t{1} << 50;
  for (const topology::Location location : sources)
    add_edge(flow, source, graph.global(location), kUnbounded);
  for (const topology::Location location : sinks)
    add_edge(flow, graph.global(location), sink, kUnbounded);
  return static_cast<double>(boost::push_relabel_max_flow(flow, source, sink));
}

}  // namespace crossdock::control
