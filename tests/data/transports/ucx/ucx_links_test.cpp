// Links over UCX between transports of this process, through the plugin and over loopback: what arrives, what is
// refused, how links end, and what strangers can do.
#include <chrono>
#include <cstdlib>
#include <deque>
#include <dirent.h>
#include <fstream>
#include <functional>
#include <map>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>

#include "data/transports/ucx/ucx_address.hpp"
#include "data/transports/ucx_transport.hpp"

namespace crossdock {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

// A rank, and all that it was told.
class End : public LinkEvents {
 public:
  explicit End(UcxSettings settings = {{"lo"}, int64_t{8} << 20}) {
    auto opened = open_ucx_transport(settings);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (opened.ok()) transport = std::move(opened.value());
  }

  std::byte* place(LinkIndex, const SegmentHeader& header) override {
    ++places_asked;
    if (refuses) return nullptr;
    places.emplace_back(header.bytes + 1);
    return places.back().data();
  }
  void placed(LinkIndex, const SegmentHeader& header, std::byte* payload) override {
    arrived[header.sequence] = std::vector<std::byte>(payload, payload + header.bytes);
  }
  void noted(LinkIndex, std::span<const std::byte> note) override {
    notes.emplace_back(note.begin(), note.end());
    if (on_note) on_note();
  }
  void sent(LinkIndex, uint64_t token) override { sent_tokens.push_back(token); }
  void lost(LinkIndex, const Error& cause) override { lost_causes.push_back(cause); }

  void step() { transport->progress(*this); }
  Link& link() { return *transport->links().at(0); }

  std::unique_ptr<Transport> transport;
  std::deque<std::vector<std::byte>> places;
  std::map<uint64_t, std::vector<std::byte>> arrived;
  std::vector<std::vector<std::byte>> notes;
  std::vector<uint64_t> sent_tokens;
  std::vector<Error> lost_causes;
  std::function<void()> on_note;
  bool refuses = false;
  int places_asked = 0;
};

// False after 20 s.
bool until(const std::function<bool()>& done, std::vector<End*> ends) {
  const auto deadline = steady_clock::now() + std::chrono::seconds(20);
  while (!done()) {
    if (steady_clock::now() > deadline) return false;
    for (End* end : ends) end->step();
  }
  return true;
}

void connect(End& a, End& b) {
  const std::vector<std::string> for_a = {"", b.transport->address()};
  const std::vector<std::string> for_b = {a.transport->address(), ""};
  ASSERT_TRUE(a.transport->connect(for_a).ok());
  ASSERT_TRUE(b.transport->connect(for_b).ok());
}

std::vector<std::byte> bytes_of(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

SegmentHeader header_of(uint64_t sequence, size_t size) {
  SegmentHeader header;
  header.magic = kSegmentMagic;
  header.sequence = sequence;
  header.rows = static_cast<uint32_t>(sequence * 7);
  header.bytes = static_cast<uint32_t>(size);
  return header;
}

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
  End a({{"lo"}, 1 << 20}), b;
  connect(a, b);
  const auto large = bytes_of(3 << 20, 1), half = bytes_of(512 << 10, 2);
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
  // Connecting is over when a note has gone both ways.
  ASSERT_TRUE(a.link().tell({}));
  ASSERT_TRUE(b.link().tell({}));
  ASSERT_TRUE(until([&] { return a.notes.size() + b.notes.size() == 2; }, {&a, &b}));
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
  gone.reset();
  End a;
  ASSERT_TRUE(a.transport->connect(addresses).ok());
  ASSERT_TRUE(until([&] { return !a.lost_causes.empty(); }, {&a}));
  EXPECT_FALSE(a.link().tell({}));
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

TEST(UcxLinks, WhoDoesNotKnowTheSecretIsNotHeard) {
  End a, b, stranger;
  connect(a, b);
  // The stranger knows a's address, but for the secret; and as itself it was never told to a.
  auto guessed = parse_address(a.transport->address());
  ASSERT_TRUE(guessed.ok());
  guessed.value().secret ^= 1;
  const std::vector<std::string> addresses = {text_of(guessed.value()), "", ""};
  ASSERT_TRUE(stranger.transport->connect(addresses).ok());
  const auto small = bytes_of(100, 1), large = bytes_of(1 << 20, 2);
  ASSERT_TRUE(stranger.link().tell(small));
  ASSERT_TRUE(stranger.link().put(header_of(0, small.size()), small, 0));
  ASSERT_TRUE(stranger.link().put(header_of(1, large.size()), large, 1));
  ASSERT_TRUE(until([&] { return stranger.sent_tokens.size() == 2; }, {&a, &b, &stranger}));
  EXPECT_EQ(a.places_asked, 0);
  EXPECT_TRUE(a.notes.empty());
  ASSERT_TRUE(b.link().tell(small));
  ASSERT_TRUE(until([&] { return a.notes.size() == 1; }, {&a, &b}));
}

// Of this process, in the order in which they were made.
std::vector<uint16_t> listening_ports() {
  std::vector<uint16_t> ports;
  for (int fd = 0; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    sockaddr_in own = {};
    socklen_t own_size = sizeof own;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
        own.sin_family == AF_INET) {
      ports.push_back(ntohs(own.sin_port));
    }
  }
  return ports;
}

TEST(UcxLinks, GarbageOnThePortHarmsNobody) {
  End a, b;
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
    const auto bytes = bytes_of(random() % 3000, random());
    if (!bytes.empty()) (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (i % 3 == 0) {
      open.push_back(fd);  // says nothing more
    } else {
      ::close(fd);
    }
    a.step();
    b.step();
  }
  const auto payload = bytes_of(1 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, payload.size()), payload, 0));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 1; }, {&a, &b}));
  EXPECT_EQ(b.arrived[0], payload);
  EXPECT_TRUE(a.lost_causes.empty());
  EXPECT_TRUE(b.lost_causes.empty());
  for (const int fd : open) ::close(fd);
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
  EXPECT_THAT(unreached.value()[0].why, HasSubstr("rank 0 (lo)"));
  ASSERT_EQ(a.transport->links().size(), 1U);
  EXPECT_EQ(a.link().peer(), 2U);
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
