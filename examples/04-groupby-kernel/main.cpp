// The host's part: opens a channel among endpoints of GPU 0, launches a kernel per endpoint, and moves segments until
// all have ended.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "data/device/cuda_backend.hpp"
#include "data/device/cuda_calls.hpp"
#include "data/device/device_channel.hpp"
#include "groupby.cuh"

namespace {

using namespace crossdock;

constexpr int kEndpoints = 3;
constexpr uint32_t kBlocks = 8;
constexpr uint32_t kSorterBlocks = 4;  // of each endpoint
constexpr uint64_t kRows = 1 << 20;    // of each endpoint
constexpr uint64_t kGroups = 500;

[[noreturn]] void fail(const Error& error, int status = 1) {
  std::fprintf(stderr, "%s: %s\n", code_text(error.code).c_str(), error.message.c_str());
  std::exit(status);
}

void require(int cuda_error) {
  if (cuda_error == 0) return;
  std::fprintf(stderr, "%s\n", device::cuda_calls::error_text(cuda_error));
  std::exit(1);
}

uint64_t* take(uint64_t count) {
  std::byte* memory = nullptr;
  require(device::cuda_calls::allocate_shared(&memory, count * sizeof(uint64_t)));
  return reinterpret_cast<uint64_t*>(memory);
}

device::DeviceChannelSpec shuffle_by_key() {
  device::DeviceChannelSpec spec;
  spec.lanes = {{.width_bytes = 8}, {.width_bytes = 8}};
  for (topology::VertexIndex at = 0; at < kEndpoints; ++at) {
    spec.endpoints.of_source.push_back(at);
    spec.endpoints.of_destination.push_back(at);
  }
  spec.tables = device::direct_tables(spec.endpoints, kEndpoints);
  spec.is_host.assign(kEndpoints, 0);
  spec.rule = device::DeviceRule::kResidue;
  spec.blocks = kBlocks;
  return spec;
}

}  // namespace

int main() {
  device::prepare_process();
  auto backend = device::open_cuda_backend(0);
  if (!backend.ok()) fail(backend.error(), 3);
  require(example::load_group_by());
  auto opened = device::DeviceChannel::open(shuffle_by_key(), *backend.value());
  if (!opened.ok()) fail(opened.error());
  device::DeviceChannel& channel = *opened.value();
  std::vector<example::GroupByWork> works(kEndpoints);
  std::vector<void*> streams(kEndpoints);
  uint64_t* totals = take(kGroups);
  std::vector<uint64_t> expected(kGroups);
  for (int at = 0; at < kEndpoints; ++at) {
    uint64_t* keys = take(kRows);
    uint64_t* values = take(kRows);
    for (uint64_t row = 0; row < kRows; ++row) {
      keys[row] = (row * 7919 + static_cast<uint64_t>(at)) % kGroups;
      values[row] = row;
      expected[keys[row]] += row;
    }
    works[static_cast<size_t>(at)] = {.port = channel.port(static_cast<topology::VertexIndex>(at)),
                                      .keys = keys,
                                      .values = values,
                                      .rows = kRows,
                                      .totals = totals,
                                      .ends = reinterpret_cast<int64_t*>(take(kBlocks))};
    require(device::cuda_calls::open_stream(&streams[static_cast<size_t>(at)]));
  }
  device::KernelNeeds needs{.name = "group_by", .blocks = kBlocks};
  require(example::group_by_needs(&needs));
  const std::vector<device::KernelNeeds> users(kEndpoints, needs);
  if (const Status fits = channel.check_fit(users, kSorterBlocks); !fits.ok()) fail(fits.error());
  for (size_t at = 0; at < kEndpoints; ++at)
    require(example::launch_group_by(works[at], streams[at]));
  if (const Status started = channel.start_sorters(kSorterBlocks); !started.ok())
    fail(started.error());
  const Status moved = channel.move_until(
      [&streams] {
        for (void* stream : streams)
          if (device::cuda_calls::query_stream(stream) == device::cuda_calls::kNotReady)
            return false;
        return true;
      },
      20);
  if (!moved.ok()) fail(moved.error());
  if (const Status stopped = channel.stop(); !stopped.ok()) fail(stopped.error());
  uint64_t wrong = 0;
  for (uint64_t group = 0; group < kGroups; ++group) wrong += totals[group] != expected[group];
  std::printf("%llu groups, %llu wrong, %llu segments copied by the host\n",
              static_cast<unsigned long long>(kGroups),
              static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(channel.mover().segments()));
  return wrong == 0 ? 0 : 1;
}
