// Streams and rows of an exchange on one GPU.
#include "gpu/gpu_exchange.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "data/device/cuda_calls.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "gpu/exchange_kernel.cuh"
#include "gpu/gpu_memory.hpp"

namespace crossdock {
namespace {

constexpr double kStuckAfterS = 20;

Error launch_error(int error) {
  return make_error(
      ErrorCode::kInternal, "a launch failed: {}", device::cuda_calls::error_text(error));
}

// Of CPU threads.
class HostPatience {
 public:
  bool is_over(bool has_moved) {
    const auto now = std::chrono::steady_clock::now();
    if (has_moved) since_ = now;
    return std::chrono::duration<double>(now - since_).count() > kStuckAfterS;
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

void run_host_block(const ExchangeWork& work, uint32_t number) {
  const rings::SoloCoop coop;
  const auto scratch = std::make_unique<device::SorterScratch>();
  ExchangeBlock<rings::CpuRingTraits, rings::SoloCoop> block(work, number, coop);
  HostPatience patience;
  work.ends[number] = block.run(*scratch, patience);
  work.sums[number] = block.sums();
}

void add(ExchangeSums& to, const ExchangeSums& sums, uint64_t times = 1) {
  to.rows += sums.rows * times;
  to.keys += sums.keys * times;
  to.mixed += sums.mixed * times;
  to.misled += sums.misled;
}

ExchangeSums sums_of(uint64_t first, uint64_t rows, uint64_t makes_every) {
  using Block = ExchangeBlock<rings::CpuRingTraits, rings::SoloCoop>;
  ExchangeSums sums;
  for (uint64_t value = first; value < first + rows; ++value) {
    uint64_t key = value * 0x9E3779B97F4A7C15U;
    if (makes_every != 0 && value % makes_every != 0) continue;
    if (makes_every != 0) key = Block::made_key(key, value);
    ++sums.rows;
    sums.keys += key;
    sums.mixed += Block::fingerprint(key, value);
  }
  return sums;
}

class Run {
 public:
  Run(const GpuExchangeOptions& options, device::DeviceBackend& backend)
      : options_(options), backend_(backend) {}

  Result<GpuExchangeResult> run() {
    CD_TRY(memory_.open());
    CD_ASSIGN(channel_, device::DeviceChannel::open(gpu_exchange_spec(options_), backend_));
    for (int at = 0; at < options_.endpoints; ++at) CD_TRY(prepare(at));
    if (const int error = load_exchange(); error != 0) return launch_error(error);
    CD_TRY(check_fit());
    for (Endpoint& endpoint : works_)
      if (const int error = device::cuda_calls::wait_stream(endpoint.stream); error != 0)
        return launch_error(error);
    const auto begun = std::chrono::steady_clock::now();
    const Status ran = launch_and_move();
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    for (std::thread& thread : threads_) thread.join();
    CD_TRY(ran);
    CD_TRY(channel_->stop());
    return collect();
  }

 private:
  struct Endpoint {
    ExchangeWork work;
    void* stream = nullptr;
    bool is_host = false;
  };

  Status prepare(int at) {
    Endpoint endpoint;
    endpoint.is_host = at >= options_.endpoints - options_.hosts;
    CD_ASSIGN(endpoint.stream, memory_.stream());
    ExchangeWork& work = endpoint.work;
    work.port = channel_->port(static_cast<topology::VertexIndex>(at));
    work.rows = options_.rows;
    work.batch_rows = options_.batch_rows;
    work.makes_every = options_.makes_every;
    CD_ASSIGN(work.keys, take(options_.rows, endpoint.is_host));
    CD_ASSIGN(work.values, take(options_.rows, endpoint.is_host));
    CD_ASSIGN(work.sums, memory_.take_shared<ExchangeSums>(options_.blocks));
    CD_ASSIGN(work.ends, memory_.take_shared<int64_t>(options_.blocks));
    const uint64_t first = static_cast<uint64_t>(at) * options_.rows;
    const int error = launch_numbers(work.keys, work.values, first, options_.rows, endpoint.stream);
    if (error != 0) return launch_error(error);
    const uint64_t copies = options_.rule == device::DeviceRule::kBroadcast
                              ? static_cast<uint64_t>(options_.endpoints)
                              : 1;
    add(result_.expected, sums_of(first, options_.rows, options_.makes_every), copies);
    works_.push_back(endpoint);
    return {};
  }

  Result<uint64_t*> take(uint64_t count, bool is_shared) {
    return is_shared ? memory_.take_shared<uint64_t>(count) : memory_.take<uint64_t>(count);
  }

  Status check_fit() const {
    device::KernelNeeds needs{
        .name = "exchange_rows", .blocks = options_.blocks, .threads = options_.threads};
    if (const int error = exchange_needs(&needs); error != 0) return launch_error(error);
    const std::vector<device::KernelNeeds> users(
        static_cast<size_t>(options_.endpoints - options_.hosts), needs);
    return channel_->check_fit(users, options_.sorter_blocks);
  }

  Status launch_and_move() {
    for (Endpoint& endpoint : works_) {
      if (endpoint.is_host) {
        for (uint32_t block = 0; block < options_.blocks; ++block) {
          host_blocks_.fetch_add(1);
          threads_.emplace_back([this, &endpoint, block] {
            run_host_block(endpoint.work, block);
            host_blocks_.fetch_sub(1);
          });
        }
        continue;
      }
      const int error = launch_exchange(endpoint.work, options_.threads, endpoint.stream);
      if (error != 0) {
        channel_->abort();
        return launch_error(error);
      }
    }
    if (options_.sorter_blocks != 0) CD_TRY(channel_->start_sorters(options_.sorter_blocks));
    return channel_->move_until([this] { return is_over(); }, kStuckAfterS);
  }

  bool is_over() const {
    return host_blocks_.load() == 0 && std::ranges::all_of(works_, [](const Endpoint& endpoint) {
             return endpoint.is_host || device::cuda_calls::query_stream(endpoint.stream) !=
                                            device::cuda_calls::kNotReady;
           });
  }

  Result<GpuExchangeResult> collect() {
    for (const Endpoint& endpoint : works_) {
      if (const int error = device::cuda_calls::wait_stream(endpoint.stream); error != 0)
        return launch_error(error);
      for (uint32_t block = 0; block < options_.blocks; ++block) {
        add(result_.got, endpoint.work.sums[block]);
        if (endpoint.work.ends[block] == 0) continue;
        return make_error(ErrorCode::kInternal,
                          "block {} of destination {} ended with {}: {}",
                          block,
                          endpoint.work.port.destination,
                          endpoint.work.ends[block],
                          channel_->state());
      }
    }
    result_.segments = channel_->mover().segments();
    result_.copied_bytes = channel_->mover().bytes();
    result_.channel_bytes = channel_->device_bytes();
    return result_;
  }

  const GpuExchangeOptions& options_;
  device::DeviceBackend& backend_;
  GpuMemory memory_;
  std::unique_ptr<device::DeviceChannel> channel_;  // goes before the memory that its kernels read
  std::vector<Endpoint> works_;
  std::vector<std::thread> threads_;
  std::atomic<uint32_t> host_blocks_{0};
  GpuExchangeResult result_;
};

}  // namespace

device::DeviceChannelSpec gpu_exchange_spec(const GpuExchangeOptions& options) {
  device::DeviceChannelSpec spec;
  spec.lanes = {{.width_bytes = 8}, {.width_bytes = 8}};
  channels::NodePlacement placement;
  for (int at = 0; at < options.endpoints; ++at) {
    spec.endpoints.of_source.push_back(static_cast<topology::VertexIndex>(at));
    spec.endpoints.of_destination.push_back(static_cast<topology::VertexIndex>(at));
    spec.is_host.push_back(at >= options.endpoints - options.hosts ? 1 : 0);
    placement.of_source.push_back(options.servers == 0 ? 0 : at % options.servers);
  }
  placement.of_destination = placement.of_source;
  if (options.servers != 0) {
    spec.levels = channels::LevelPlan::make(placement).value();
    spec.tables = device::level_tables(*spec.levels, spec.endpoints, options.endpoints);
  } else {
    spec.tables = device::direct_tables(spec.endpoints, options.endpoints);
  }
  spec.rule = options.rule;
  spec.blocks = options.blocks;
  spec.rings_per_link = options.rings_per_link;
  spec.copies_inside = options.copies_inside;
  spec.stuck_after_s = kStuckAfterS;
  spec.stage_rows = options.stage_rows;
  spec.link_rows = options.link_rows;
  spec.final_rows = options.final_rows;
  spec.stage_slot_bits = spec.link_slot_bits = spec.final_slot_bits = options.slot_bits;
  return spec;
}

Result<GpuExchangeResult> run_gpu_exchange(const GpuExchangeOptions& options,
                                           device::DeviceBackend& backend) {
  return Run(options, backend).run();
}

}  // namespace crossdock
