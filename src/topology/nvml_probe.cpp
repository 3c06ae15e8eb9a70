#include "topology/nvml_probe.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/ranges.h>

namespace crossdock::topology {
namespace {

constexpr unsigned kNameBytes = 96;

// nvmlNvlinkVersion_t: 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0.
int generation_of(unsigned version) {
  constexpr std::array<int, 8> kGenerations = {0, 1, 2, 2, 3, 3, 4, 5};
  return version < kGenerations.size() ? kGenerations[version] : 0;
}

std::string bus_id_of(const NvmlPciInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

class NvmlReader {
 public:
  explicit NvmlReader(const NvmlCalls& calls) : calls_(calls) {}

  NvmlAnswer read() {
    if (!calls_.init || !calls_.shutdown || !calls_.count || !calls_.device || !calls_.pci) {
      note("the library lacks calls without which GPUs cannot be listed");
      return std::move(answer_);
    }
    const int started = calls_.init();
    if (started != kNvmlSuccess) {
      note(fmt::format("NVML does not start: {}", words_of(started)));
      return std::move(answer_);
    }
    read_gpus();
    read_peer_access();
    calls_.shutdown();
    for (const auto& [failure, gpus] : failures_) {
      note(fmt::format(
          "{} of GPU {}: {}", failure.first, fmt::join(gpus, ", "), words_of(failure.second)));
    }
    return std::move(answer_);
  }

 private:
  void note(std::string what) { answer_.notes.push_back({"nvml", std::move(what)}); }

  std::string words_of(int code) const {
    const char* text = calls_.error_text ? calls_.error_text(code) : nullptr;
    return fmt::format("{} ({})", text == nullptr ? "error" : text, code);
  }

  // Whether a call was answered; keeps what was not.
  bool is_answered(const char* call, unsigned gpu, int code) {
    if (code == kNvmlSuccess) return true;
    failures_[{call, code}].push_back(gpu);
    return false;
  }

  // The answer of a call with one number; nothing where it is missing or fails.
  std::optional<unsigned> number(const char* call,
                                 int (*ask)(NvmlDevice, unsigned*),
                                 NvmlDevice device,
                                 unsigned gpu) {
    unsigned value = 0;
    if (ask == nullptr || !is_answered(call, gpu, ask(device, &value))) return std::nullopt;
    return value;
  }

  void read_gpus() {
    unsigned count = 0;
    const int listed = calls_.count(&count);
    if (listed != kNvmlSuccess) {
      note(fmt::format("GPUs cannot be counted: {}", words_of(listed)));
      return;
    }
    if (count > kNvmlGpusMax)
      note(fmt::format("of {} GPUs the first {} are read", count, kNvmlGpusMax));
    for (unsigned index = 0; index < std::min(count, kNvmlGpusMax); ++index) read_gpu(index);
  }

  void read_gpu(unsigned index) {
    NvmlDevice device = nullptr;
    if (!is_answered("nvmlDeviceGetHandleByIndex", index, calls_.device(index, &device))) return;
    NvmlPciInfo pci = {};
    if (!is_answered("nvmlDeviceGetPciInfo", index, calls_.pci(device, &pci))) return;
    NvmlGpu gpu;
    gpu.index = index;
    gpu.bus_id = bus_id_of(pci);
    std::array<char, kNameBytes> name = {};
    if (calls_.name &&
        is_answered("nvmlDeviceGetName", index, calls_.name(device, name.data(), kNameBytes))) {
      name.back() = '\0';
      gpu.name = name.data();
      const auto is_odd = [](char c) { return c < ' ' || c > '~'; };
      std::ranges::replace_if(gpu.name, is_odd, '?');
    }
    NvmlMemoryInfo memory = {};
    if (calls_.memory &&
        is_answered("nvmlDeviceGetMemoryInfo", index, calls_.memory(device, &memory))) {
      gpu.memory_bytes =
          static_cast<int64_t>(std::min<unsigned long long>(memory.total_bytes, INT64_MAX));
    }
    read_pcie(device, gpu);
    unsigned has_c2c = 0;
    const int code = calls_.c2c ? calls_.c2c(device, &has_c2c) : kNvmlNotSupported;
    gpu.has_c2c = code != kNvmlNotSupported &&
                  is_answered("nvmlDeviceGetC2cModeInfoV", index, code) && has_c2c != 0;
    read_links(device, gpu);
    answer_.gpus.push_back(std::move(gpu));
    devices_.push_back(device);
  }

  void read_pcie(NvmlDevice device, NvmlGpu& gpu) {
    constexpr unsigned kGenerationMax = 6;
    constexpr unsigned kLanesMax = 32;
    const auto generation =
        number("nvmlDeviceGetMaxPcieLinkGeneration", calls_.pcie_generation, device, gpu.index);
    const auto lanes =
        number("nvmlDeviceGetCurrPcieLinkWidth", calls_.pcie_width, device, gpu.index);
    const auto full =
        number("nvmlDeviceGetMaxPcieLinkWidth", calls_.pcie_full_width, device, gpu.index);
    if (generation && *generation > kGenerationMax) {
      note(fmt::format("the PCIe link of GPU {} is of generation {}, whose rate is not known",
                       gpu.index,
                       *generation));
    }
    if (generation && *generation <= kGenerationMax)
      gpu.pcie_generation = static_cast<int>(*generation);
    if (lanes && *lanes <= kLanesMax) gpu.lanes = static_cast<int>(*lanes);
    if (full && *full <= kLanesMax) gpu.full_lanes = static_cast<int>(*full);
  }

  void read_links(NvmlDevice device, NvmlGpu& gpu) {
    if (!calls_.link_state) return;
    for (unsigned link = 0; link < kNvmlLinksMax; ++link) {
      unsigned is_active = 0;
      const int code = calls_.link_state(device, link, &is_active);
      // How a GPU says that it has no such link, or none at all.
      if (code == kNvmlInvalidArgument || code == kNvmlNotSupported) break;
      if (!is_answered("nvmlDeviceGetNvLinkState", gpu.index, code)) return;
      if (is_active != 0) gpu.links.push_back(read_link(device, gpu.index, link));
    }
    answer_.tells_nvlinks = true;
  }

  NvmlLink read_link(NvmlDevice device, unsigned gpu, unsigned link) {
    NvmlLink facts;
    unsigned value = 0;
    if (calls_.link_version &&
        is_answered("nvmlDeviceGetNvLinkVersion", gpu, calls_.link_version(device, link, &value))) {
      facts.generation = generation_of(value);
    }
    if (calls_.link_peer_kind && is_answered("nvmlDeviceGetNvLinkRemoteDeviceType",
                                             gpu,
                                             calls_.link_peer_kind(device, link, &value))) {
      facts.peer_kind = value;
    }
    NvmlPciInfo pci = {};
    // NVSwitches of newer servers are no PCI devices of the host, and need no address here.
    if (calls_.link_peer == nullptr) return facts;
    const int code = calls_.link_peer(device, link, &pci);
    const bool is_needed = facts.peer_kind != kNvmlPeerSwitch;
    if (code == kNvmlSuccess ||
        (is_needed && is_answered("nvmlDeviceGetNvLinkRemotePciInfo", gpu, code))) {
      facts.peer_bus_id = bus_id_of(pci);
      facts.peer_vendor = pci.device_and_vendor & 0xFFFF;
    }
    return facts;
  }

  // GPUs whose memory others cannot read, by reason.
  void read_peer_access() {
    if (!calls_.peer_access) return;
    constexpr std::array<const char*, 7> kReasons = {"",
                                                     "the chipset does not support it",
                                                     "the GPU does not support it",
                                                     "their place in the machine does not allow it",
                                                     "the driver is set not to allow it",
                                                     "it is not supported",
                                                     "NVML does not know why"};
    std::map<size_t, int> refused;
    int pairs = 0;
    for (size_t a = 0; a < devices_.size(); ++a) {
      for (size_t b = a + 1; b < devices_.size(); ++b) {
        unsigned status = 0;
        const int code = calls_.peer_access(devices_[a], devices_[b], kNvmlReadsPeers, &status);
        if (!is_answered("nvmlDeviceGetP2PStatus", answer_.gpus[a].index, code)) break;
        ++pairs;
        if (status != 0) ++refused[std::min<size_t>(status, kReasons.size() - 1)];
      }
    }
    for (const auto& [status, count] : refused) {
      note(
          fmt::format("{} of {} pairs of GPUs cannot read each other's memory: {}. What they send "
                      "each other goes through host memory",
                      count,
                      pairs,
                      kReasons[status]));
    }
  }

  const NvmlCalls& calls_;
  NvmlAnswer answer_;
  std::vector<NvmlDevice> devices_;  // of the answer's GPUs
  std::map<std::pair<std::string, int>, std::vector<unsigned>> failures_;
};

}  // namespace

NvmlAnswer ask_nvml(const NvmlCalls& calls) { return NvmlReader(calls).read(); }

NvmlAnswer ask_nvml_library(const std::string& path) {
  const Result<NvmlLibrary> library = NvmlLibrary::open(path);
  if (!library.ok()) {
    NvmlAnswer nothing;
    nothing.notes.push_back(
        {"nvml", library.error().message + "; nothing is asked about NVIDIA's GPUs"});
    return nothing;
  }
  NvmlAnswer answer = ask_nvml(library.value().calls());
  if (!library.value().missing().empty()) {
    answer.notes.push_back({"nvml",
                            fmt::format("{} has no {}; what it would tell is left out",
                                        path,
                                        fmt::join(library.value().missing(), ", "))});
  }
  return answer;
}

}  // namespace crossdock::topology
