// Links over UCX between transports of this process, through the plugin and over loopback: what arrives, what is
// refused, and how links end.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <poll.h>
#include <random>
#include <sys/mman.h>
#include <thread>

#include <gmock/gmock.h>

#include "data/transports/ucx/link_ends.hpp"
#include "data/transports/ucx/network_devices.hpp"
#include "data/transports/ucx/ucx_link.hpp"
#include "data/transports/ucx/ucx_worker.hpp"

namespace crossdock {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

TEST(UcxLinks, NameTheirEnds) {
  End a, b;
  connect(a, b);
  ASSERT_EQ(a.transport->links().size(), 1U);
  EXPECT_EQ(a.link().name(), "lo to rank 1");
  EXPECT_EQ(a.link().device(), "lo");
  EXPECT_EQ(a.link().peer_device(), "lo");
  EXPECT_EQ(a.link().peer(), 1U);
  EXPECT_EQ(b.link().peer(), 0U);
  EXPECT_EQ(a.link().rate_bytes_per_s(), 0);
}

TEST(UcxLinks, FramesOfAllSizesArriveWhereTheyAreWanted) {
  End a, b;
  connect(a, b);
  const std::vector<size_t> sizes = {
      0, 1, 63, 8000, 8192, 16383, 16384, 16385, 100'000, 1 << 20, 5 << 20};
  std::vector<std::vector<std::byte>> payloads;
  for (size_t i = 0; i < sizes.size(); ++i) payloads.push_back(bytes_of(sizes[i], i));
  size_t next = 0;
  ASSERT_TRUE(until(
      [&] {
        if (next < sizes.size() &&
            a.link().put(header_of(next, sizes[next]), payloads[next], 100 + next))
          ++next;
        return b.arrived.size() == sizes.size() && a.sent_tokens.size() == sizes.size();
      },
      {&a, &b}));
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(b.arrived[i], payloads[i]) << sizes[i];
  std::sort(a.sent_tokens.begin(), a.sent_tokens.end());
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(a.sent_tokens[i], 100 + i);
  EXPECT_TRUE(a.lost_causes.empty());
}

TEST(UcxLinks, NotesComeInOrderBothWaysAndMayBeAnsweredAtOnce) {
  End a, b;
  connect(a, b);
  constexpr size_t kNotes = 5000;
  size_t answered = 0;
  b.on_note = [&] {
    if (b.link().tell(b.notes.back())) ++answered;
  };
  size_t next = 0;
  ASSERT_TRUE(until(
      [&] {
        if (next < kNotes && a.link().tell(bytes_of(next % (kNoteBytesMax + 1), next))) ++next;
        return b.notes.size() == kNotes && a.notes.size() == answered;
      },
      {&a, &b}));
  for (size_t i = 0; i < kNotes; ++i) {
    ASSERT_EQ(b.notes[i], bytes_of(i % (kNoteBytesMax + 1), i)) << i;
  }
  EXPECT_EQ(answered, kNotes);
}

TEST(UcxLinks, AFrameThatIsNotWantedIsDropped) {
  End a, b;
  connect(a, b);
  b.refuses = true;
  const auto small = bytes_of(100, 1), large = bytes_of(1 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, small.size()), small, 0));
  ASSERT_TRUE(a.link().put(header_of(1, large.size()), large, 1));
  ASSERT_TRUE(until([&] { return b.places_asked == 2 && a.sent_tokens.size() == 2; }, {&a, &b}));
  b.refuses = false;
  ASSERT_TRUE(a.link().put(header_of(2, large.size()), large, 2));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 1; }, {&a, &b}));
  EXPECT_EQ(b.arrived[2], large);
}

TEST(UcxLinks, PutsAreBoundedByBytesButOneIsAlwaysLetIn) {
  End a({{"lo"}, 4 << 20}), b;
  connect(a, b);
  // Of a size that leaves only when the peer has asked for it.
  const auto large = bytes_of(5 << 20, 1), half = bytes_of(2 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, large.size()), large, 0));
  EXPECT_FALSE(a.link().put(header_of(1, half.size()), half, 1));
  ASSERT_TRUE(until([&] { return a.sent_tokens.size() == 1; }, {&a, &b}));
  EXPECT_TRUE(a.link().put(header_of(1, half.size()), half, 1));
  EXPECT_TRUE(a.link().put(header_of(2, half.size()), half, 2));
  EXPECT_FALSE(a.link().put(header_of(3, half.size()), half, 3));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 3; }, {&a, &b}));

  // The peer does not read: notes stop somewhere, too.
  End c, d;
  connect(c, d);
  size_t told = 0;
  const auto note = bytes_of(kNoteBytesMax, 3);
  while (told < 1'000'000 && c.link().tell(note)) ++told;
  EXPECT_LT(told, 100'000U);
  ASSERT_TRUE(until([&] { return d.notes.size() == told; }, {&c, &d}));
}

