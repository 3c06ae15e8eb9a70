// The servers of the catalogue, one function each. Figures and their sources are in catalogue.cpp.
#pragma once

#include "topology/graph.hpp"

namespace crossdock::topology {

ServerParts dgx_1v(bool has_nics);
ServerParts dgx_2();
ServerParts dgx_a100(bool has_nics);
ServerParts hgx_h100();
ServerParts gh200();

// Four H100 with six NVLinks between each two, or the first of them; `nics` of them with a NIC of 200 Gb/s.
ServerParts h100_mesh(int gpus, int nics);

ServerParts pcie_server();         // Figure 2a: one CPU, two PCIe switches, four GPUs
ServerParts nvlink_mesh_server();  // Figure 2b: the same, and NVLinks between each two GPUs
ServerParts numa_server();         // Figure 2c: two CPUs, a PCIe switch with two GPUs each
ServerParts delta_d22x();  // Figure 2d: two CPUs with PCIe to two GPUs each, NVLinks between GPUs
ServerParts ac922();       // Figure 2e: two CPUs with NVLinks to two GPUs each
ServerParts ethernet_server();  // Figure 2h: one CPU, a GPU on PCIe, a NIC without access to it
ServerParts rdma_server();  // Figures 2i and 5c: two CPUs, each with a PCIe switch, a GPU and a NIC

}  // namespace crossdock::topology
