// Channels on a real GPU: what the tests of data/device say of CPU threads, said of kernels.
#include "gpu/gpu_exchange.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/device/cuda_calls.hpp"
#include "gpu/exchange_kernel.cuh"

namespace crossdock {
namespace {

using ::testing::HasSubstr;

struct GpuCase {
  const char* name;
  GpuExchangeOptions options;
};

class GpuExchange : public ::testing::TestWithParam<GpuCase> {};

TEST_P(GpuExchange, every_row_arrives_once_and_where_it_belongs) {
  const auto backend = std::move(device::open_cuda_backend(0).value());
  const auto ran = run_gpu_exchange(GetParam().options, *backend);
  ASSERT_TRUE(ran.ok()) << ran.error().message;
  EXPECT_EQ(ran.value().got.rows, ran.value().expected.rows);
  EXPECT_EQ(ran.value().got.keys, ran.value().expected.keys);
  EXPECT_EQ(ran.value().got.mixed, ran.value().expected.mixed);
  EXPECT_EQ(ran.value().got.misled, 0U);
}

// The easiest first, for tools/gpu_run.sh runs them in this order; those that copy inside the GPU last.
const GpuCase kGpuCases[] = {
    {"one_endpoint", {.endpoints = 1}},
    {"two_endpoints", {.endpoints = 2}},
    {"only_who_waits_sorts", {.endpoints = 2, .rows = 1 << 16, .sorter_blocks = 0}},
    {"rings_of_one_segment",
     {.endpoints = 3,
      .rows = 1 << 14,
      .stage_rows = 33,
      .link_rows = 65,
      .final_rows = 17,
      .slot_bits = 0}},
    {"threads_that_are_no_whole_warps", {.endpoints = 2, .rows = 1 << 14, .threads = 47}},
    {"made_rows", {.endpoints = 3, .rows = 1 << 18, .makes_every = 3}},
    {"made_rows_that_find_little_room",
     {.endpoints = 2,
      .rows = 1 << 14,
      .threads = 47,
      .stage_rows = 33,
      .slot_bits = 0,
      .makes_every = 2}},
    {"to_all", {.endpoints = 3, .rule = device::DeviceRule::kBroadcast, .rows = 1 << 16}},
    {"four_endpoints_by_residue", {.endpoints = 4, .rule = device::DeviceRule::kResidue}},
    {"two_levels", {.endpoints = 6, .servers = 2, .rows = 1 << 18}},
    {"to_all_in_two_levels",
     {.endpoints = 4, .servers = 2, .rule = device::DeviceRule::kBroadcast, .rows = 1 << 16}},
    {"a_host_endpoint", {.endpoints = 3, .hosts = 1, .rows = 1 << 16, .blocks = 2}},
    {"two_endpoints_copied", {.endpoints = 2, .copies_inside = true}},
    {"only_who_waits_sorts_copied",
     {.endpoints = 2, .rows = 1 << 16, .sorter_blocks = 0, .copies_inside = true}},
    {"four_endpoints_copied", {.endpoints = 4, .copies_inside = true}},
    {"two_levels_copied", {.endpoints = 6, .servers = 2, .rows = 1 << 18, .copies_inside = true}}};

INSTANTIATE_TEST_SUITE_P(Shapes,
                         GpuExchange,
                         ::testing::ValuesIn(kGpuCases),
                         [](const auto& param) { return param.param.name; });

// The driver keeps some for streams, events and modules.
constexpr uint64_t kDriverBytes = uint64_t{64} << 20;

TEST(GpuErrors, memory_that_is_not_there_is_an_error_and_comes_back) {
  const auto backend = std::move(device::open_cuda_backend(0).value());
  device::cuda_calls::GpuFacts before;
  ASSERT_EQ(device::cuda_calls::open_gpu(0, &before), 0);
  const GpuExchangeOptions options{
      .endpoints = 8, .blocks = 64, .rings_per_link = 64, .link_rows = 200'000, .slot_bits = 8};
  const auto opened = device::DeviceChannel::open(gpu_exchange_spec(options), *backend);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kOutOfMemoryBudget);
  device::cuda_calls::GpuFacts after;
  ASSERT_EQ(device::cuda_calls::open_gpu(0, &after), 0);
  EXPECT_GE(after.free_bytes + kDriverBytes, before.free_bytes);
  EXPECT_TRUE(run_gpu_exchange({.rows = 1 << 14}, *backend).ok()) << "the GPU can still be used";
}

TEST(GpuErrors, memory_comes_back_after_an_exchange) {
  const auto backend = std::move(device::open_cuda_backend(0).value());
  ASSERT_TRUE(run_gpu_exchange({.rows = 1 << 14}, *backend).ok());
  device::cuda_calls::GpuFacts before;
  ASSERT_EQ(device::cuda_calls::open_gpu(0, &before), 0);
  ASSERT_TRUE(run_gpu_exchange({.rows = 1 << 14}, *backend).ok());
  device::cuda_calls::GpuFacts after;
  ASSERT_EQ(device::cuda_calls::open_gpu(0, &after), 0);
  EXPECT_GE(after.free_bytes + kDriverBytes, before.free_bytes);
}

TEST(GpuErrors, settings_under_which_kernels_would_hang_are_refused) {
  for (const auto& [name, value] :
       {std::pair("CUDA_LAUNCH_BLOCKING", "1"), std::pair("CUDA_DEVICE_MAX_CONNECTIONS", "1")}) {
    const char* const was = std::getenv(name);
    const std::string before = was == nullptr ? "" : was;
    setenv(name, value, 1);
    const auto backend = device::open_cuda_backend(0);
    before.empty() ? unsetenv(name) : setenv(name, before.c_str(), 1);
    ASSERT_FALSE(backend.ok());
    EXPECT_EQ(backend.error().code, ErrorCode::kProbeFailed);
    EXPECT_THAT(backend.error().message, HasSubstr(name));
  }
}

// The context of the process is lost with the kernel, so a process of its own.
void move_beside_a_failing_kernel() {
  const auto backend = std::move(device::open_cuda_backend(0).value());
  const auto channel =
      std::move(device::DeviceChannel::open(gpu_exchange_spec({}), *backend).value());
  void* stream = nullptr;
  if (load_exchange() != 0 || device::cuda_calls::open_stream(&stream) != 0) std::_Exit(1);
  if (!channel->start_sorters(2).ok() || launch_failure(stream) != 0) std::_Exit(1);
  const Status moved = channel->move_until([] { return false; }, 20);
  if (moved.ok()) std::_Exit(1);
  std::fprintf(stderr, "%s\n", moved.error().message.c_str());
  std::_Exit(7);
}

TEST(GpuErrorsDeath, a_kernel_that_fails_ends_the_channel_with_an_error) {
  EXPECT_EXIT(move_beside_a_failing_kernel(), ::testing::ExitedWithCode(7), "a kernel");
}

}  // namespace
}  // namespace crossdock
