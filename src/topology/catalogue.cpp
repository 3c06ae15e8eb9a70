// The list of known machines with the sources of their figures.
//
// PCIe and NVLink rates follow from generation and width (link_rates.hpp). What sockets carry between each other is
// hardly ever published for a product; such figures are links times the rate of one, and stand under `assumed`.
#include "topology/catalogue.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <fmt/ranges.h>

#include "base/text_cut.hpp"
#include "base/text_fields.hpp"
#include "topology/catalogue_servers.hpp"

namespace crossdock::topology {
namespace {

constexpr ErrorCode kCatalogueCode = ErrorCode::kInvalidTopology;

#define MGI_PAPER "Wu et al., MGI, PVLDB 19(9), 2026"
#define QPI_AND_UPI "rate of a QPI or UPI link: xryan.net/p/295"
#define A100_SUPERPOD "NVIDIA DGX SuperPOD reference architecture RA-09950-001"
#define ASSUMED_SWITCHED "the generation of PCIe (3.0 x16): the figure gives no rates"

constexpr std::array<CatalogueEntry, 25> kEntries = {{
    {"dgx-1v",
     "NVIDIA DGX-1 with 8 V100: hybrid cube mesh of NVLinks, 4 NICs of 100 Gb/s",
     "NVIDIA DGX-1 With Tesla V100 System Architecture (white paper, 2017); links between GPUs: "
     "nvidia-smi topo -m at "
     "gist.github.com/ashwin/e139748bdba15f5af63f0146d01ee4c3, part of them again in "
     "github.com/NVIDIA/nccl/issues/671; " QPI_AND_UPI,
     "two QPI links between the CPUs",
     1,
     true},
    {"dgx-2",
     "NVIDIA DGX-2: 16 V100 on NVSwitches, 8 NICs of 100 Gb/s",
     "PCIe tree and NVLinks: export of such a machine in the tests of hwloc "
     "(tests/hwloc/xml/nvidiaDGX2.xml); NICs: "
     "nvidia-smi topo -m in github.com/NVIDIA/nccl-tests/issues/78; " QPI_AND_UPI,
     "two UPI links between the CPUs; the NICs for storage are left out",
     1,
     true},
    {"dgx-a100",
     "NVIDIA DGX A100: 8 A100 on NVSwitches, 8 NICs of 200 Gb/s",
     "PCIe tree, NVLinks and NICs: topology dump in github.com/NVIDIA/nccl/issues/1505; two CPU "
     "vertices as in Figure 5b "
     "of " MGI_PAPER,
     "three xGMI links of 16 lanes at 16 GT/s between the CPUs; NICs and drives for storage are "
     "left out",
     1,
     true},
    {"hgx-h100",
     "NVIDIA HGX/DGX H100: 8 H100 on NVSwitches, a NIC of 400 Gb/s beside each",
     "NVLinks and NICs: nvidia-smi topo -m in github.com/NVIDIA/nccl/issues/1453; PCIe tree: "
     "topology dump in "
     "github.com/aliyun/SimAI/issues/128",
     "three UPI 2.0 links of 38.4 GB/s between the CPUs; NICs and drives for storage are left out",
     1,
     true},
    {"gh200",
     "NVIDIA GH200 Grace Hopper: a CPU and a GPU on one NVLink-C2C, a NIC of 400 Gb/s at the CPU",
     "NVIDIA Grace Hopper Superchip Architecture (white paper, 2023): NVLink-C2C of 900 GB/s in "
     "both directions together",
     "one NIC of 400 Gb/s on 16 lanes of PCIe 5.0: boards differ",
     1,
     true},
    {"superpod-a100",
     "DGX SuperPOD: n DGX A100 (20 of them: a scalable unit), 8 rails of 200 Gb/s",
     A100_SUPERPOD "; servers as dgx-a100",
     "a network that carries what all NICs send at once",
     20,
     true},
    {"superpod-h100",
     "DGX SuperPOD: n DGX H100 (32 of them: a scalable unit), 8 rails of 400 Gb/s",
     "servers as hgx-h100",
     "32 servers in a scalable unit (from memory); a network that carries what all NICs send at "
     "once",
     32,
     true},
    {"figure-2a",
     "one server, four GPUs on PCIe",
     MGI_PAPER ", Figures 2a and 5a",
     ASSUMED_SWITCHED,
     1,
     false},
    {"figure-2b",
     "one server, four GPUs with NVLinks between each two, and PCIe",
     MGI_PAPER ", Figure 2b; two NVLinks per pair as in its section 2.2",
     "PCIe 4.0 x16, the switches of Figure 2a",
     1,
     false},
    {"figure-2c",
     "one server, two CPUs with two GPUs each on PCIe",
     MGI_PAPER ", Figure 2c; " QPI_AND_UPI,
     ASSUMED_SWITCHED "; two UPI links",
     1,
     false},
    {"figure-2d",
     "one server, two CPUs, four V100 on PCIe and NVLinks (DELTA D22x M4 PS)",
     MGI_PAPER ", Figure 2d; Maltenberger et al., SIGMOD 2022; " QPI_AND_UPI,
     "how many NVLinks join which GPUs; three UPI links",
     1,
     false},
    {"figure-2e",
     "one server, two POWER9 with two V100 each on NVLinks (IBM AC922)",
     "IBM Power System AC922, Introduction and Technical Overview (REDP-5472): three NVLinks "
     "between CPU and GPU; " MGI_PAPER ", Figure 2e",
     "64 GB/s between the CPUs (from memory)",
     1,
     false},
    {"figure-2f",
     "one server, hybrid cube mesh: a DGX-1 without its NICs",
     "as dgx-1v; " MGI_PAPER ", Figure 2f",
     "two QPI links between the CPUs",
     1,
     false},
    {"figure-2g",
     "one server, NVSwitch: a DGX A100 without its NICs",
     MGI_PAPER ", Figures 2g and 5b; rates as dgx-a100",
     "three xGMI links of 16 lanes at 16 GT/s between the CPUs",
     1,
     false},
    {"figure-2h",
     "servers on Ethernet, no access from NIC to GPU",
     MGI_PAPER ", Figure 2h",
     "one GPU and a NIC of 10 Gb/s per server; PCIe 3.0",
     2,
     true},
    {"figure-2i",
     "servers on RDMA: two GPUs, two NICs that access them",
     MGI_PAPER ", Figures 2i and 5c; NICs of 100 Gb/s as in its section 2.2; " QPI_AND_UPI,
     ASSUMED_SWITCHED "; two UPI links",
     2,
     true},
    {"figure-2j",
     "servers on RDMA with NVSwitches: DGX A100",
     "as dgx-a100; " MGI_PAPER ", Figure 2j",
     "as dgx-a100",
     2,
     true},
    {"topo-1",
     "four H100, NVLinks between each two, and PCIe",
     MGI_PAPER ", sections 6.4 and 6.1, Table 5",
     "each GPU on 16 lanes of PCIe 5.0 of one CPU",
     1,
     false},
    {"topo-2",
     "three H100, NVLinks between each two, and PCIe",
     MGI_PAPER ", sections 6.4 and 6.1, Table 5",
     "as topo-1",
     1,
     false},
    {"topo-3",
     "two H100, NVLinks between them, and PCIe",
     MGI_PAPER ", sections 6.4 and 6.1, Table 5",
     "as topo-1",
     1,
     false},
    {"topo-4",
     "two servers of topo-2 with four NICs each",
     MGI_PAPER ", sections 6.4 and 6.1, Table 5",
     "as topo-1; every NIC accesses every GPU of its server",
     2,
     true},
    {"topo-5",
     "two servers of topo-3 with one NIC each",
     MGI_PAPER ", sections 6.4 and 6.1, Table 5",
     "as topo-4",
     2,
     true},
    {"testbed-1",
     "eight A100 on NVSwitches",
     MGI_PAPER ", Table 5: the topology of Figure 2g",
     "as figure-2g",
     1,
     false},
    {"testbed-2",
     "four H100, six NVLinks between each two",
     MGI_PAPER ", Table 5",
     "as topo-1",
     1,
     false},
    {"testbed-3",
     "three servers of four H100 and four NICs of 200 Gb/s",
     MGI_PAPER ", Table 5",
     "as topo-4",
     3,
     true},
}};

ServerParts server_of(std::string_view name) {
  struct Maker {
    std::string_view name;
    std::function<ServerParts()> make;
  };
  static const std::array<Maker, kEntries.size()> kMakers = {{
      {"dgx-1v", [] { return dgx_1v(true); }},
      {"dgx-2", dgx_2},
      {"dgx-a100", [] { return dgx_a100(true); }},
      {"hgx-h100", hgx_h100},
      {"gh200", gh200},
      {"superpod-a100", [] { return dgx_a100(true); }},
      {"superpod-h100", hgx_h100},
      {"figure-2a", pcie_server},
      {"figure-2b", nvlink_mesh_server},
      {"figure-2c", numa_server},
      {"figure-2d", delta_d22x},
      {"figure-2e", ac922},
      {"figure-2f", [] { return dgx_1v(false); }},
      {"figure-2g", [] { return dgx_a100(false); }},
      {"figure-2h", ethernet_server},
      {"figure-2i", rdma_server},
      {"figure-2j", [] { return dgx_a100(true); }},
      {"topo-1", [] { return h100_mesh(4, 0); }},
      {"topo-2", [] { return h100_mesh(3, 0); }},
      {"topo-3", [] { return h100_mesh(2, 0); }},
      {"topo-4", [] { return h100_mesh(3, 4); }},
      {"topo-5", [] { return h100_mesh(2, 1); }},
      {"testbed-1", [] { return dgx_a100(false); }},
      {"testbed-2", [] { return h100_mesh(4, 0); }},
      {"testbed-3", [] { return h100_mesh(4, 4); }},
  }};
  for (const Maker& maker : kMakers) {
    if (maker.name == name) return maker.make();
  }
  return {};  // an entry without a maker: refused as a server without vertices, and the test of all entries fails
}

Result<int> count_of(const CatalogueEntry& entry, std::string_view text) {
  int count = 0;
  if (!read_number(text, count) || count < 1 || count > kServersMax) {
    return make_error(kCatalogueCode,
                      "'{}:{}' does not say how many servers there are; write {}:{} or another "
                      "number from 1 to {}",
                      entry.name,
                      first_characters(text, 40),
                      entry.name,
                      entry.servers,
                      kServersMax);
  }
  if (count > 1 && !entry.has_network) {
    return make_error(kCatalogueCode,
                      "'{}' is one server without a network; {} of them cannot meet",
                      entry.name,
                      count);
  }
  return count;
}

}  // namespace

std::span<const CatalogueEntry> catalogue() { return kEntries; }

const CatalogueEntry* find_machine(std::string_view name) {
  for (const CatalogueEntry& entry : kEntries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

Result<InfrastructureGraph> make_machine(std::string_view name) {
  const size_t colon = name.find(':');
  const CatalogueEntry* entry = find_machine(name.substr(0, colon));
  if (entry == nullptr) {
    const std::string_view word = name.substr(0, std::min(colon, size_t{64}));
    std::vector<std::string> names;
    for (const CatalogueEntry& known : kEntries) names.emplace_back(known.name);
    const std::string near = nearest_name(word, names);
    const auto begins = [&](const std::string& known) { return known.starts_with(word); };
    if (std::ranges::any_of(names, begins)) std::erase_if(names, std::not_fn(begins));
    return make_error(kCatalogueCode,
                      "the catalogue has no machine '{}': {}",
                      first_characters(name, 64),
                      near.empty() ? fmt::format("it has {}", fmt::join(names, ", "))
                                   : fmt::format("did you mean '{}'?", near));
  }
  int servers = entry->servers;
  if (colon != std::string_view::npos) {
    CD_ASSIGN(servers, count_of(*entry, name.substr(colon + 1)));
  }
  CD_ASSIGN(ServerShape server, make_shape(server_of(entry->name)));
  const auto shape = std::make_shared<const ServerShape>(std::move(server));
  InfrastructureGraph graph;
  for (int i = 0; i < servers; ++i) {
    const Result<ServerIndex> added = graph.add_server(fmt::format("node{}", i), shape);
    if (!added.ok()) return added.error();
  }
  return graph;
}

}  // namespace crossdock::topology
