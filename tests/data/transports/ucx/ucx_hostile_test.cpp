// What strangers can do to links over UCX, and members that say anything.
#include <random>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "data/transports/ucx/ucx_end.hpp"
#include "data/transports/ucx/ucx_worker.hpp"

namespace crossdock::transports {
namespace {

// Speaks UCX with a transport, and sends it whatever bytes.
class Stranger {
 public:
  explicit Stranger(const HostAddress& to) {
    auto interfaces = list_interfaces();
    auto devices = choose_devices(interfaces.value(), {"lo"}, "/sys");
    worker_ = std::move(UcxWorker::open(devices.value().at(0)).value());
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = reinterpret_cast<const ucp_address_t*>(to.devices.at(0).reached_by.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    EXPECT_EQ(ucp_ep_create(worker_->handle(), &params, &endpoint_), UCS_OK);
  }
  // Waits until it has left, while the ends take what comes.
  void send(unsigned message,
            std::span<const std::byte> head,
            std::span<const std::byte> bytes,
            uint32_t flags,
            const std::vector<LinkEnd*>& ends) {
    ucp_request_param_t params = {};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    params.flags = flags;
    void* const request = ucp_am_send_nbx(
        endpoint_, message, head.data(), head.size(), bytes.data(), bytes.size(), &params);
    ASSERT_FALSE(UCS_PTR_IS_ERR(request));
    if (request == nullptr) return;
    EXPECT_TRUE(until(
        [&] {
          worker_->progress(nullptr);
          return ucp_request_check_status(request) != UCS_INPROGRESS;
        },
        ends));
    ucp_request_free(request);
  }

 private:
  std::unique_ptr<UcxWorker> worker_;
  ucp_ep_h endpoint_ = nullptr;
};

template <class Head>
std::span<const std::byte> raw(const Head& head) {
  return std::as_bytes(std::span(&head, 1));
}

TEST(UcxHostile, WhoDoesNotKnowTheSecretIsNotHeard) {
  UcxEnd a, b;
  connect(a, b);
  const HostAddress to = parse_address(a.transport->address()).value();
  HostAddress from = parse_address(b.transport->address()).value();
  from.secret ^= 1;
  Stranger stranger(to);
  const auto small = made_bytes(100, 1), large = made_bytes(1 << 20, 2);
  const UcxNoteHead note = {frame_key(from, 0, to)};
  stranger.send(kUcxNote, raw(note), small, UCP_AM_SEND_FLAG_EAGER, {&a, &b});
  stranger.send(kUcxGoodbye, raw(note), {}, UCP_AM_SEND_FLAG_EAGER, {&a, &b});
  for (const auto* payload : {&small, &large}) {
    const UcxFrameHead frame = {note.key, header_of(0, payload->size())};
    const uint32_t how = payload == &small ? UCP_AM_SEND_FLAG_EAGER : UCP_AM_SEND_FLAG_RNDV;
    stranger.send(kUcxFrame, raw(frame), *payload, how, {&a, &b});
  }
  EXPECT_EQ(a.places_asked, 0);
  EXPECT_TRUE(a.notes.empty());
  ASSERT_TRUE(b.link().tell(small));
  ASSERT_TRUE(until([&] { return a.notes.size() == 1; }, {&a, &b}));
  EXPECT_TRUE(a.lost_causes.empty());
}

// A member that is broken knows the key, and says anything.
TEST(UcxHostile, NoMessageOfAMemberWritesBeyondItsPlace) {
  UcxEnd a, b;
  connect(a, b);
  const HostAddress to = parse_address(a.transport->address()).value();
  const HostAddress from = parse_address(b.transport->address()).value();
  Stranger stranger(to);
  std::mt19937 random(1);
  const auto bytes = made_bytes(200'000, 3);
  int honest = 0;
  for (int i = 0; i < 600; ++i) {
    const unsigned message = 1 + random() % 5;  // UCX itself minds others
    const size_t size = random() % (random() % 4 == 0 ? bytes.size() : 3000);
    UcxFrameHead head = {frame_key(from, 0, to), header_of(random(), size)};
    const bool lies = random() % 2 == 0;
    if (lies) head.header.bytes += static_cast<uint32_t>(random() % 3) * 0x7FFF'FF00U + 1;
    const size_t cut = random() % 3 == 0 ? random() % (sizeof head + 1) : sizeof head;
    const size_t head_bytes = message == kUcxFrame ? cut : std::min(cut, sizeof(UcxNoteHead));
    if (message == kUcxGoodbye && head_bytes == sizeof(UcxNoteHead)) continue;  // is one
    honest += message == kUcxFrame && head_bytes == sizeof head && !lies;
    stranger.send(message,
                  raw(head).first(head_bytes),
                  std::span(bytes).first(size),
                  random() % 2 == 0 ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER,
                  {&a, &b});
  }
  const auto payload = made_bytes(1 << 20, 2);
  ASSERT_TRUE(b.link().put(header_of(1ULL << 40, payload.size()), payload, 0));
  ASSERT_TRUE(until([&] { return a.arrived.contains(1ULL << 40); }, {&a, &b}));
  EXPECT_EQ(a.places_asked, honest + 1);  // of the size that came, or not asked for at all
  EXPECT_EQ(a.arrived[1ULL << 40], payload);
  for (const auto& note : a.notes) EXPECT_LE(note.size(), kNoteBytesMax);
  EXPECT_TRUE(a.lost_causes.empty());
}

// Of this process, in the order in which they were made.
std::vector<uint16_t> listening_ports() {
  std::vector<uint16_t> ports;
  for (int fd = 0; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_in address = {};
    socklen_t address_bytes = sizeof address;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &address_bytes) == 0 &&
        address.sin_family == AF_INET) {
      ports.push_back(ntohs(address.sin_port));
    }
  }
  return ports;
}

TEST(UcxHostile, GarbageOnThePortHarmsNobody) {
  UcxEnd a, b;
  connect(a, b);
  const std::vector<uint16_t> ports = listening_ports();
  ASSERT_GE(ports.size(), 2U);
  std::mt19937 random(1);
  std::vector<int> open;
  for (int i = 0; i < 60; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(ports[static_cast<size_t>(i) % ports.size()]);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const auto bytes = made_bytes(random() % 3000, random());
    if (!bytes.empty()) (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (i % 3 == 0) {
      open.push_back(fd);  // says nothing more
    } else {
      ::close(fd);
    }
    a.step();
    b.step();
  }
  const auto payload = made_bytes(1 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, payload.size()), payload, 0));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 1; }, {&a, &b}));
  EXPECT_EQ(b.arrived[0], payload);
  EXPECT_TRUE(a.lost_causes.empty());
  EXPECT_TRUE(b.lost_causes.empty());
  for (const int fd : open) ::close(fd);
}

}  // namespace
}  // namespace crossdock::transports
