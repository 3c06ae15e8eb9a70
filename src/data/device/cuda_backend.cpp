// Streams, events and memory of one GPU. Everything that could wait for a kernel is made before any kernel runs.
#include "data/device/cuda_backend.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "data/device/cuda_calls.hpp"

namespace crossdock::device {
namespace {

constexpr double kJoinWithinS = 20;

Error cuda_error(int error, std::string_view doing) {
  const ErrorCode code =
      cuda_calls::is_out_of_memory(error) ? ErrorCode::kOutOfMemoryBudget : ErrorCode::kInternal;
  return make_error(code, "{} on the GPU failed: {}", doing, cuda_calls::error_text(error));
}

// A stream for each link, and for each copy under way an event, used in turn.
class CudaCopier : public SegmentCopier {
 public:
  static Result<std::unique_ptr<SegmentCopier>> open(uint32_t links, uint32_t under_way) {
    auto copier = std::make_unique<CudaCopier>();
    copier->under_way_ = under_way;
    copier->links_.resize(links);
    for (Link& link : copier->links_) {
      if (const int error = cuda_calls::open_stream(&link.stream); error != 0)
        return cuda_error(error, "opening a stream");
      link.events.assign(under_way, nullptr);
      for (void*& event : link.events) {
        if (const int error = cuda_calls::open_event(&event); error != 0)
          return cuda_error(error, "opening an event");
      }
    }
    return std::unique_ptr<SegmentCopier>(std::move(copier));
  }

  ~CudaCopier() override {
    for (const Link& link : links_) {
      for (void* event : link.events)
        if (event != nullptr) cuda_calls::close_event(event);
      if (link.stream != nullptr) cuda_calls::close_stream(link.stream);
    }
  }

  bool begin(uint32_t at, const CopyRequest& copy) override {
    Link& link = links_[at];
    if (link.begun - link.done == under_way_) return false;
    void* event = link.events[link.begun % under_way_];
    failed_ |= cuda_calls::copy(copy.to, copy.from, copy.bytes, link.stream) != 0 ||
               cuda_calls::record(event, link.stream) != 0;
    ++link.begun;
    return true;
  }

  CopyState oldest(uint32_t at) override {
    Link& link = links_[at];
    const int state = failed_ ? 1 : cuda_calls::query_event(link.events[link.done % under_way_]);
    if (state == cuda_calls::kNotReady) return CopyState::kPending;
    if (state != 0) return CopyState::kFailed;
    ++link.done;
    return CopyState::kDone;
  }

 private:
  struct Link {
    void* stream = nullptr;
    std::vector<void*> events;
    uint64_t begun = 0;
    uint64_t done = 0;
  };

  std::vector<Link> links_;
  uint32_t under_way_ = 1;
  bool failed_ = false;
};

class CudaBackend : public DeviceBackend {
 public:
  ~CudaBackend() override {
    if (ends_ != nullptr) cuda_calls::release(ends_);
    if (stream_ != nullptr) cuda_calls::close_stream(stream_);
  }

  Status open(int gpu) {
    if (const int error = cuda_calls::open_gpu(gpu, &facts_); error != 0) {
      return make_error(
          ErrorCode::kProbeFailed, "GPU {} cannot be used: {}", gpu, cuda_calls::error_text(error));
    }
    if (!facts_.has_mapped_memory) {
      return make_error(ErrorCode::kProbeFailed,
                        "GPU {} ({}) does not see pinned memory at the host's addresses, which "
                        "channels need",
                        gpu,
                        facts_.name);
    }
    if (const int error = cuda_calls::open_stream(&stream_); error != 0)
      return cuda_error(error, "opening a stream");
    if (const int error = cuda_calls::allocate(&ends_, kSorterBlocksMax * sizeof(uint32_t));
        error != 0)
      return cuda_error(error, "allocating");
    return {};
  }

  Result<std::byte*> allocate(DeviceSpace space, uint64_t bytes) override {
    std::byte* memory = nullptr;
    const int error = space == DeviceSpace::kDevice ? cuda_calls::allocate(&memory, bytes)
                                                    : cuda_calls::allocate_shared(&memory, bytes);
    if (error == 0) return memory;
    return make_error(
        ErrorCode::kOutOfMemoryBudget,
        "a channel needs {} bytes of {} of {}, of which {} bytes were free when it was "
        "opened, and {}; ask for fewer or smaller segments",
        bytes,
        space == DeviceSpace::kDevice ? "the memory" : "pinned memory for kernels",
        facts_.name,
        facts_.free_bytes,
        cuda_calls::error_text(error));
  }

