#include "session/device/device.hpp"

#include <charconv>
#include <string_view>

#include "data/plugins/plugin.hpp"
#include "session/device/thread_driver.hpp"

namespace crossdock::session {
namespace {

constexpr std::string_view kGpuPrefix = "gpu:";

Result<std::unique_ptr<DeviceDriver>> open_cuda_driver(int gpu) {
  static const Result<void*> entry = plugins::load_plugin(
      {"cuda",
       "crossdock_open_cuda",
       CROSSDOCK_CUDA_INTERFACE,
       "Crossdock with the compiler nvcc on the PATH and -DCROSSDOCK_CUDA=ON (pip install . "
       "-C cmake.define.CROSSDOCK_CUDA=ON)"});
  if (!entry.ok()) return entry.error();
  Result<std::unique_ptr<DeviceDriver>> answer = std::unique_ptr<DeviceDriver>();
  reinterpret_cast<OpenCuda*>(entry.value())(gpu, &answer);
  return answer;
}

// -1 for a name that is no GPU's.
int gpu_of(std::string_view name) {
  if (!name.starts_with(kGpuPrefix)) return -1;
  name.remove_prefix(kGpuPrefix.size());
  int gpu = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), gpu);
  return error == std::errc() && end == name.data() + name.size() && gpu >= 0 ? gpu : -1;
}

uint64_t limit_of(const DeviceFacts& facts, uint64_t asked_bytes) {
  return asked_bytes != 0 ? asked_bytes : facts.free_bytes / 5 * 4;
}

}  // namespace

Device::Device(std::string name, std::unique_ptr<DeviceDriver> driver, uint64_t limit_bytes)
    : name_(std::move(name)),
      driver_(std::move(driver)),
      facts_(driver_->facts()),
      pool_(*driver_, limit_of(facts_, limit_bytes)) {}

// No table has memory of it any more. A device that fails now gives its memory back with the process.
Device::~Device() {
  if (driver_->enter().ok()) static_cast<void>(driver_->wait());
}

void Device::trim() {
  const auto turn = DeviceTurn::begin(*this);
  if (turn.ok()) pool_.trim();
}

Result<DevicePtr> open_device(const std::string& name, uint64_t limit_bytes) {
  if (name == "threads")
    return DevicePtr(std::make_shared<Device>(name, open_thread_driver(), limit_bytes));
  const int gpu = gpu_of(name);
  if (gpu < 0) {
    return make_error(ErrorCode::kInvalidArgument,
                      "\"{}\" names no device\n  choices  gpu:0, gpu:1, … and threads\n"
                      "  try      \"gpu:0\"",
                      name);
  }
  CD_ASSIGN(std::unique_ptr<DeviceDriver> driver, open_cuda_driver(gpu));
  return DevicePtr(std::make_shared<Device>(name, std::move(driver), limit_bytes));
}

}  // namespace crossdock::session
