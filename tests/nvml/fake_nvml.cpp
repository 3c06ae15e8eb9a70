// A library in NVML's place with one GPU and no NVLinks, as old as drivers without nvmlDeviceGetNvLinkRemoteDeviceType.
#include <cstring>

#include "topology/nvml_library.hpp"

#define FAKE_CALL extern "C" __attribute__((visibility("default")))

FAKE_CALL int nvmlInit_v2();
FAKE_CALL int nvmlShutdown();
FAKE_CALL const char* nvmlErrorString(int);
FAKE_CALL int nvmlDeviceGetCount_v2(unsigned* count);
FAKE_CALL int nvmlDeviceGetHandleByIndex_v2(unsigned index,
                                            crossdock::topology::NvmlDevice* device);
FAKE_CALL int nvmlDeviceGetName(crossdock::topology::NvmlDevice, char* name, unsigned bytes);
FAKE_CALL int nvmlDeviceGetPciInfo_v3(crossdock::topology::NvmlDevice,
                                      crossdock::topology::NvmlPciInfo* pci);
FAKE_CALL int nvmlDeviceGetMemoryInfo(crossdock::topology::NvmlDevice,
                                      crossdock::topology::NvmlMemoryInfo* memory);
FAKE_CALL int nvmlDeviceGetMaxPcieLinkGeneration(crossdock::topology::NvmlDevice,
                                                 unsigned* generation);
FAKE_CALL int nvmlDeviceGetCurrPcieLinkWidth(crossdock::topology::NvmlDevice, unsigned* lanes);
FAKE_CALL int nvmlDeviceGetMaxPcieLinkWidth(crossdock::topology::NvmlDevice, unsigned* lanes);
FAKE_CALL int nvmlDeviceGetNvLinkState(crossdock::topology::NvmlDevice,
                                       unsigned link,
                                       unsigned* is_active);

int nvmlInit_v2() { return crossdock::topology::kNvmlSuccess; }
int nvmlShutdown() { return crossdock::topology::kNvmlSuccess; }
const char* nvmlErrorString(int) { return "an error of the fake"; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 1;
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, crossdock::topology::NvmlDevice* device) {
  static int here = 0;
  *device = reinterpret_cast<crossdock::topology::NvmlDevice>(&here);
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetName(crossdock::topology::NvmlDevice, char* name, unsigned bytes) {
  std::strncpy(name, "A fake GPU", bytes);
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetPciInfo_v3(crossdock::topology::NvmlDevice,
                            crossdock::topology::NvmlPciInfo* pci) {
  *pci = {};
  pci->domain = 0xfaffe;  // where no device of any host is
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetMemoryInfo(crossdock::topology::NvmlDevice,
                            crossdock::topology::NvmlMemoryInfo* memory) {
  *memory = {80ULL << 30, 0, 0};
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetMaxPcieLinkGeneration(crossdock::topology::NvmlDevice, unsigned* generation) {
  *generation = 4;
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetCurrPcieLinkWidth(crossdock::topology::NvmlDevice, unsigned* lanes) {
  *lanes = 8;
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetMaxPcieLinkWidth(crossdock::topology::NvmlDevice, unsigned* lanes) {
  *lanes = 16;
  return crossdock::topology::kNvmlSuccess;
}
int nvmlDeviceGetNvLinkState(crossdock::topology::NvmlDevice, unsigned, unsigned*) {
  return crossdock::topology::kNvmlNotSupported;
}
