// Ranks that meet in a folder: real processes, what dead jobs left, and what stays behind.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/rank_group.hpp"
#include "data/transports/forked_ranks.hpp"

namespace crossdock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

class FolderGroups : public testing::Test {
 protected:
  FolderGroups() {
    std::string name = testing::TempDir() + "/ranksXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~FolderGroups() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<RankGroup> join(int rank, int size, const std::string& job = "job") const {
    auto group = join_folder(folder_, job, rank, size);
    EXPECT_TRUE(group.ok()) << group.error().message;
    return std::move(group.value());
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(folder_)) {
      names.push_back(file.path().filename().string());
    }
    return names;
  }

  // All ranks pass their number and the round's; `round` is answered right.
  static void expect_round(RankGroup& group, int round) {
    const auto text = [&](int rank) { return fmt::format("rank {}\nround {}", rank, round); };
    const auto all = group.gather(text(group.rank()), seconds(20));
    ASSERT_TRUE(all.ok()) << all.error().message;
    ASSERT_EQ(all.value().size(), static_cast<size_t>(group.size()));
    for (int rank = 0; rank < group.size(); ++rank) {
      EXPECT_EQ(all.value()[static_cast<size_t>(rank)], text(rank));
    }
  }

  std::string folder_;
};

TEST_F(FolderGroups, GatherInRoundsAndLeaveNothing) {
  ForkedRanks ranks(5, [&](int rank, ForkedRanks::Meeting&) {
    const auto group = join(rank, 5);
    EXPECT_EQ(group->rank(), rank);
    EXPECT_EQ(group->size(), 5);
    for (int round = 0; round < 20; ++round) expect_round(*group, round);
    const auto large = group->gather(std::string(1'000'000, 'x'), seconds(20));
    ASSERT_TRUE(large.ok());
    EXPECT_EQ(large.value()[4].size(), 1'000'000u);
    EXPECT_TRUE(group->gather("", seconds(20)).ok());
  });
  EXPECT_TRUE(ranks.all_are_well());
  EXPECT_THAT(files(), ElementsAre());
}

TEST_F(FolderGroups, OneAloneMeetsItself) {
  const auto group = join(0, 1);
  EXPECT_THAT(group->gather("a", milliseconds(0)).value(), ElementsAre("a"));
  EXPECT_THAT(make_single_rank()->gather("b", milliseconds(0)).value(), ElementsAre("b"));
}

// Killed at every point of a job, whose files the next one finds.
TEST_F(FolderGroups, FilesOfKilledJobsConfuseNobody) {
  for (int killed_round = 0; killed_round < 4; ++killed_round) {
    {
      ForkedRanks dead(3, [&](int rank, ForkedRanks::Meeting& meeting) {
        const auto group = join(rank, 3);
        for (int round = 0; round < killed_round; ++round) {
          EXPECT_TRUE(group->gather("of the dead", seconds(20)).ok());
        }
        if (rank == 1) {
          meeting.barrier();
          ::raise(SIGKILL);
        }
        std::thread([&] { (void)group->gather("of the dead", seconds(20)); }).detach();
        meeting.barrier();
        ::raise(SIGKILL);
      });
      for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(dead.status(rank), -SIGKILL);
    }
    EXPECT_THAT(files(), testing::Not(testing::IsEmpty()));
    ForkedRanks ranks(3, [&](int rank, ForkedRanks::Meeting&) {
      const auto group = join(rank, 3);
      for (int round = 0; round < 3; ++round) expect_round(*group, round);
    });
    EXPECT_TRUE(ranks.all_are_well());
    EXPECT_THAT(files(), ElementsAre());
  }
}

TEST_F(FolderGroups, ThoseWhoDoNotComeAreNamed) {
  const auto group = join(1, 4);
  const auto all = group->gather("", milliseconds(30));
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::kAgentLost);
  EXPECT_THAT(all.error().message, HasSubstr("ranks 0, 2, 3 of 4 did not come within 0.03 s"));
}

TEST_F(FolderGroups, ThoseWhoDoNotComeToALaterRoundAreNamed) {
  ForkedRanks ranks(2, [&](int rank, ForkedRanks::Meeting& meeting) {
    const auto group = join(rank, 2);
    expect_round(*group, 0);
    if (rank == 0) {
      const auto all = group->gather("", milliseconds(30));
      ASSERT_FALSE(all.ok());
      EXPECT_THAT(all.error().message, HasSubstr("rank 1 of 2 did not come"));
      const auto after = group->gather("", milliseconds(30));
      ASSERT_FALSE(after.ok());
      EXPECT_THAT(after.error().message, HasSubstr("is over"));
    }
    meeting.barrier();
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST_F(FolderGroups, TwoOfTheSameRankAreTold) {
  ForkedRanks ranks(2, [&](int, ForkedRanks::Meeting& meeting) {
    const auto group = join(0, 2);
    const auto all = group->gather("", milliseconds(300));
    ASSERT_FALSE(all.ok());
    const bool is_told = all.error().message.find("another process is rank 0") != std::string::npos;
    const auto told = meeting.gather(is_told ? "told" : "");
    EXPECT_TRUE(told[0] == "told" || told[1] == "told");
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST_F(FolderGroups, OtherNumbersOfRanksAreNamed) {
  std::ofstream(folder_ + "/job.list.1") << "a b c\n";
  const auto all = join(0, 2)->gather("", milliseconds(20));
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr("counts 3 ranks, not 2"));
}

TEST_F(FolderGroups, RefuseWhatCannotBe) {
  const auto expect_refused = [&](const std::string& folder, const char* job, int rank, int size) {
    const auto group = join_folder(folder, job, rank, size);
    ASSERT_FALSE(group.ok());
    EXPECT_EQ(group.error().code, ErrorCode::kInvalidArgument);
  };
  expect_refused(folder_, "job", 2, 2);
  expect_refused(folder_, "job", -1, 2);
  expect_refused(folder_, "job", 0, 0);
  expect_refused(folder_, "job", 0, 1 << 20);
  expect_refused(folder_, "", 0, 2);
  expect_refused(folder_, "../job", 0, 2);
  expect_refused(folder_ + "/none", "job", 0, 2);
}

}  // namespace
}  // namespace crossdock
