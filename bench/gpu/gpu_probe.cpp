// The first thing to run on a GPU: which copies, events and launches go on while kernels stay there, and what the
// things cost that channels and operators stand on. JSON lines; a minute. Nothing in it can hang: what stays leaves by
// itself.
//
//   crossdock_gpu_probe [share of the sizes]      # CUDA_DEVICE_MAX_CONNECTIONS=8 and 32 tell different things
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "data/device/cuda_backend.hpp"
#include "gpu/bench_run.hpp"
#include "gpu/gpu_memory.hpp"
#include "gpu/probe_kernels.hpp"

namespace crossdock {
namespace {

namespace calls = device::cuda_calls;

constexpr uint64_t kProbeCopyBytes = 1 << 20;
constexpr uint64_t kSegmentBytes = 1'179'648;  // 65,536 rows of 18 bytes
constexpr double kBesideWithinS = 2;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Resident {
  const char* name;
  StayShape shape;
};

struct BesideCase {
  Resident resident;
  int streams;
  bool is_first;     // streams of copies' priority
  const char* what;  // "device copy", "host copy" or "kernel"
};

// Streams that get one thing each while a grid stays: how many have done it before the grid goes.
class Beside {
 public:
  explicit Beside(const BesideCase& test) : test_(test) {
    require(memory_.open());
    const auto bytes = kProbeCopyBytes * static_cast<uint64_t>(test.streams);
    from_ = take(memory_.take<std::byte>(bytes));
    to_ = take(memory_.take<std::byte>(bytes));
    host_ = take(memory_.take_shared<std::byte>(kProbeCopyBytes));
    words_.stop = take(memory_.take_shared<uint32_t>(1));
    words_.begun =
        take(memory_.take_shared<uint32_t>(uint64_t{test.resident.shape.blocks} * kStayLineWords));
    for (int at = 0; at < test.streams; ++at) {
      const auto use = test.is_first ? calls::StreamUse::kCopies : calls::StreamUse::kKernels;
      require_call(calls::open_stream(&streams_.emplace_back(nullptr), use));
      require_call(calls::open_event(&events_.emplace_back(nullptr)));
    }
  }
  ~Beside() {
    for (void* event : events_) calls::close_event(event);
    for (void* stream : streams_) calls::close_stream(stream);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  void run() {
    void* const staying = take(memory_.stream());
    require_call(launch_stay(test_.resident.shape, words_, staying));
    const uint32_t up = wait_for_blocks(staying);
    const double begun_s = now_s();
    for (int at = 0; at < test_.streams; ++at) begin(static_cast<size_t>(at));
    int done = 0;
    double last_s = 0;
    std::vector<bool> is_done(events_.size());
    while (done < test_.streams && now_s() - begun_s < kBesideWithinS) {
      for (size_t at = 0; at < events_.size(); ++at) {
        if (is_done[at] || calls::query_event(events_[at]) != 0) continue;
        is_done[at] = true;
        ++done;
        last_s = now_s() - begun_s;
      }
    }
    *static_cast<volatile uint32_t*>(words_.stop) = 1;
    require_call(calls::wait_stream(staying));
    for (void* stream : streams_) require_call(calls::wait_stream(stream));
    print(up, done, last_s);
  }

 private:
  uint32_t wait_for_blocks(void* staying) const {
    const double begun_s = now_s();
    uint32_t up = 0;
    while (up < test_.resident.shape.blocks && now_s() - begun_s < 1) {
      calls::query_stream(staying);
      up = 0;
      for (uint32_t block = 0; block < test_.resident.shape.blocks; ++block)
        up += static_cast<volatile uint32_t*>(words_.begun)[block * kStayLineWords];
    }
    return up;
  }

  void begin(size_t at) {
    std::byte* const to = to_ + at * kProbeCopyBytes;
    if (*test_.what == 'k') {
      require_call(launch_touch(reinterpret_cast<uint64_t*>(to), streams_[at]));
    } else {
      const std::byte* const from = *test_.what == 'h' ? host_ : from_ + at * kProbeCopyBytes;
      require_call(calls::copy(to, from, kProbeCopyBytes, streams_[at]));
    }
    require_call(calls::record(events_[at], streams_[at]));
  }

  void print(uint32_t up, int done, double last_s) const {
    const char* const connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    fmt::print(
        "{{\"schema_version\": 1, \"probe\": \"beside\", \"what\": \"{}\", \"resident\": \"{}\", "
        "\"blocks\": {}, \"blocks_up\": {}, \"streams\": {}, \"priority\": \"{}\", "
        "\"connections\": \"{}\", \"done\": {}, \"last_ms\": {:.3f}, \"ok\": {}}}\n",
        test_.what,
        test_.resident.name,
        test_.resident.shape.blocks,
        up,
        test_.streams,
        test_.is_first ? "first" : "last",
        connections == nullptr ? "default" : connections,
        done,
        last_s * 1e3,
        done == test_.streams);
    std::fflush(stdout);
  }

  const BesideCase& test_;
  GpuMemory memory_;
  std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::byte* host_ = nullptr;
  StayWords words_;
  std::vector<void*> streams_;
  std::vector<void*> events_;
};

void probe_beside(uint32_t multiprocessors) {
  const std::array residents{
      Resident{"one block", {1, 512, 0}},
      Resident{"a block of 512 threads per multiprocessor", {multiprocessors, 512, 0}},
      Resident{"all threads", {2 * multiprocessors, 1024, 0}},
      Resident{"all shared memory", {multiprocessors, 128, 200 << 10}}};
  for (const Resident& resident : residents)
    for (const int streams : {1, 7, 29, 96})
      for (const char* what : {"device copy", "host copy", "kernel"}) {
        // What finds no thread free waits as it should.
        if (*what == 'k' && resident.shape.threads == 1024) continue;
        Beside({resident, streams, false, what}).run();
      }
  for (const Resident& resident : residents)
    for (const int streams : {4, 29}) Beside({resident, streams, true, "device copy"}).run();
}

void print_rate(const std::string& what, double count, double seconds) {
  fmt::print(
      "{{\"schema_version\": 1, \"probe\": \"rate\", \"what\": \"{}\", \"per_s\": {:.4g}, "
      "\"seconds\": {:.6f}}}\n",
      what,
      count / seconds,
      seconds);
  std::fflush(stdout);
}

// What the mover pays for a segment, part by part, on a stream of copies.
void probe_mover() {
  constexpr int kTimes = 2000;
  GpuMemory memory;
  require(memory.open());
  std::byte* const from = take(memory.take<std::byte>(2 * kSegmentBytes));
  void* stream = nullptr;
  void* event = nullptr;
  require_call(calls::open_stream(&stream, calls::StreamUse::kCopies));
  require_call(calls::open_event(&event));
  const auto time = [&](const char* what, const auto& act) {
    require_call(calls::wait_stream(stream));
    const double begun_s = now_s();
    for (int at = 0; at < kTimes; ++at) act();
    const double issued_s = now_s() - begun_s;
    require_call(calls::wait_stream(stream));
    fmt::print(
        "{{\"schema_version\": 1, \"probe\": \"mover\", \"what\": \"{}\", \"us_to_issue\": {:.3f}, "
        "\"us_each\": {:.3f}}}\n",
        what,
        issued_s / kTimes * 1e6,
        (now_s() - begun_s) / kTimes * 1e6);
  };
  const auto copy = [&](uint64_t bytes) {
    require_call(calls::copy(from + kSegmentBytes, from, bytes, stream));
  };
  time("segment and event", [&] {
    copy(kSegmentBytes);
    require_call(calls::record(event, stream));
  });
  time("segment and a word behind it", [&] {
    copy(kSegmentBytes);
    copy(sizeof(uint64_t));
  });
  time("copy of a word", [&] { copy(sizeof(uint64_t)); });
  time("query of an event", [&] { static_cast<void>(calls::query_event(event)); });
  time("query of a stream", [&] { static_cast<void>(calls::query_stream(stream)); });
  time("launch", [&] { require_call(launch_touch(reinterpret_cast<uint64_t*>(from), stream)); });
  calls::close_event(event);
  calls::close_stream(stream);
}

void probe_polls(uint32_t multiprocessors) {
  constexpr uint32_t kTurns = 200;
  GpuMemory memory;
  require(memory.open());
  auto* const words =
      take(memory.take_shared<uint64_t>(uint64_t{multiprocessors} * 40 * kStayLineWords));
  void* const stream = take(memory.stream());
  for (const StayShape shape :
       {StayShape{1, 1}, StayShape{8, 40}, StayShape{64, 40}, StayShape{multiprocessors, 40}}) {
    const double seconds =
        median_on_stream(stream, [&] { require_call(launch_polls(shape, words, kTurns, stream)); });
    print_rate(
        fmt::format("looks at pinned memory by {} blocks of {}", shape.blocks, shape.threads),
        static_cast<double>(kTurns) * shape.blocks * shape.threads,
        seconds);
  }
}

void probe_adds(double share) {
  const auto scaled = [share](double count) { return static_cast<uint64_t>(count * share) + 1; };
  GpuMemory memory;
  require(memory.open());
  void* const stream = take(memory.stream());
  const uint64_t words = scaled(800e6);
  AddWork work{.count = scaled(200e6), .table = take(memory.take<uint64_t>(words))};
  std::vector<uint64_t> numbers(work.count);
  uint64_t state = 1;
  for (uint64_t& number : numbers) number = (state = state * 6364136223846793005U + 1) >> 33;
  auto* const drawn = take(memory.take<uint64_t>(work.count));
  require(memory.upload(drawn, numbers.data(), numbers.size() * sizeof(uint64_t)));
  require_call(calls::clear(reinterpret_cast<std::byte*>(work.table), words * 8, stream));
  constexpr const char* kNames[] = {"atomic_ref", "ours", "no atomic"};
  const auto time = [&](const std::string& what, const auto& launch) {
    const double seconds = median_on_stream(stream, [&] { require_call(launch()); });
    print_rate(what, static_cast<double>(work.count), seconds);
  };
  for (const AddKind kind : {AddKind::kLibrary, AddKind::kOurs, AddKind::kPlain}) {
    const char* const name = kNames[static_cast<uint32_t>(kind)];
    work.numbers = drawn;
    for (const uint32_t width : {8U, 4U})
      for (const uint64_t places : {2048U, 256U, 4U}) {
        work.width_bytes = width;
        work.places = places;
        time(fmt::format("adds of {} bytes to {} places of shared memory, {}", width, places, name),
             [&] { return launch_shared_adds(kind, work, stream); });
      }
    for (const uint64_t places : {std::min<uint64_t>(words, 2'000'000), words}) {
      work.places = places;
      time(fmt::format("adds to {} MB, {}", places * 8 >> 20, name),
           [&] { return launch_table_adds(kind, work, stream); });
    }
  }
  work.places = words / 2;
  for (const bool wide : {false, true}) {
    time(fmt::format("inserts of 16 bytes by {}",
                     wide ? "one exchange" : "a load and two exchanges"),
         [&] {
           const int error =
               calls::clear(reinterpret_cast<std::byte*>(work.table), words * 8, stream);
           return error != 0 ? error : launch_inserts(wide, work, stream);
         });
  }
}

int run_probe(double share) {
  if (const Status there = device::check_gpu(0); !there.ok()) end_with(there.error(), kNoGpu);
  const calls::GpuFacts facts = open_gpu_0();
  fmt::print(
      "{{\"schema_version\": 1, \"probe\": \"gpu\", \"gpu\": \"{}\", \"sm\": {}, "
      "\"multiprocessors\": {}, \"copy_engines\": {}, \"driver_api\": {}, \"runtime\": {}, "
      "\"host_atomics\": {}, \"pools\": {}}}\n",
      facts.name,
      facts.major * 10 + facts.minor,
      facts.room.multiprocessors,
      facts.copy_engines,
      facts.driver,
      facts.runtime,
      facts.has_host_atomics,
      facts.has_pools);
  probe_beside(facts.room.multiprocessors);
  probe_mover();
  probe_polls(facts.room.multiprocessors);
  copy_rate(uint64_t{1} << 30);
  probe_adds(share);
  return 0;
}

}  // namespace
}  // namespace crossdock

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);  // and as many connections as its caller says
  const double share = argc > 1 ? std::atof(argv[1]) : 1;
  if (!(share > 0) || share > 1) {
    std::fprintf(stderr, "usage: crossdock_gpu_probe [share of the sizes, above 0, at most 1]\n");
    return 2;
  }
  return crossdock::run_probe(share);
}
