// crossdock._native.topology_*: graphs cross as JSON, the same text that files hold.

#include "bindings/operation.hpp"
#include "bindings/results.hpp"
#include "topology/catalogue.hpp"
#include "topology/discovery.hpp"
#include "topology/graph_json.hpp"
#include "topology/link_rates.hpp"

namespace crossdock::python {
namespace {

nb::list machines() {
  nb::list rows;
  for (const topology::CatalogueEntry& entry : topology::catalogue()) {
    rows.append(nb::make_tuple(nb::str(entry.name.data(), entry.name.size()),
                               nb::str(entry.summary.data(), entry.summary.size()),
                               nb::str(entry.source.data(), entry.source.size()),
                               nb::str(entry.assumed.data(), entry.assumed.size()),
                               entry.servers,
                               entry.has_network));
  }
  return rows;
}

using Notes = std::vector<std::pair<std::string, std::string>>;

// A discovered server as a graph of one, named `server`.
std::pair<std::string, Notes> described(Result<topology::Discovery> discovery,
                                        const std::string& server) {
  topology::Discovery discovered = value_or_raise(std::move(discovery));
  Notes notes;
  for (const topology::ProbeNote& note : discovered.notes)
    notes.emplace_back(note.probe, note.what);
  topology::InfrastructureGraph graph;
  auto shape = std::make_shared<const topology::ServerShape>(
      value_or_raise(topology::make_shape(std::move(discovered.parts))));
  value_or_raise(graph.add_server(server, std::move(shape)));
  return {topology::graph_to_json(graph), notes};
}

}  // namespace

void bind_topology(nb::module_& module) {
  module.def("topology_machines", &machines);
  module.def(
      "topology_of_machine",
      [](const std::string& name) {
        return topology::graph_to_json(value_or_raise(topology::make_machine(name)));
      },
      "name"_a);
  module.def(
      "topology_from_json",
      [](const std::string& text) {
        return topology::graph_to_json(value_or_raise(topology::graph_from_json(text)));
      },
      "text"_a);
  module.def(
      "topology_from_hwloc",
      [](const std::string& xml, const std::string& server) {
        return described(topology::discover_from_hwloc_xml(xml), server);
      },
      "xml"_a,
      "server"_a);
  module.def(
      "topology_nvlink",
      [](const std::string& model) {
        const topology::NvlinkProduct* product = topology::nvlink_product(model);
        if (product == nullptr) return nb::object(nb::none());
        const double rate = topology::nvlink_bytes_per_s(product->generation);
        return nb::object(nb::make_tuple(product->generation, product->links, rate));
      },
      "model"_a,
      nb::sig("def topology_nvlink(model: str) -> tuple[int, int, float] | None"));
  module.def(
      "topology_of_host",
      [](const std::string& server, const std::string& nvml) {
        GilRelease released;
        return described(topology::discover_host("/sys", nvml), server);
      },
      "server"_a,
      "nvml"_a);
}

}  // namespace crossdock::python
