// Streams, events and memory of one GPU. Everything that could wait for a kernel is made before any kernel runs, and
// memory has a stream of its own, so that neither taking nor clearing it waits for another channel's kernels.
#include "data/device/cuda_backend.hpp"

#include <algorithm>
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
constexpr uint32_t kCopyStreamsMax = 4;
constexpr const char* kConnections = "CUDA_DEVICE_MAX_CONNECTIONS";
constexpr const char* kConnectionsWanted = "32";  // the most there are

Error cuda_error(int error, std::string_view doing) {
  const ErrorCode code =
      cuda_calls::is_out_of_memory(error) ? ErrorCode::kOutOfMemoryBudget : ErrorCode::kInternal;
  return make_error(code, "{} on the GPU failed: {}", doing, cuda_calls::error_text(error));
}

// A few streams that links share, each link always the same one, so that its copies stay in order; and for each copy
// under way an event, used in turn.
class CudaCopier : public SegmentCopier {
 public:
  static Result<std::unique_ptr<SegmentCopier>> open(uint32_t links, uint32_t under_way) {
    auto copier = std::make_unique<CudaCopier>();
    copier->under_way_ = under_way;
    copier->streams_.assign(std::min(links, kCopyStreamsMax), nullptr);
    for (void*& stream : copier->streams_) {
      if (const int error = cuda_calls::open_stream(&stream, cuda_calls::StreamUse::kCopies);
          error != 0)
        return cuda_error(error, "opening a stream");
    }
    copier->links_.resize(links);
    for (uint32_t at = 0; at < links; ++at) {
      Link& link = copier->links_[at];
      link.stream = copier->streams_[at % copier->streams_.size()];
      link.events.assign(under_way, nullptr);
      for (void*& event : link.events) {
        if (const int error = cuda_calls::open_event(&event); error != 0)
          return cuda_error(error, "opening an event");
      }
    }
    return std::unique_ptr<SegmentCopier>(std::move(copier));
  }

  ~CudaCopier() override {
    for (const Link& link : links_)
      for (void* event : link.events)
        if (event != nullptr) cuda_calls::close_event(event);
    for (void* stream : streams_)
      if (stream != nullptr) cuda_calls::close_stream(stream);
  }

  // What CUDA makes when a path is first used it makes here, before any kernel stays: one copy and event per stream.
  Status warm_up(std::byte* to, const std::byte* from) {
    for (size_t at = 0; at < streams_.size(); ++at) {
      int error = cuda_calls::copy(to, from, sizeof(uint64_t), streams_[at]);
      if (error == 0) error = cuda_calls::record(links_[at].events[0], streams_[at]);
      if (error == 0) error = cuda_calls::wait_stream(streams_[at]);
      if (error != 0) return cuda_error(error, "a first copy");
    }
    return {};
  }

  bool begin(uint32_t at, const CopyRequest& copy) override {
    Link& link = links_[at];
    if (link.begun - link.done == under_way_) return false;
    void* event = link.events[link.begun % under_way_];
    failed_ |= cuda_calls::copy(copy.to, copy.from, copy.bytes, link.stream) != 0;
    if (copy.word_to != nullptr)
      failed_ |= cuda_calls::copy(copy.word_to, copy.word_from, sizeof(uint64_t), link.stream) != 0;
    failed_ |= cuda_calls::record(event, link.stream) != 0;
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

  std::vector<void*> streams_;
  std::vector<Link> links_;
  uint32_t under_way_ = 1;
  bool failed_ = false;
};

// How many streams run side by side; more wait for each other.
int connections() {
  constexpr int kOfCuda = 8;
  const char* set = std::getenv(kConnections);
  return set == nullptr || *set == '\0' ? kOfCuda : std::atoi(set);
}

class CudaBackend : public DeviceBackend {
 public:
  ~CudaBackend() override {
    if (first_ != nullptr) cuda_calls::release(first_, queue());
    for (void* stream : {memory_stream_, look_stream_, sorter_stream_})
      if (stream != nullptr) cuda_calls::close_stream(stream);
    if (pool_ != nullptr) cuda_calls::close_pool(pool_);
  }

  Status open(int gpu) {
    if (const int error = cuda_calls::open_gpu(gpu, &facts_); error != 0) {
      return make_error(
          ErrorCode::kProbeFailed, "GPU {} cannot be used: {}", gpu, cuda_calls::error_text(error));
    }
    if (!facts_.has_mapped_memory || !facts_.has_pools) {
      return make_error(ErrorCode::kProbeFailed,
                        "GPU {} ({}) {}, which channels need",
                        gpu,
                        facts_.name,
                        facts_.has_pools ? "does not see pinned memory at the host's addresses"
                                         : "has no pools of memory");
    }
    int error = cuda_calls::open_pool(gpu, 0, &pool_);
    if (error == 0) error = cuda_calls::open_stream(&memory_stream_);
    if (error == 0) error = cuda_calls::open_stream(&look_stream_, cuda_calls::StreamUse::kCopies);
    if (error == 0) error = cuda_calls::open_stream(&sorter_stream_);
    if (error == 0) error = cuda_calls::allocate(&first_, 2 * sizeof(uint64_t), queue());
    if (error == 0) error = cuda_calls::wait_stream(memory_stream_);
    if (error != 0) return cuda_error(error, "opening a stream or its memory");
    return {};
  }