TEST(UcxLinks, SleepersAreWokenByWhatComes) {
  End a, b;
  connect(a, b);
  ASSERT_GE(b.transport->wait_fd(), 0);
  const auto readable = [&](int at_most_ms) {
    pollfd waited = {b.transport->wait_fd(), POLLIN, 0};
    return poll(&waited, 1, at_most_ms) == 1;
  };
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(until([&] { return b.transport->arm(); }, {&b}));
    ASSERT_FALSE(readable(5)) << round;
    const auto payload = bytes_of(200'000, 1);
    const size_t notes = b.notes.size(), frames = b.arrived.size();
    if (round % 2 == 0) {
      ASSERT_TRUE(a.link().tell({}));
    } else {
      ASSERT_TRUE(
          a.link().put(header_of(static_cast<uint64_t>(round), payload.size()), payload, 0));
    }
    ASSERT_TRUE(until([&] { return readable(0); }, {&a}));
    ASSERT_TRUE(
        until([&] { return b.notes.size() > notes || b.arrived.size() > frames; }, {&a, &b}));
    ASSERT_TRUE(until([&] { return a.sent_tokens.size() == b.arrived.size(); }, {&a, &b}));
  }
}

TEST(UcxLinks, APeerThatGoesIsALostLinkAndPutsAreSafeThen) {
  End a;
  auto b = std::make_unique<End>();
  connect(a, *b);
  ASSERT_TRUE(a.link().tell({}));
  ASSERT_TRUE(until([&] { return b->notes.size() == 1; }, {&a, b.get()}));
  auto payloads = std::make_unique<std::vector<std::byte>>(bytes_of(4 << 20, 1));
  ASSERT_TRUE(a.link().put(header_of(0, payloads->size()), *payloads, 0));
  ASSERT_TRUE(a.link().put(header_of(1, payloads->size()), *payloads, 1));
  for (int i = 0; i < 10; ++i) a.step();
  b.reset();
  ASSERT_TRUE(until([&] { return !a.lost_causes.empty(); }, {&a}));
  payloads.reset();  // nothing reads it any more; the address sanitizer would tell
  EXPECT_EQ(a.lost_causes[0].code, ErrorCode::kAgentLost);
  EXPECT_THAT(a.lost_causes[0].message, HasSubstr("lo to rank 1"));
  EXPECT_FALSE(a.link().put(header_of(2, 0), {}, 2));
  EXPECT_FALSE(a.link().tell({}));
  for (int i = 0; i < 100; ++i) a.step();
  EXPECT_EQ(a.lost_causes.size(), 1U);
}

TEST(UcxLinks, APeerThatIsNotThereIsALostLink) {
  auto gone = std::make_unique<End>();
  const std::vector<std::string> addresses = {"", gone->transport->address()};
  const auto opener = other_of(*gone, true), waiter = other_of(*gone, false);
  gone.reset();
  for (const auto& end : {opener.get(), waiter.get()}) {
    ASSERT_TRUE(end->transport->connect(addresses).ok());
    // Who waits hears nothing, which is for its owner to find.
    if (end == waiter.get()) end->link().abandon();
    ASSERT_TRUE(until([&] { return !end->lost_causes.empty(); }, {end}));
    EXPECT_FALSE(end->link().tell({}));
    EXPECT_FALSE(end->link().put(header_of(0, 0), {}, 0));
  }
}

TEST(UcxLinks, AnAbandonedLinkIsLostOnBothSides) {
  End a, b;
  connect(a, b);
  ASSERT_TRUE(a.link().tell({}));
  ASSERT_TRUE(until([&] { return b.notes.size() == 1; }, {&a, &b}));
  const auto payload = bytes_of(4 << 20, 1);
  ASSERT_TRUE(a.link().put(header_of(0, payload.size()), payload, 0));
  ASSERT_TRUE(b.link().put(header_of(0, payload.size()), payload, 0));
  for (int i = 0; i < 3; ++i) a.step(), b.step();
  a.link().abandon();
  EXPECT_TRUE(a.lost_causes.empty());  // told by progress() only
  ASSERT_TRUE(until([&] { return !a.lost_causes.empty() && !b.lost_causes.empty(); }, {&a, &b}));
  a.link().abandon();
  a.step();
  EXPECT_EQ(a.lost_causes.size(), 1U);
}

