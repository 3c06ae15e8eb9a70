// Rates by specification. Sources stand beside the numbers.
#include "topology/link_rates.hpp"

#include <array>

#include "base/check.hpp"

namespace crossdock {

double pcie_bytes_per_s(double transfers_per_s, int lanes) {
  const double share = transfers_per_s <= 5e9  ? 8.0 / 10.0
                     : transfers_per_s <= 32e9 ? 128.0 / 130.0
                                               : 236.0 / 256.0;
  return transfers_per_s * share / 8 * lanes;
}

double pcie_transfers_per_s(int generation) {
  constexpr std::array<double, 6> kRates = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  CD_CHECK(generation >= 1 && generation <= 6, "generation {}", generation);
  return kRates[static_cast<size_t>(generation - 1)];
}

Edge pcie_link(int generation, int lanes) {
  Edge edge =
      plain_link(LinkKind::kPcie, pcie_bytes_per_s(pcie_transfers_per_s(generation), lanes));
  edge.width = lanes;
  edge.full_width = lanes;
  return edge;
}

// NVIDIA's data sheets give both directions together: P100 160 GB/s over 4 links, V100 300 over 6, A100 600 over 12,
// H100 900 over 18, B200 1,800 over 18.
double nvlink_bytes_per_s(int generation) {
  constexpr std::array<double, 5> kRates = {20e9, 25e9, 25e9, 25e9, 50e9};
  CD_CHECK(generation >= 1 && generation <= 5, "generation {}", generation);
  return kRates[static_cast<size_t>(generation - 1)];
}

Edge nvlink_link(int generation, int links) {
  Edge edge = plain_link(LinkKind::kNvlink, nvlink_bytes_per_s(generation) * links);
  edge.width = links;
  edge.full_width = links;
  return edge;
}

Edge plain_link(LinkKind kind, double bytes_per_s) {
  Edge edge;
  edge.kind = kind;
  edge.bytes_per_s = bytes_per_s;
  return edge;
}

}  // namespace crossdock
