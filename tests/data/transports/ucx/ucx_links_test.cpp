// Links over UCX between transports of this process, through the plugin and over loopback.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <poll.h>
#include <random>
#include <sys/mman.h>
#include <thread>

#include <gmock/gmock.h>

#include "data/transports/link_cases.hpp"
#include "data/transports/network_devices.hpp"
#include "data/transports/ucx/ucx_end.hpp"
#include "data/transports/ucx/ucx_link.hpp"
#include "data/transports/ucx/ucx_worker.hpp"

namespace crossdock::transports {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

INSTANTIATE_TYPED_TEST_SUITE_P(Ucx, Links, UcxEnd);

// Memory whose use after unmap() ends the process, whatever uses it.
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

  std::byte* place(LinkIndex, const rings::SegmentHeader&) override { return payload.at(); }
  void placed(LinkIndex, const rings::SegmentHeader&, std::byte*) override { ++arrived; }
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
  from.payload.unmap();  // reading it now ends the process
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
  UcxEnd a(1 << 20, {}), b(1 << 20, {});
  ASSERT_EQ(unsetenv("UCX_NET_DEVICES"), 0);
  ASSERT_EQ(unsetenv("UCX_RNDV_THRESH"), 0);
  connect(a, b);
  EXPECT_EQ(a.link().device(), "lo");
  const auto payload = made_bytes(1 << 20, 2);
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
}  // namespace crossdock::transports