// One end gives up, or goes, while the two still shake hands, or have just done so, with frames and notes under way.
// UCX aborts whoever lets it see two endpoints for one, or ends with a message of its handshake waiting.
TEST(UcxLinks, MayBeAbandonedAtAnyTimeOfTheHandshake) {
  const auto small = bytes_of(2000, 1), large = bytes_of(300'000, 2);
  for (unsigned round = 0; round < 20; ++round) {
    std::mt19937 random(round);
    auto a = std::make_unique<End>(), b = std::make_unique<End>();
    call(*a, *b);
    const auto use = [&](End& end, uint64_t number) {
      if (number % 3 != 0) end.link().put(header_of(number, large.size()), large, number);
      if (number % 3 != 1) end.link().put(header_of(number, small.size()), small, number);
      end.link().tell(std::span(small).first(1000));
    };
    for (unsigned step = random() % (round % 2 == 0 ? 10 : 60); step > 0; --step) {
      if (random() % 2 == 0) use(*a, step);
      if (random() % 2 == 0) use(*b, step);
      (random() % 2 == 0 ? *a : *b).step();
    }
    if (random() % 2 == 0) std::swap(a, b);
    if (round % 4 == 1) {
      a.reset();
    } else {
      a->link().abandon();
      // In time for all that it may wait for, while the other does nothing.
      const auto until_at =
          steady_clock::now() + std::chrono::milliseconds(round % 2 == 0 ? 220 : 0);
      while (a->lost_causes.empty() || steady_clock::now() < until_at) a->step();
    }
    const std::vector<End*> left = a ? std::vector{a.get(), b.get()} : std::vector{b.get()};
    for (unsigned i = random() % 100; i > 0; --i) left[random() % left.size()]->step();
    b->link().abandon();  // or it has learnt of it
    ASSERT_TRUE(until([&] { return !b->lost_causes.empty(); }, left)) << round;
  }
}

TEST(UcxLinks, WhatWasToldLastStillArrivesWhenTheTransportGoes) {
  auto a = std::make_unique<End>();
  End b;
  connect(*a, b);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(a->link().tell(bytes_of(1000, 1)));
  bool all_came = false;
  std::thread other([&] {
    all_came = until([&] { return b.notes.size() == 100 && !b.lost_causes.empty(); }, {&b});
  });
  a.reset();
  other.join();
  EXPECT_TRUE(all_came) << b.notes.size() << " notes";
}

TEST(UcxLinks, AddressesAreCheckedWithTheRankThatSentThem) {
  End a;
  const std::vector<std::string> garbage = {"", a.transport->address(), "no address"};
  const auto status = a.transport->connect(garbage);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kMalformedMessage);
  EXPECT_THAT(status.error().message, HasSubstr("rank 2"));
  EXPECT_TRUE(a.transport->links().empty());

  auto elsewhere = parse_address(a.transport->address());
  ASSERT_TRUE(elsewhere.ok());
  elsewhere.value().host = "another";
  End b;
  const std::vector<std::string> two = {text_of(elsewhere.value()), "", b.transport->address()};
  const auto unreached = a.transport->connect(two);
  ASSERT_TRUE(unreached.ok()) << unreached.error().message;
  ASSERT_EQ(unreached.value().size(), 1U);
  EXPECT_EQ(unreached.value()[0].peer, 0U);
  EXPECT_THAT(unreached.value()[0].why, HasSubstr("rank 0 (lo 127.0.0.1/8)"));
  ASSERT_EQ(a.transport->links().size(), 1U);
  EXPECT_EQ(a.link().peer(), 2U);
}