  void release(DeviceSpace space, std::byte* memory) override {
    space == DeviceSpace::kDevice ? cuda_calls::release(memory)
                                  : cuda_calls::release_shared(memory);
  }

  Status upload(std::byte* to, const void* from, uint64_t bytes) override {
    if (bytes == 0) return {};
    if (const int error = cuda_calls::upload(to, from, bytes); error != 0)
      return cuda_error(error, "an upload");
    return {};
  }

  Result<std::unique_ptr<SegmentCopier>> open_copier(uint32_t links, uint32_t under_way) override {
    return CudaCopier::open(links, under_way);
  }

  Status start_sorters(const SorterLaunch& launch) override {
    const uint32_t blocks = launch.node_count * launch.blocks_per_node;
    if (blocks > kSorterBlocksMax) {
      return make_error(ErrorCode::kInvalidArgument,
                        "{} sorter blocks for each of {} nodes are wanted, and all together are at "
                        "most {}",
                        launch.blocks_per_node,
                        launch.node_count,
                        kSorterBlocksMax);
    }
    const cuda_calls::SorterStart start{
        .nodes = launch.nodes,
        .node_count = launch.node_count,
        .blocks = blocks,
        .abort = launch.abort,
        .stuck_after_clocks = static_cast<uint64_t>(launch.stuck_after_s * clocks_per_s()),
        .ends = reinterpret_cast<uint32_t*>(ends_)};
    if (const int error = cuda_calls::start_sorters(start, stream_); error != 0)
      return cuda_error(error, "launching the sorters");
    return {};
  }

  // Never waits inside CUDA: a kernel that does not end would keep this thread.
  Status join_sorters() override {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(kJoinWithinS);
    while (std::chrono::steady_clock::now() < until) {
      const int state = cuda_calls::query_stream(stream_);
      if (state == 0) return {};
      if (state != cuda_calls::kNotReady) return cuda_error(state, "a kernel");
      std::this_thread::yield();
    }
    return make_error(ErrorCode::kInternal,
                      "the sorters have not ended within {} s after they were told to",
                      kJoinWithinS);
  }

  Status poll() override {
    const int state = cuda_calls::query_stream(stream_);
    if (state != 0 && state != cuda_calls::kNotReady) return cuda_error(state, "a kernel");
    return {};
  }

  double clocks_per_s() const override { return facts_.clock_khz * 1e3; }

 private:
  static constexpr uint32_t kSorterBlocksMax = 4096;

  cuda_calls::GpuFacts facts_;
  void* stream_ = nullptr;
  std::byte* ends_ = nullptr;
};

// Kernels of a channel wait for each other and for copies, which these settings put one behind the other.
Status check_process() {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  if (blocking != nullptr && std::string_view(blocking) != "0" && *blocking != '\0') {
    return make_error(ErrorCode::kProbeFailed,
                      "CUDA_LAUNCH_BLOCKING is {}: a launch would wait for sorters that stay, for "
                      "ever; unset it",
                      blocking);
  }
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  if (connections != nullptr && std::string_view(connections) == "1") {
    return make_error(
        ErrorCode::kProbeFailed,
        "CUDA_DEVICE_MAX_CONNECTIONS is 1: copies would wait behind kernels that wait "
        "for them; unset it, or set it to 32");
  }
  return {};
}

}  // namespace

Status check_gpu(int gpu) {
  if (const std::string_view absence = cuda_calls::absence(); !absence.empty())
    return make_error(ErrorCode::kProbeFailed, "GPU {} is asked for: {}", gpu, absence);
  int count = 0;
  if (const int error = cuda_calls::count_gpus(&count); error != 0 || gpu < 0 || gpu >= count) {
    return make_error(ErrorCode::kProbeFailed,
                      "GPU {} is asked for, and this machine shows {}{}{}",
                      gpu,
                      count,
                      error != 0 ? ": " : "",
                      error != 0 ? cuda_calls::error_text(error) : "");
  }
  return {};
}

Result<std::unique_ptr<DeviceBackend>> open_cuda_backend(int gpu) {
  CD_TRY(check_gpu(gpu));
  CD_TRY(check_process());
  auto backend = std::make_unique<CudaBackend>();
  CD_TRY(backend->open(gpu));
  return std::unique_ptr<DeviceBackend>(std::move(backend));
}

}  // namespace crossdock::device
