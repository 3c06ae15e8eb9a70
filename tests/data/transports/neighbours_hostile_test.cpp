// Processes that know the way, or do not, and send what no neighbour sends.
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/transports/forked_ranks.hpp"
#include "data/transports/neighbour_address.hpp"
#include "data/transports/neighbours.hpp"
#include "data/transports/packet_socket.hpp"

namespace crossdock::transports {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

struct Ends : NeighbourEvents {
  int notes = 0;
  int ends = 0;
  Error cause;
  void received(PeerIndex, const std::string&, std::unique_ptr<SharedRegion>) override { ++notes; }
  void gone(PeerIndex, const Error& why) override {
    ++ends;
    cause = why;
  }
};

using Bytes = std::vector<std::byte>;

template <class... Words>
Bytes bytes_of(Words... words) {
  Bytes bytes;
  const auto append = [&](auto word) {
    const auto raw = std::as_bytes(std::span(&word, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  (append(words), ...);
  return bytes;
}

constexpr uint32_t kGreetingMagic = 0x3148'4458;
constexpr uint32_t kNoteMagic = 0x314e'4458;

Bytes greeting(uint32_t from, uint32_t to, const RandomBytes& secret) {
  return bytes_of(kGreetingMagic, from, to, secret);
}

size_t descriptors_open() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// Rank 0, and a raw connection that has greeted it.
class Hostile : public testing::Test {
 protected:
  void SetUp() override {
    auto listening = Neighbours::listen(0);
    ASSERT_TRUE(listening.ok()) << listening.error().message;
    neighbours_ = std::move(listening.value());
    local_ = NeighbourAddress::parse(neighbours_->address()).value();
    raw_ = std::move(make_packet_socket().value());
    ASSERT_EQ(connect_to(raw_.get(), local_.name), 0);
  }

  Status meet(milliseconds at_most) {
    NeighbourAddress other = local_;  // rank 1 says it is reached there; it is the one who calls
    other.secret.fill(std::byte{9});
    const std::vector<std::string> addresses{local_.text(), other.text()};
    const auto peers = neighbours_->connect(addresses, at_most);
    if (!peers.ok()) return peers.error();
    return {};
  }

  void send(const Bytes& bytes, int fd = -1) {
    ASSERT_EQ(send_packet(raw_.get(), bytes, fd), Sent::kDone);
  }

  void expect_end(ErrorCode code, const char* why) {
    Ends ends;
    ASSERT_TRUE(poll_until([&] { return ends.ends > 0; },
                           [&] { neighbours_->progress(ends); },
                           std::chrono::seconds(5)));
    neighbours_->progress(ends);
    EXPECT_EQ(ends.notes, 0);
    EXPECT_EQ(ends.ends, 1);
    EXPECT_EQ(ends.cause.code, code);
    EXPECT_THAT(ends.cause.message, HasSubstr(why));
    EXPECT_FALSE(neighbours_->say(1, "", nullptr).ok());
  }

  std::unique_ptr<Neighbours> neighbours_;
  NeighbourAddress local_;
  Descriptor raw_;
};

TEST_F(Hostile, NotesThatAreNone) {
  const int64_t none = 0;
  const auto region = SharedRegion::create(4096);
  const int unsealed = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(unsealed, 4096), 0);
  const int fd = region.value()->fd();
  // 2 MiB, if the kernel has pages of that size.
  const int huge = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);
  const bool is_sealed = huge >= 0 && ::ftruncate(huge, 2 << 20) == 0 &&
                         ::fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  struct Case {
    Bytes bytes;
    int fd;
    const char* why;
  };
  Bytes long_note = bytes_of(kNoteMagic, uint32_t{2000}, none);
  long_note.resize(long_note.size() + 2000);
  Bytes longer_than_allowed = bytes_of(kNoteMagic, uint32_t{1100}, none);
  longer_than_allowed.resize(longer_than_allowed.size() + 1100);
  std::vector<Case> cases = {
      {bytes_of(uint8_t{1}), -1, "no note"},
      {bytes_of(kNoteMagic, uint32_t{0}), -1, "no note"},
      {bytes_of(kNoteMagic + 1, uint32_t{0}, none), -1, "no note"},
      {bytes_of(kNoteMagic, uint32_t{1}, none), -1, "no note"},
      {bytes_of(kNoteMagic, UINT32_MAX, none), -1, "no note"},
      {bytes_of(kNoteMagic, uint32_t{0}, none, uint8_t{0}), -1, "no note"},
      {long_note, -1, "no note"},
      {longer_than_allowed, -1, "no note"},
      {bytes_of(kNoteMagic, uint32_t{0}, int64_t{4096}), -1, "no note"},
      {bytes_of(kNoteMagic, uint32_t{0}, none), fd, "no note"},
      {bytes_of(kNoteMagic, uint32_t{0}, int64_t{-4096}), fd, "of a region of 4096"},
      {bytes_of(kNoteMagic, uint32_t{0}, int64_t{8192}), fd, "of a region of 4096"},
      {bytes_of(kNoteMagic, uint32_t{0}, int64_t{4096}), unsealed, "may change size"},
      {bytes_of(kNoteMagic, uint32_t{0}, int64_t{4096}), STDERR_FILENO, "is no shared region"},
  };
  if (is_sealed) {
    cases.push_back({bytes_of(kNoteMagic, uint32_t{0}, int64_t{2} << 20), huge, "is not plain"});
  }
  neighbours_.reset();
  raw_.close();
  const size_t before = descriptors_open();
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    SetUp();
    send(greeting(1, 0, local_.secret));
    const Status status = meet(std::chrono::seconds(5));
    ASSERT_TRUE(status.ok()) << status.error().message;
    send(cases[i].bytes, cases[i].fd);
    expect_end(ErrorCode::kMalformedMessage, cases[i].why);
    neighbours_.reset();
    raw_.close();
    EXPECT_EQ(descriptors_open(), before);
  }
  ::close(unsealed);
  if (huge >= 0) ::close(huge);
}

TEST_F(Hostile, SeveralDescriptorsAtOnce) {
  send(greeting(1, 0, local_.secret));
  ASSERT_TRUE(meet(std::chrono::seconds(5)).ok());
  const size_t before = descriptors_open();
  const Bytes bytes = bytes_of(kNoteMagic, uint32_t{0}, int64_t{4096});
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  constexpr size_t kPassed = 3;
  alignas(cmsghdr) char control[CMSG_SPACE(kPassed * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(kPassed * sizeof(int));
  const int passed[kPassed] = {0, 1, 2};
  std::memcpy(CMSG_DATA(header), passed, sizeof passed);
  ASSERT_GT(::sendmsg(raw_.get(), &message, 0), 0);
  expect_end(ErrorCode::kMalformedMessage, "no note");
  EXPECT_LE(descriptors_open(), before);
}

TEST_F(Hostile, CallersWithoutTheSecretDoNotMeet) {
  RandomBytes guess = local_.secret;
  guess[15] ^= std::byte{1};
  send(greeting(1, 0, guess));
  const Status status = meet(milliseconds(100));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("rank 1 of this host did not come"));
}

TEST_F(Hostile, CallersThatGreetWronglyDoNotMeet) {
  const std::vector<Bytes> wrong = {
      greeting(2, 0, local_.secret),  // no rank of the group
      greeting(0, 0, local_.secret),
      greeting(1, 1, local_.secret),
      bytes_of(kGreetingMagic, uint32_t{1}),
      Bytes(2000),
  };
  for (const Bytes& bytes : wrong) {
    TearDown();
    SetUp();
    send(bytes);
    EXPECT_FALSE(meet(milliseconds(20)).ok());
  }
}

// Silent callers take no place from those who belong here.
TEST_F(Hostile, AHundredSilentCallersDelayTheOthersOnly) {
  std::vector<Descriptor> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::move(make_packet_socket().value()));
    ASSERT_EQ(connect_to(silent.back().get(), local_.name), 0);
  }
  raw_ = std::move(make_packet_socket().value());
  ASSERT_EQ(connect_to(raw_.get(), local_.name), 0);
  send(greeting(1, 0, local_.secret));
  const Status status = meet(std::chrono::seconds(20));
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST_F(Hostile, CallersOfAnotherUserAreNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setresuid(65534, 65534, 65534) != 0) ::_exit(2);
    Descriptor other = std::move(make_packet_socket().value());
    if (connect_to(other.get(), local_.name) != 0) ::_exit(3);
    send_packet(other.get(), greeting(1, 0, local_.secret), -1);
    Packet packet;
    const bool ended = poll_until(
        [&] { return receive_packet(other.get(), packet) == PacketOutcome::kGone; }, [] {});
    ::_exit(ended ? 0 : 4);
  }
  const Status status = meet(milliseconds(300));
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("callers of other users were refused: 65534"));
  int exit_status = -1;
  ::waitpid(child, &exit_status, 0);
  EXPECT_EQ(exit_status, 0);
}

}  // namespace
}  // namespace crossdock::transports
