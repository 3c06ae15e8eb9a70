// An exchange of numbered rows among endpoints of GPU 0, with what it should give.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/device/cuda_backend.hpp"
#include "data/device/device_channel.hpp"
#include "gpu/exchange_block.hpp"

namespace crossdock {

struct GpuExchangeOptions {
  int endpoints = 2;
  int servers = 0;  // not 0: two levels
  int hosts = 0;    // of the endpoints, the last ones, are CPU threads
  device::DeviceRule rule = device::DeviceRule::kHash;
  uint64_t rows = 1 << 20;  // of each endpoint
  uint32_t blocks = 8;
  uint32_t threads = 256;
  uint32_t batch_rows = 512;   // of a send
  uint32_t sorter_blocks = 4;  // of each endpoint; 0: users help themselves
  uint32_t rings_per_link = 2;
  uint32_t stage_rows = 4096, link_rows = 16'384, final_rows = 4096;
  int slot_bits = 2;
  uint64_t makes_every = 0;    // ExchangeWork::makes_every
  bool copies_inside = false;  // DeviceChannelSpec::copies_inside
};

struct GpuExchangeResult {
  ExchangeSums got, expected;
  double seconds = 0;  // from the first launch to the end of the last kernel
  uint64_t segments = 0;
  uint64_t copied_bytes = 0;
  uint64_t channel_bytes = 0;
};

device::DeviceChannelSpec gpu_exchange_spec(const GpuExchangeOptions& options);

// Opens, runs and closes. Errors of the channel, of a copy, and of kernels that have not ended as they should.
Result<GpuExchangeResult> run_gpu_exchange(const GpuExchangeOptions& options,
                                           device::DeviceBackend& backend);

}  // namespace crossdock
