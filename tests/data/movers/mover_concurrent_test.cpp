// Movers in threads of their own, and others that fill, empty, wake, ask, remove and fail meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "data/movers/mover.hpp"
#include "data/movers/sim_world.hpp"
#include "data/movers/wake_gate.hpp"

namespace crossdock::movers {
namespace {

using mover_test::FlowMemory;
using std::chrono::microseconds;

constexpr uint64_t kSegments = 300;

// What two movers in one process hand each other: bytes are copied on the way in, so a put is sent at once.
struct Pipe {
  struct Message {
    rings::SegmentHeader header;
    std::vector<std::byte> bytes;
    bool is_note = false;
  };
  std::mutex mutex;
  std::deque<Message> messages;

  void push(Message message) {
    const std::lock_guard lock(mutex);
    messages.push_back(std::move(message));
  }
  bool pop(Message& message) {
    const std::lock_guard lock(mutex);
    if (messages.empty()) return false;
    message = std::move(messages.front());
    messages.pop_front();
    return true;
  }
};

class PipeTransport : public transports::Transport, public transports::Link {
 public:
  PipeTransport(transports::PeerIndex peer, Pipe& out, Pipe& in)
      : peer_(peer), out_(out), in_(in) {}

  transports::PeerIndex peer() const override { return peer_; }
  std::string name() const override { return "pipe"; }
  double rate_bytes_per_s() const override { return 0; }
  bool put(const rings::SegmentHeader& header,
           std::span<const std::byte> payload,
           uint64_t token) override {
    out_.push({.header = header, .bytes = {payload.begin(), payload.end()}});
    sent_.push_back(token);
    return true;
  }
  bool tell(std::span<const std::byte> note) override {
    out_.push({.header = {}, .bytes = {note.begin(), note.end()}, .is_note = true});
    return true;
  }
  rings::Step progress(transports::LinkEvents& events) override {
    bool has_moved = !sent_.empty();
    for (const uint64_t token : std::exchange(sent_, {})) events.sent(0, token);
    Pipe::Message message;
    for (int i = 0; i < 16 && in_.pop(message); ++i) {
      has_moved = true;
      if (message.is_note) {
        events.noted(0, message.bytes);
      } else if (std::byte* place = events.place(0, message.header)) {
        std::ranges::copy(message.bytes, place);
        events.placed(0, message.header, place);
      }
    }
    return has_moved ? rings::Step::kProgress : rings::Step::kIdle;
  }
  bool arm() override { return true; }
  int wait_fd() const override { return -1; }
  std::vector<transports::Link*> links() override { return {this}; }
  std::string address() const override { return ""; }
  Result<std::vector<transports::Unreached>> connect(std::span<const std::string>) override {
    return std::vector<transports::Unreached>();
  }

