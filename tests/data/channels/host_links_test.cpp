// What ranks of several hosts are refused with when they meet.
#include "data/channels/host_links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/channels/channel_ranks.hpp"
#include "data/channels/data_plane.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::channels {
namespace {

using testing::HasSubstr;

TEST(HostLinks, SilencesThatAreTooShortAreRefused) {
  transports::ForkedRanks forked(2, [&](int rank, transports::ForkedRanks::Meeting& meeting) {
    DataPlaneSettings settings;
    settings.transports = "tcp";
    settings.devices = "lo";
    settings.lost_after_s = 0.5;
    const auto plane = DataPlane::open(
        Memory::create(int64_t{1} << 20), std::make_shared<BoardGroup>(rank, 2, meeting), settings);
    ASSERT_FALSE(plane.ok());
    EXPECT_EQ(plane.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(plane.error().message, HasSubstr("lost_after_s is 0.5; it must be 1 or more"));
  });
  EXPECT_TRUE(forked.all_are_well());
}

// Its rows go through memory, and no table of the server leads to it.
TEST(HostLinks, RanksOfOneHostNeedNoPlannedDevice) {
  transports::ForkedRanks forked(3, [&](int rank, transports::ForkedRanks::Meeting& meeting) {
    DataPlaneSettings settings;
    settings.transports = "tcp";
    settings.devices = "lo";
    BoardGroup group(rank, 3, meeting);
    const auto links =
        HostLinks::open(group, settings, {0, 0, 1}, {[](uint64_t, const Error&) {}, {}});
    ASSERT_TRUE(links.ok()) << links.error().message;
    ranks::PlannedChannel planned;
    planned.server = std::make_shared<const topology::ServerShape>(topology::two_sockets());
    planned.destinations[rank == 0 ? 1 : 0] = {.structure = 0, .vertex = 0};
    const auto paths = links.value()->planned_paths(planned);
    EXPECT_EQ(paths.ok(), rank < 2);
    if (rank == 2) {
      EXPECT_EQ(paths.error().code, ErrorCode::kNoPath);
    }
    meeting.barrier();
  });
  EXPECT_TRUE(forked.all_are_well());
}

}  // namespace
}  // namespace crossdock::channels
