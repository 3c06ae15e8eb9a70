// What hwloc's objects are in the graph, one by one: which PCI devices are GPUs, NICs, drives and NVSwitches, and how
// the operating system calls them. Pure functions of objects of a topology that is loaded.
#pragma once

#include <hwloc.h>
#include <initializer_list>
#include <optional>
#include <string>

#include "topology/graph.hpp"

namespace crossdock::topology {

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

struct PciDevice {
  VertexKind kind;
  std::string name;  // of the operating system; "" where it has none
};

// "0000:07:00.0"
std::string bus_id_of(const PciAttributes& pci);

// Of a PCI device, or of a bridge's upper end; null for other objects.
const PciAttributes* pci_of(hwloc_obj_t object);

// The first kNameBytesMax bytes of what hwloc tells under `name`; "" where it does not.
std::string info_of(hwloc_obj_t object, const char* name);

// The operating system's device of one of these types below a PCI device, or null.
hwloc_obj_t os_device(hwloc_obj_t pci, std::initializer_list<hwloc_obj_osdev_type_t> types);

// What a PCI device is in the graph; nothing for devices that move no data of ours, and for NICs without a driver, such
// as virtual functions that were handed to a guest.
std::optional<PciDevice> device_of(hwloc_obj_t object);

}  // namespace crossdock::topology