// Memory whose use after unmap() ends the process, whoever uses it.
class MappedPayload {
 public:
  explicit MappedPayload(size_t bytes)
      : bytes_(bytes),
        at_(static_cast<std::byte*>(
            ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  MappedPayload(const MappedPayload&) = delete;
  MappedPayload& operator=(const MappedPayload&) = delete;
  ~MappedPayload() { unmap(); }

  std::byte* at() const { return at_; }
  std::span<const std::byte> bytes() const { return {at_, bytes_}; }
  void unmap() {
    if (at_ == nullptr) return;
    EXPECT_EQ(::munmap(at_, bytes_), 0);
    at_ = nullptr;
  }

 private:
  size_t bytes_;
  std::byte* at_;
};

// A worker with one link, without the transport around them.
class WorkerEnd : public LinkEvents {
 public:
  WorkerEnd(const NetworkDevice& device, UcxLinkSpec spec, uint64_t key_of_peer, size_t bytes)
      : worker(std::move(UcxWorker::open(device).value())),
        link(*worker, news, std::move(spec)),
        payload(bytes) {
    worker->listen(key_of_peer, &link);
  }

  std::byte* place(LinkIndex, const SegmentHeader&) override { return payload.at(); }
  void placed(LinkIndex, const SegmentHeader&, std::byte*) override { ++arrived; }
  void noted(LinkIndex, std::span<const std::byte>) override {}
  void sent(LinkIndex, uint64_t) override { ++sent_puts; }
  void lost(LinkIndex, const Error& cause) override { lost_causes.push_back(cause); }

  void step() {
    worker->progress(this);
    if (link.has_step()) link.take_step();
    news.tell(*this);
    link.settle(this);
  }

  LinkNews news;
  std::unique_ptr<UcxWorker> worker;
  UcxLink link;
  MappedPayload payload;
  std::vector<Error> lost_causes;
  int arrived = 0, sent_puts = 0;
};

// While UCX has frames of its link under way, of which it has sent some.
TEST(UcxLinks, AStoppedWorkerLetsGoOfAllMemory) {
  constexpr size_t kBytes = size_t{1} << 20;
  constexpr int kFrames = 48;
  constexpr int64_t kLimit = int64_t{kFrames} * int64_t{kBytes};
  constexpr uint64_t kThere = 17, kBack = 18;
  const auto devices = choose_devices(list_interfaces().value(), {"lo"}, "/sys");
  ASSERT_TRUE(devices.ok()) << devices.error().message;
  const NetworkDevice& lo = devices.value().at(0);
  WorkerEnd from(lo, {0, 1, "lo", kThere, kLimit, true}, kBack, kBytes);
  WorkerEnd to(lo, {0, 0, "lo", kBack, kLimit, false}, kThere, kBytes);
  const auto step_until = [&](const std::function<bool()>& done) {
    const auto deadline = steady_clock::now() + std::chrono::seconds(20);
    while (!done() && steady_clock::now() < deadline) from.step(), to.step();
    return done();
  };
  from.link.connect(to.worker->address());
  to.link.connect(from.worker->address());
  ASSERT_TRUE(step_until([&] { return !from.link.is_meeting() && !to.link.is_meeting(); }));
  for (uint64_t frame = 0; frame < kFrames; ++frame) {
    ASSERT_TRUE(from.link.put(header_of(frame, kBytes), from.payload.bytes(), frame));
  }
  ASSERT_TRUE(step_until([&] { return to.arrived > 0; }));
  for (int i = 0; i < 20; ++i) from.step();
  const int sent_puts = from.sent_puts;
  ASSERT_LT(sent_puts, kFrames) << "nothing is under way any more: send more";

  from.worker->stop();
  from.payload.unmap();  // whoever reads it now ends the process
  ASSERT_TRUE(step_until([&] { return !from.lost_causes.empty() && !to.lost_causes.empty(); }));
  to.payload.unmap();
  for (int i = 0; i < 100; ++i) from.step(), to.step();
  EXPECT_EQ(from.sent_puts, sent_puts);
  EXPECT_EQ(from.lost_causes.size() + to.lost_causes.size(), 2U);
  EXPECT_EQ(from.lost_causes[0].code, ErrorCode::kAgentLost);
  EXPECT_FALSE(from.link.tell({}));
  EXPECT_TRUE(from.worker->arm()) << "nothing can come any more";
}

TEST(UcxLinks, UnknownDevicesAreRefused) {
  const auto opened = open_ucx_transport({{"eth77"}, 1 << 20});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(opened.error().message, HasSubstr("no network device \"eth77\""));
}

TEST(UcxLinks, TheUsersVariablesGoFirst) {
  ASSERT_EQ(setenv("UCX_NET_DEVICES", "lo", 1), 0);
  ASSERT_EQ(setenv("UCX_RNDV_THRESH", "inf", 1), 0);
  End a({{}, 1 << 20}), b({{}, 1 << 20});
  ASSERT_EQ(unsetenv("UCX_NET_DEVICES"), 0);
  ASSERT_EQ(unsetenv("UCX_RNDV_THRESH"), 0);
  connect(a, b);
  EXPECT_EQ(a.link().device(), "lo");
  const auto payload = bytes_of(1 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, payload.size()), payload, 0));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 1; }, {&a, &b}));
  EXPECT_EQ(b.arrived[0], payload);

  ASSERT_EQ(setenv("UCX_TLS", "rc", 1), 0);
  const auto wrong = open_ucx_transport({{"lo"}, 1 << 20});
  ASSERT_EQ(unsetenv("UCX_TLS"), 0);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kProbeFailed);
  EXPECT_THAT(wrong.error().message, HasSubstr("UCX cannot use the network device lo"));
}

}  // namespace
}  // namespace crossdock
