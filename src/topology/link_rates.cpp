// Rates by specification. Sources stand beside the numbers.
#include "topology/link_rates.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace crossdock::topology {

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

const NvlinkProduct* nvlink_product(std::string_view gpu_model) {
  constexpr std::string_view kBetween = " -_/";
  static constexpr std::array<NvlinkProduct, 12> kProducts = {{{"P100", 1, 4},
                                                               {"V100", 2, 6},
                                                               {"A100", 3, 12},
                                                               {"A800", 3, 8},
                                                               {"H100", 4, 18},
                                                               {"H200", 4, 18},
                                                               {"H800", 4, 8},
                                                               {"H20", 4, 18},
                                                               {"GH200", 4, 18},
                                                               {"B100", 5, 18},
                                                               {"B200", 5, 18},
                                                               {"GB200", 5, 18}}};
  while (!gpu_model.empty()) {
    const size_t end = std::min(gpu_model.find_first_of(kBetween), gpu_model.size());
    const auto product =
        std::ranges::find(kProducts, gpu_model.substr(0, end), &NvlinkProduct::word);
    if (product != kProducts.end()) return &*product;
    gpu_model.remove_prefix(std::min(end + 1, gpu_model.size()));
  }
  return nullptr;
}

Edge plain_link(LinkKind kind, double bytes_per_s) {
  Edge edge;
  edge.kind = kind;
  edge.bytes_per_s = bytes_per_s;
  return edge;
}

}  // namespace crossdock::topology