 private:
  transports::PeerIndex peer_;
  Pipe& out_;
  Pipe& in_;
  std::vector<uint64_t> sent_;
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Process {
 public:
  Process(int rank, Pipe& out, Pipe& in)
      : transport_(static_cast<transports::PeerIndex>(1 - rank), out, in), mover([&] {
          Mover::Parts parts;
          parts.rank = rank;
          parts.transports = {&transport_};
          parts.paths = {{.peer = static_cast<transports::PeerIndex>(1 - rank)}};
          parts.now_s = seconds;
          parts.on_failure = [this](uint64_t, const Error&) { failures.fetch_add(1); };
          return parts;
        }()) {
    thread_ = std::thread([this] {
      while (!is_over_.load()) {
        if (mover.step() == rings::Step::kIdle) mover.wait(microseconds(10'000));
      }
    });
  }
  ~Process() {
    is_over_.store(true);
    mover.wake();
    thread_.join();
  }

 private:
  PipeTransport transport_;
  std::atomic<bool> is_over_{false};

 public:
  std::atomic<int> failures{0};
  Mover mover;

 private:
  std::thread thread_;
};

MovedFlow moved(uint64_t channel,
                transports::PeerIndex peer,
                const std::shared_ptr<FlowMemory>& memory) {
  MovedFlow flow;
  flow.id = {.channel = channel};
  flow.peer = peer;
  flow.flow = memory->flow;
  flow.layout = mover_test::two_longs();
  flow.keep = memory;
  return flow;
}

void fill(Process& process, const FlowMemory& memory, uint64_t segments) {
  rings::SequenceWindow<rings::CpuRingTraits> writer(memory.flow.ring);
  for (uint64_t sequence = 0; sequence < segments;) {
    if (rings::failure_of(memory.flow) != 0) return;
    std::byte* segment = writer.place(sequence);
    if (segment == nullptr) {
      std::this_thread::yield();
      continue;
    }
    reinterpret_cast<rings::SegmentHeader*>(segment)->rows = 1;
    *mover_test::two_longs()->segments().lane<int64_t>(segment, 0) = static_cast<int64_t>(sequence);
    writer.publish(sequence++);
    process.mover.wake();
  }
  rings::end_flow_after(memory.flow, segments, segments);
  process.mover.wake();
}

uint64_t empty(Process& process, const FlowMemory& memory) {
  rings::RingConsumer<rings::CpuRingTraits> reader(memory.flow.ring);
  for (uint64_t taken = 0;;) {
    if (rings::failure_of(memory.flow) != 0) return taken;
    const std::byte* segment = reader.front();
    if (segment == nullptr) {
      const rings::FlowTotal total = rings::total_of(memory.flow);
      if (total.is_known && total.segments == taken) return taken;
      std::this_thread::yield();
      continue;
    }
    const rings::SegmentLayout layout = mover_test::two_longs()->packed(1, 0);
    CD_CHECK(*layout.lane<int64_t>(segment, 0) == static_cast<int64_t>(taken), "segment {}", taken);
    ++taken;
    reader.recycle();
    process.mover.wake();
  }
}

TEST(MoverConcurrent, flows_both_ways_while_others_ask) {
  Pipe there, back;
  const auto shape = mover_test::two_longs()->ring_shape(1);
  const auto a_out = std::make_shared<FlowMemory>(shape),
             a_in = std::make_shared<FlowMemory>(shape);
  const auto b_out = std::make_shared<FlowMemory>(shape),
             b_in = std::make_shared<FlowMemory>(shape);
  Process a(0, there, back), b(1, back, there);
  b.mover.add_incoming(moved(1, 0, b_in));
  a.mover.add_incoming(moved(2, 1, a_in));
  a.mover.add_outgoing(moved(1, 1, a_out));
  b.mover.add_outgoing(moved(2, 0, b_out));
  std::atomic<uint64_t> taken{0};
  std::vector<std::thread> threads;
  threads.emplace_back([&] { fill(a, *a_out, kSegments); });
  threads.emplace_back([&] { fill(b, *b_out, kSegments); });
  threads.emplace_back([&] { taken += empty(a, *a_in); });
  threads.emplace_back([&] { taken += empty(b, *b_in); });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(a.mover.counters().size(), 1U);
    std::this_thread::sleep_for(microseconds(200));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.load(), 2 * kSegments);
  for (FlowMemory* memory : {a_out.get(), b_out.get()}) {
    while (std::atomic_ref(*memory->flow.ring.head).load() != kSegments) std::this_thread::yield();
  }
  a.mover.remove(1);
  b.mover.remove(2);
  a.mover.remove(2);
  b.mover.remove(1);
  while (!a.mover.is_settled() || !b.mover.is_settled()) std::this_thread::yield();
  EXPECT_EQ(a.failures.load() + b.failures.load(), 0);
}

TEST(MoverConcurrent, channels_fail_and_go_while_rows_move) {
  Pipe there, back;
  const auto shape = mover_test::two_longs()->ring_shape(1);
  Process a(0, there, back), b(1, back, there);
  for (uint64_t channel = 1; channel <= 10; ++channel) {
    const auto out = std::make_shared<FlowMemory>(shape), in = std::make_shared<FlowMemory>(shape);
    b.mover.add_incoming(moved(channel, 0, in));
    a.mover.add_outgoing(moved(channel, 1, out));
    std::thread filler([&] { fill(a, *out, 1'000'000); });
    std::thread emptier([&] { empty(b, *in); });
    std::this_thread::sleep_for(microseconds(500));
    Process& one = channel % 2 == 0 ? a : b;
    if (channel % 3 == 0) {
      one.mover.remove(channel);
    } else {
      one.mover.fail(channel, make_error(ErrorCode::kCancelled, "enough"));
    }
    filler.join();
    emptier.join();
    a.mover.remove(channel);
    b.mover.remove(channel);
  }
  while (!a.mover.is_settled() || !b.mover.is_settled()) std::this_thread::yield();
  EXPECT_EQ(a.failures.load() + b.failures.load(), 10) << "said once, to the other side";
}

TEST(WakeGateConcurrent, says_that_there_is_no_descriptor) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const WakeGate gate;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(gate.ready().ok());
  EXPECT_EQ(gate.ready().error().code, ErrorCode::kOutOfMemoryBudget);
}

TEST(WakeGateConcurrent, no_news_are_slept_through) {
  WakeGate gate;
  std::atomic<int> said{0};
  std::thread speaker([&] {
    for (int i = 0; i < 2000; ++i) {
      said.fetch_add(1, std::memory_order_relaxed);
      gate.wake();
      if (i % 7 == 0) std::this_thread::yield();
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  while (said.load(std::memory_order_relaxed) < 2000) {
    gate.wait({}, {}, std::chrono::seconds(10));
    gate.take_news();
  }
  speaker.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(9));
}

}  // namespace
}  // namespace crossdock::movers
