#include "topology/hwloc_devices.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text_cut.hpp"

namespace crossdock::topology {
namespace {

constexpr unsigned kClassEthernet = 0x0200;
constexpr unsigned kClassNvme = 0x0108;
constexpr unsigned kClassVga = 0x0300;
constexpr unsigned kClass3d = 0x0302;
constexpr unsigned kClassDisplay = 0x0380;      // AMD's Instinct up to MI250
constexpr unsigned kClassAccelerator = 0x1200;  // and from MI300 on
constexpr unsigned kClassBridgeOther = 0x0680;
constexpr unsigned kVendorNvidia = 0x10de;
constexpr unsigned kVendorAmd = 0x1002;
// What servers show their console with: of the vendor of GPUs, and none. Rage XL, RV100 and two ES1000.
constexpr unsigned short kConsoleDisplays[] = {0x4752, 0x5159, 0x515e, 0x5969};

bool is_gpu(const PciAttributes& pci) {
  const unsigned kind = pci.class_id;
  if (kind == kClass3d) return true;
  if (pci.vendor_id == kVendorNvidia) return kind == kClassVga;
  if (pci.vendor_id != kVendorAmd || std::ranges::count(kConsoleDisplays, pci.device_id) > 0)
    return false;
  return kind == kClassVga || kind == kClassDisplay || kind == kClassAccelerator;
}

}  // namespace

std::string bus_id_of(const PciAttributes& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:01x}", pci.domain, pci.bus, pci.dev, pci.func);
}

const PciAttributes* pci_of(hwloc_obj_t object) {
  if (object->type == HWLOC_OBJ_PCI_DEVICE) return &object->attr->pcidev;
  const bool is_pci_bridge = object->type == HWLOC_OBJ_BRIDGE &&
                             object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
  return is_pci_bridge ? &object->attr->bridge.upstream.pci : nullptr;
}

std::string info_of(hwloc_obj_t object, const char* name) {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? "" : std::string(first_characters(value, kNameBytesMax));
}

hwloc_obj_t os_device(hwloc_obj_t pci, std::initializer_list<hwloc_obj_osdev_type_t> types) {
  for (const hwloc_obj_osdev_type_t type : types) {
    for (hwloc_obj_t child = pci->io_first_child; child != nullptr; child = child->next_sibling) {
      if (child->type == HWLOC_OBJ_OS_DEVICE && child->attr->osdev.type == type && child->name)
        return child;
    }
  }
  return nullptr;
}

std::optional<PciDevice> device_of(hwloc_obj_t object) {
  if (object->type != HWLOC_OBJ_PCI_DEVICE) return std::nullopt;
  const PciAttributes& pci = object->attr->pcidev;
  // hwloc's NVML plugin names NVSwitches, also those whose PCI class cannot be read.
  if (object->subtype != nullptr && std::string_view(object->subtype) == "NVSwitch") {
    return PciDevice{VertexKind::kNvswitch, ""};
  }
  if (is_gpu(pci)) return PciDevice{VertexKind::kGpu, ""};
  if (pci.class_id >> 8 == kClassEthernet >> 8) {
    const hwloc_obj_t port =
        os_device(object, {HWLOC_OBJ_OSDEV_OPENFABRICS, HWLOC_OBJ_OSDEV_NETWORK});
    if (port == nullptr) return std::nullopt;
    return PciDevice{VertexKind::kNic, port->name};
  }
  if (pci.class_id == kClassNvme) {
    const hwloc_obj_t block = os_device(object, {HWLOC_OBJ_OSDEV_BLOCK});
    return PciDevice{VertexKind::kDrive, block == nullptr ? "" : block->name};
  }
  if (pci.class_id == kClassBridgeOther && pci.vendor_id == kVendorNvidia) {
    return PciDevice{VertexKind::kNvswitch, ""};
  }
  return std::nullopt;
}

}  // namespace crossdock::topology
