// Links over sockets between transports of this process, strangers at their ports, and peers that say anything.
#include <cerrno>
#include <cstring>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "data/transports/link_cases.hpp"
#include "data/transports/socket_link.hpp"
#include "data/transports/socket_transport.hpp"

namespace crossdock::transports {
namespace {

using testing::HasSubstr;

class SocketEnd : public LinkEnd {
 public:
  explicit SocketEnd(int64_t bytes_under_way = int64_t{8} << 20)
      : LinkEnd(open_socket_transport({{"lo"}, bytes_under_way})) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Socket, Links, SocketEnd);

// Speaks plain TCP with a transport.
class PlainSocket {
 public:
  explicit PlainSocket(const HostAddress& to) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in there = {};
    there.sin_family = AF_INET;
    std::memcpy(&there.sin_port, to.devices.at(0).reached_by.data(), sizeof there.sin_port);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
  }
  PlainSocket(PlainSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PlainSocket& operator=(PlainSocket&&) = delete;
  ~PlainSocket() {
    if (fd_ >= 0) ::close(fd_);
  }
  // Until it is out, or it is not wanted any more.
  void say(std::span<const std::byte> bytes, LinkEnd& to) const {
    while (!bytes.empty()) {
      const ssize_t went = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (went < 0 && errno != EAGAIN) return;
      bytes = bytes.subspan(went > 0 ? static_cast<size_t>(went) : 0);
      to.step();
    }
  }

 private:
  int fd_;
};

template <class Words>
std::span<const std::byte> raw(const Words& words) {
  return std::as_bytes(std::span(&words, 1));
}

// A process that has a link to the end, and knows its key.
PlainSocket member_of(LinkEnd& end) {
  const HostAddress to = parse_address(end.transport->address()).value();
  HostAddress from = to;
  from.secret = to.secret - 1;  // opens the links
  const std::vector<std::string> peers = {"", format_address(from)};
  EXPECT_TRUE(end.transport->connect(peers).ok());
  PlainSocket member(to);
  SocketGreeting greeting;
  greeting.key = link_key(from, 0, to, 0);
  member.say(raw(greeting), end);
  return member;
}

TEST(SocketLinks, GarbageOnThePortHarmsNobody) {
  SocketEnd a, b;
  connect(a, b);
  const HostAddress to = parse_address(a.transport->address()).value();
  std::mt19937 random(1);
  std::vector<PlainSocket> open;
  for (int i = 0; i < 400; ++i) {
    PlainSocket stranger(to);
    SocketGreeting greeting;
    greeting.key = random();
    if (i % 4 == 1) stranger.say(raw(greeting), a);
    if (i % 4 == 2) stranger.say(raw(greeting).first(random() % sizeof greeting), a);
    if (i % 4 == 3) stranger.say(made_bytes(random() % 3000, random()), a);
    if (i % 3 == 0) open.push_back(std::move(stranger));  // says nothing more
    a.step();
    b.step();
  }
  const auto payload = made_bytes(1 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, payload.size()), payload, 0));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 1; }, {&a, &b}));
  EXPECT_EQ(b.arrived[0], payload);
  EXPECT_EQ(a.places_asked, 0);
  EXPECT_TRUE(a.lost_causes.empty());
  EXPECT_TRUE(b.lost_causes.empty());
}