  Result<std::byte*> allocate(DeviceSpace space, uint64_t bytes) override {
    std::byte* memory = nullptr;
    const int error = space == DeviceSpace::kDevice ? take(&memory, bytes)
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
    space == DeviceSpace::kDevice ? cuda_calls::release(memory, queue())
                                  : cuda_calls::release_shared(memory);
  }

  Status upload(std::byte* to, const void* from, uint64_t bytes) override {
    if (bytes == 0) return {};
    int error = cuda_calls::copy(to, from, bytes, memory_stream_);
    if (error == 0) error = cuda_calls::wait_stream(memory_stream_);
    if (error != 0) return cuda_error(error, "an upload");
    return {};
  }

  Result<std::unique_ptr<SegmentCopier>> open_copier(uint32_t links, uint32_t under_way) override {
    CD_ASSIGN(std::unique_ptr<SegmentCopier> copier, CudaCopier::open(links, under_way));
    CD_TRY(static_cast<CudaCopier&>(*copier).warm_up(first_, first_ + sizeof(uint64_t)));
    copy_streams_ = std::min(links, kCopyStreamsMax);
    return copier;
  }

  Status start_sorters(const SorterLaunch& launch) override {
    CD_TRY(check_connections(launch.node_count));
    const cuda_calls::SorterStart start{.nodes = launch.nodes,
                                        .node_count = launch.node_count,
                                        .blocks = launch.node_count * launch.blocks_per_node,
                                        .abort = launch.abort};
    if (const int error = cuda_calls::start_sorters(start, sorter_stream_); error != 0)
      return cuda_error(error, "launching the sorters");
    return {};
  }

  // Never waits inside CUDA: a kernel that does not end would keep this thread.
  Status join_sorters() override {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(kJoinWithinS);
    while (std::chrono::steady_clock::now() < until) {
      const int state = cuda_calls::query_stream(sorter_stream_);
      if (state == 0) return {};
      if (state != cuda_calls::kNotReady) return cuda_error(state, "a kernel");
      std::this_thread::yield();
    }
    return make_error(ErrorCode::kInternal,
                      "the sorters have not ended within {} s after the abort flag was set",
                      kJoinWithinS);
  }

  Status poll() override {
    const int state = cuda_calls::query_stream(sorter_stream_);
    if (state != 0 && state != cuda_calls::kNotReady) return cuda_error(state, "a kernel");
    return {};
  }

  Status begin_look(uint64_t* to, const uint64_t* from, uint64_t words) override {
    if (const int error = cuda_calls::copy(to, from, words * sizeof(uint64_t), look_stream_);
        error != 0)
      return cuda_error(error, "a look at progress");
    return {};
  }

  Result<bool> has_looked() override {
    const int state = cuda_calls::query_stream(look_stream_);
    if (state != 0 && state != cuda_calls::kNotReady) return cuda_error(state, "a kernel");
    return state == 0;
  }

  void set_word(uint32_t* to, const uint32_t* from) override {
    static_cast<void>(cuda_calls::copy(to, from, sizeof(*to), look_stream_));
  }

  DeviceRoom room() const override { return facts_.room; }
  Result<KernelNeeds> sorter_needs() const override {
    KernelNeeds needs{.name = "sorters"};
    if (const int error = cuda_calls::sorter_needs(&needs); error != 0)
      return cuda_error(error, "asking what sorters need");
    return needs;
  }

 private:
  cuda_calls::MemoryQueue queue() const { return {pool_, memory_stream_}; }

  int take(std::byte** memory, uint64_t bytes) {
    int error = cuda_calls::allocate(memory, bytes, queue());
    if (error != 0) return error;
    error = cuda_calls::clear(*memory, bytes, memory_stream_);
    if (error == 0) error = cuda_calls::wait_stream(memory_stream_);
    if (error != 0) cuda_calls::release(*memory, queue());
    return error;
  }

  // Streams beyond the connections share them, and what waits in one for kernels that stay holds up copies behind it.
  Status check_connections(uint32_t nodes) const {
    const uint32_t streams = copy_streams_ + nodes + 2;  // of copies, users, sorters and looks
    if (static_cast<int>(streams) <= connections()) return {};
    return make_error(
        ErrorCode::kProbeFailed,
        "a channel of {} nodes on {} has {} streams that must not wait for each "
        "other\n  values   {} connections ({})\n  limits   32 connections\n  try      "
        "prepare_process() or {}=32 before the first use of CUDA, or fewer nodes",
        nodes,
        facts_.name,
        streams,
        connections(),
        kConnections,
        kConnections);
  }

  cuda_calls::GpuFacts facts_;
  void* pool_ = nullptr;
  void* memory_stream_ = nullptr;
  void* look_stream_ = nullptr;
  void* sorter_stream_ = nullptr;
  std::byte* first_ = nullptr;  // two words for first copies
  uint32_t copy_streams_ = 0;
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
  if (connections() == 1) {
    return make_error(ErrorCode::kProbeFailed,
                      "{} is 1: copies would wait behind kernels that wait for them; set it to {}",
                      kConnections,
                      kConnectionsWanted);
  }
  return {};
}

}  // namespace

void prepare_process() {
  setenv(kConnections, kConnectionsWanted, 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

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
