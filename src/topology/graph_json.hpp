// Graphs as JSON: what crossdock topo --json prints and --file reads. docs/topology.schema.json is its JSON Schema.
//
//   {"format": "crossdock-topology", "schema_version": 1,
//    "shapes": [{"vertices": [{"name": "gpu0", "kind": "gpu", ...}],
//                "edges": [{"from": "gpu0", "to": "nvswitch", "kind": "nvlink", "bytes_per_s": 3e11, ...}]}],
//    "servers": [{"name": "node0", "shape": 0}]}
//
// Shapes are written once however many servers have them, so a file grows with its servers by a name each.
#pragma once

#include <string>
#include <string_view>

#include "topology/graph.hpp"

namespace crossdock::topology {

inline constexpr int kGraphSchemaVersion = 1;
inline constexpr int64_t kGraphTextBytesMax = int64_t{64} << 20;

// One line without spaces, or with `indent` spaces per level. Equal graphs give equal JSON.
std::string graph_to_json(const InfrastructureGraph& graph, int indent = -1);

// The reverse. What a file says is simplified and validated like anything else (make_shape), so parallel links and
// several NVSwitches may be written as they are.
// Error kInvalidTopology, with the place ("shapes[0].edges[3].bytes_per_s"): no JSON; another format or version; a
// field that is missing, unknown (with the nearest name), twice there, or of another type; a name that no vertex has; a
// shape without a server; more than kGraphTextBytesMax bytes; whatever make_shape and add_server refuse.
Result<InfrastructureGraph> graph_from_json(std::string_view text);

}  // namespace crossdock::topology