// A member that is broken knows the key, and says anything: it gets places of the size that it sends, or loses the
// link.
TEST(SocketLinks, NoMessageOfAMemberWritesBeyondItsPlace) {
  const auto bytes = made_bytes(200'000, 3);
  int losses = 0;
  for (unsigned round = 0; round < 60; ++round) {
    SocketEnd a;
    const PlainSocket member = member_of(a);
    std::mt19937 random(round);
    int honest = 0;
    bool is_wrong = false;
    for (int i = 0; i < 20 && !is_wrong; ++i) {
      const size_t size = random() % (random() % 4 == 0 ? bytes.size() : 1000);
      SocketHead head;
      head.kind = 1 + random() % 3;
      head.bytes = static_cast<uint32_t>(size);
      head.header = header_of(random(), size);
      if (round % 3 != 0 && random() % 16 == 0) head.kind = random();
      if (round % 3 != 0 && random() % 16 == 0) head.header.bytes += random() | 1;
      const bool has_sum = head.kind == SocketHead::kSummedFrame;
      const bool is_frame = has_sum || head.kind == SocketHead::kFrame;
      is_wrong = is_frame ? head.header.bytes != head.bytes
                          : head.kind != SocketHead::kNote || head.bytes > kNoteBytesMax;
      honest += !is_wrong && is_frame;
      member.say(raw(head), a);
      member.say(std::span(bytes).first(size), a);
      if (has_sum) member.say(raw(uint32_t{7}), a);
    }
    ASSERT_TRUE(
        until([&] { return a.places_asked == honest && is_wrong == !a.lost_causes.empty(); }, {&a}))
        << round;
    losses += is_wrong;
    if (!is_wrong) continue;
    EXPECT_THAT(a.lost_causes[0].message, HasSubstr("what came is no message"));
    EXPECT_FALSE(a.link().tell({}));
  }
  EXPECT_GT(losses, 20);
  EXPECT_LT(losses, 60);
}

// Of a long message the kernel tells when much has come, of a short one behind it at once.
TEST(SocketLinks, AShortMessageIsNotKeptByALongOneBeforeIt) {
  SocketEnd a;
  const PlainSocket member = member_of(a);
  const auto bytes = made_bytes(200'000, 5);
  const auto head_of = [](uint64_t sequence, size_t size) {
    SocketHead head;
    head.kind = SocketHead::kFrame;
    head.bytes = static_cast<uint32_t>(size);
    head.header = header_of(sequence, size);
    return head;
  };
  const SocketHead longer = head_of(1, bytes.size()), shorter = head_of(2, 500);
  member.say(raw(longer), a);
  member.say(std::span(bytes).first(100'000), a);
  for (int i = 0; i < 100; ++i) a.step();
  std::vector<std::byte> rest(bytes.begin() + 100'000, bytes.end());
  rest.insert(rest.end(), raw(shorter).begin(), raw(shorter).end());
  member.say(rest, a);
  ASSERT_TRUE(until([&] { return a.places_asked == 2; }, {&a}));
  for (int i = 0; i < 100; ++i) a.step();
  member.say(std::span(bytes).first(500), a);
  ASSERT_TRUE(until([&] { return a.arrived.size() == 2; }, {&a}));
  EXPECT_EQ(a.arrived[1], bytes);
}

// Of a frame that has stuck half way; who goes on later is read on, and does no harm.
TEST(SocketLinks, APlaceIsForsakenWhenNothingComesAnyMore) {
  SocketEnd a;
  const PlainSocket member = member_of(a);
  const auto bytes = made_bytes(200'000, 5);
  SocketHead head;
  head.kind = SocketHead::kSummedFrame;
  head.bytes = static_cast<uint32_t>(bytes.size());
  head.header = header_of(1, bytes.size());
  member.say(raw(head), a);
  member.say(std::span(bytes).first(1000), a);
  ASSERT_TRUE(until([&] { return a.places_asked == 1; }, {&a}));
  std::vector<std::byte>& place = a.places.back();
  EXPECT_FALSE(a.link().revoke(bytes.data())) << "not its place";
  const auto is_revoked = [&] { return a.link().revoke(place.data()); };
  member.say(std::span(bytes).subspan(1000, 1000), a);
  ASSERT_TRUE(until(is_revoked, {&a}));
  EXPECT_FALSE(is_revoked()) << "it has none any more";
  const std::vector<std::byte> before = place;

  head.header = header_of(2, bytes.size());
  member.say(std::span(bytes).subspan(2000), a);
  member.say(raw(uint32_t{7}), a);
  member.say(raw(head), a);
  member.say(bytes, a);
  member.say(raw(uint32_t{7}), a);
  ASSERT_TRUE(until([&] { return a.arrived.contains(2); }, {&a}));
  EXPECT_EQ(a.arrived.size(), 1U);
  EXPECT_EQ(a.arrived[2], bytes);
  EXPECT_EQ(a.places.front(), before) << "written after it was revoked";
}

// Among others, and notes; what is asked for last may be stamped before it leaves or while it does.
TEST(SocketLinks, FramesAreStampedAsTheyLeave) {
  SocketEnd a, b;
  connect(a, b);
  ASSERT_TRUE(a.link().stamps());
  const std::vector<size_t> sizes = {0, 1, 131'071, 131'072, 131'073, 7, 3 << 20, 400'000};
  std::vector<std::vector<std::byte>> payloads;
  for (size_t i = 0; i < sizes.size(); ++i) payloads.push_back(made_bytes(sizes[i], i));
  size_t next = 0;
  ASSERT_TRUE(until(
      [&] {
        if (next < 2 * sizes.size()) {
          const auto& payload = payloads[next / 2];
          const rings::SegmentHeader header = header_of(next, payload.size());
          const bool went = next % 2 == 0 ? a.link().put_unstamped(header, payload, next)
                                          : a.link().put(header, payload, next);
          if (went && a.link().tell({})) ++next;
        }
        return b.arrived.size() == 2 * sizes.size();
      },
      {&a, &b}));
  for (size_t i = 0; i < 2 * sizes.size(); ++i) {
    const auto& payload = payloads[i / 2];
    EXPECT_EQ(b.arrived[i], payload);
    rings::SegmentHeader header = header_of(i, payload.size());
    const uint32_t sum = rings::crc32c(payload, rings::begin_checksum(header));
    EXPECT_EQ(b.stamps[i], i % 2 == 0 ? sum : 0) << payload.size();
  }
}

TEST(SocketLinks, UnknownDevicesAndPortsOfRdmaAreRefused) {
  for (const std::string name : {"eth77", "mlx5_0:1"}) {
    const auto opened = open_socket_transport({{name}, 1 << 20});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(opened.error().message, HasSubstr("no network device \"" + name + "\""));
  }
}

}  // namespace
}  // namespace crossdock::transports
