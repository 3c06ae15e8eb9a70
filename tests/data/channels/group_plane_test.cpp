// What ranks have to agree on before a channel opens, and what becomes of its plan.
#include "data/channels/group_plane.hpp"

#include <cmath>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/channels/channel_ranks.hpp"
#include "data/ranks/agreement.hpp"
#include "data/ranks/channel_planner.hpp"

namespace crossdock::channels {
namespace {

using Meeting = transports::ForkedRanks::Meeting;
using testing::HasSubstr;

constexpr int64_t kPlaneBudgetBytes = int64_t{64} << 20;

std::unique_ptr<DataPlane> open_plane(std::shared_ptr<ranks::RankGroup> group,
                                      const char* transports) {
  DataPlaneSettings settings;
  settings.transports = transports;
  if (transports == std::string("tcp")) settings.devices = "lo";
  auto plane = DataPlane::open(Memory::create(kPlaneBudgetBytes), std::move(group), settings);
  if (!plane.ok()) ::_exit(2);
  return std::move(plane.value());
}

void pass_rows(Channel& channel, int rank) {
  Tally taken;
  const Status used = use_endpoint(channel, rank, 3, taken);
  EXPECT_TRUE(used.ok()) << used.error().message;
  EXPECT_EQ(taken, expected_tally(2, 2, rank, 3, false));
}

// A rank that has tried in vain to open channels has used more numbers.
TEST(GroupPlane, ChannelsHaveTheHighestNumberThatARankHasForThem) {
  transports::ForkedRanks forked(2, [](int rank, Meeting& meeting) {
    const auto plane = open_plane(std::make_shared<BoardGroup>(rank, 2, meeting), "auto");
    for (uint64_t i = 0; i < 3; ++i) {
      ChannelSpec spec = endpoints_on({0, 1});
      spec.id = (rank == 0 ? 5 : 1) + i;
      const auto channel = plane->create_channel(spec);
      ASSERT_TRUE(channel.ok()) << channel.error().message;
      EXPECT_EQ(channel.value()->id(), 5 + i);
      pass_rows(*channel.value(), rank);
    }
    // Then the other rank is ahead.
    ChannelSpec spec = endpoints_on({0, 1});
    spec.id = rank == 0 ? 8 : 14;
    const auto channel = plane->create_channel(spec);
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    EXPECT_EQ(channel.value()->id(), 18) << "14 and the 4 that rank 1 has skipped";
    pass_rows(*channel.value(), rank);
  });
  EXPECT_TRUE(forked.all_are_well());
}

TEST(GroupPlane, TheTimeToOpenIsANumberOfSeconds) {
  for (const double open_within_s : {0.0, -1.0, 1e9, std::nan("")}) {
    DataPlaneSettings settings;
    settings.open_within_s = open_within_s;
    const auto plane = DataPlane::open(Memory::create(kPlaneBudgetBytes), nullptr, settings);
    ASSERT_FALSE(plane.ok()) << open_within_s;
    EXPECT_EQ(plane.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(plane.error().message, HasSubstr("open_within_s is"));
  }
}

// Plans nothing, and writes a byte for each plan that is ended.
class Counting final : public ranks::ChannelPlanner {
 public:
  explicit Counting(int fd) : fd_(fd) {}
  Result<ranks::PlannedChannel> plan(const ranks::ChannelEnds&,
                                     std::chrono::milliseconds) override {
    return ranks::PlannedChannel{"plan", nullptr, {}, {}};
  }
  void end(const std::string&) override { EXPECT_EQ(::write(fd_, "e", 1), 1); }

 private:
  const int fd_;
};

class PlannedGroup final : public ranks::RankGroup {
 public:
  PlannedGroup(int rank, Meeting& meeting, int fd) : board_(rank, 2, meeting), planner_(fd) {}
  int rank() const override { return board_.rank(); }
  int size() const override { return board_.size(); }
  Result<std::vector<std::string>> gather(const std::string& mine,
                                          std::chrono::milliseconds at_most) override {
    return board_.gather(mine, at_most);
  }
  ranks::ChannelPlanner* planner() override { return &planner_; }

 private:
  BoardGroup board_;
  Counting planner_;
};

TEST(GroupPlane, APlanIsEndedByItsRankAndByNoCopyThatForkMakes) {
  transports::ForkedRanks forked(2, [](int rank, Meeting& meeting) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
    auto plane = open_plane(std::make_shared<PlannedGroup>(rank, meeting, ends[1]), "tcp");
    auto channel = std::move(plane->create_channel(endpoints_on({0, 1})).value());
    const pid_t copy = ::fork();
    if (copy == 0) {
      channel.reset();
      plane.reset();
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(copy, &status, 0), copy);
    EXPECT_EQ(status, 0);
    char bytes[8];
    EXPECT_EQ(::read(ends[0], bytes, sizeof bytes), -1) << "ended by a copy";
    pass_rows(*channel, rank);
    channel.reset();
    plane.reset();
    EXPECT_GE(::read(ends[0], bytes, sizeof bytes), 1);
  });
  EXPECT_TRUE(forked.all_are_well());
}

// Who leaves comes to one more round, in which others may be meeting for something else.
TEST(GroupPlane, ARankThatLeavesIsAnErrorToThoseWhoMeet) {
  transports::ForkedRanks forked(2, [](int rank, Meeting& meeting) {
    const auto group = std::make_shared<BoardGroup>(rank, 2, meeting);
    auto plane = open_plane(group, "tcp");
    if (rank == 1) return;
    const auto said = ranks::agree(*group, std::string("here"), std::chrono::seconds(20));
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(said.error().code, ErrorCode::kChannelClosed);
    EXPECT_THAT(said.error().message, HasSubstr("rank 1 has closed its data plane"));
    // It does not leave: unless it has missed the other before, that is one more round.
    (void)plane.release();
  });
  EXPECT_TRUE(forked.all_are_well());
}

}  // namespace
}  // namespace crossdock::channels
