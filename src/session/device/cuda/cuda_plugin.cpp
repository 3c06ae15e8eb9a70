// What the plugin "cuda" exports: its entry, and what tells that it is of the same build as its loader.
#include "session/device/cuda/cuda_driver.hpp"

extern "C" {

[[gnu::visibility("default")]] extern const char crossdock_cuda_interface[];
const char crossdock_cuda_interface[] = CROSSDOCK_CUDA_INTERFACE;

[[gnu::visibility("default")]] void crossdock_open_cuda(
    int gpu, crossdock::Result<std::unique_ptr<crossdock::session::DeviceDriver>>* answer) {
  *answer = crossdock::session::open_cuda_driver(gpu);
}
}
