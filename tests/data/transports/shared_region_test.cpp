// Shared regions: cleared, sealed, and refused if they are anything else.
#include "data/transports/shared_region.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::transports {
namespace {

using testing::HasSubstr;

constexpr int64_t kBytes = 3 * 4096 + 128;

std::unique_ptr<SharedRegion> region_of(int64_t bytes) {
  auto region = SharedRegion::create(bytes);
  EXPECT_TRUE(region.ok()) << region.error().message;
  return std::move(region.value());
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

int memfd_of(int64_t bytes, int seals) {
  const int fd = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(::ftruncate(fd, bytes), 0);
  EXPECT_EQ(::fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

void expect_refused(int fd, int64_t bytes, const char* why) {
  const auto region = SharedRegion::map(fd, bytes);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.error().code, ErrorCode::kMalformedMessage);
  EXPECT_THAT(region.error().message, HasSubstr(why));
  EXPECT_FALSE(is_open(fd));
}

TEST(SharedRegion, IsClearedAndSeenThroughEveryMapping) {
  const auto region = region_of(kBytes);
  ASSERT_EQ(region->bytes().size(), static_cast<size_t>(kBytes));
  EXPECT_TRUE(std::ranges::all_of(region->bytes(), [](std::byte b) { return b == std::byte{0}; }));
  const auto other = SharedRegion::map(::dup(region->fd()), kBytes);
  ASSERT_TRUE(other.ok()) << other.error().message;
  region->bytes()[kBytes - 1] = std::byte{7};
  EXPECT_EQ(other.value()->bytes()[kBytes - 1], std::byte{7});
}

TEST(SharedRegion, NobodyCanChangeItsSize) {
  const auto region = region_of(kBytes);
  EXPECT_NE(::ftruncate(region->fd(), 0), 0);
  EXPECT_NE(::ftruncate(region->fd(), 2 * kBytes), 0);
  EXPECT_NE(::fcntl(region->fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(SharedRegion, IsClosedOnExecAndWithItsOwner) {
  auto region = region_of(kBytes);
  const int fd = region->fd();
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
  region.reset();
  EXPECT_FALSE(is_open(fd));
}

TEST(SharedRegion, RefusesSizesThatNobodyCanHave) {
  for (const int64_t bytes : {int64_t{0}, int64_t{-1}}) {
    const auto region = SharedRegion::create(bytes);
    ASSERT_FALSE(region.ok());
    EXPECT_EQ(region.error().code, ErrorCode::kInvalidArgument);
  }
  const auto region = SharedRegion::create(INT64_MAX);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_THAT(region.error().message, HasSubstr("9223372036854775807 bytes"));
}

TEST(SharedRegion, RefusesWhatCouldMakeItsReaderFault) {
  expect_refused(memfd_of(kBytes, 0), kBytes, "may change size");
  expect_refused(memfd_of(kBytes, F_SEAL_GROW | F_SEAL_SEAL), kBytes, "may change size");
  constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW;
  expect_refused(memfd_of(kBytes - 1, kSealed | F_SEAL_SEAL), kBytes, "of a region of 12415");
  expect_refused(memfd_of(0, kSealed | F_SEAL_SEAL), 0, "of a region of 0");
  expect_refused(
      memfd_of(kBytes, kSealed | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), kBytes, "cannot be mapped");
  expect_refused(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC), kBytes, "is no shared region");
  expect_refused(-1, kBytes, "is no shared region");
}

}  // namespace
}  // namespace crossdock::transports
