// Ranks that meet in a folder: real processes, what dead jobs left, and what stays behind.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/rank_group.hpp"
#include "data/transports/forked_ranks.hpp"

namespace crossdock::ranks {
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
  transports::ForkedRanks ranks(5, [&](int rank, transports::ForkedRanks::Meeting&) {
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
}

// Killed at every point of a job, whose files the next one finds.
TEST_F(FolderGroups, FilesOfKilledJobsConfuseNoRank) {
  for (int killed_round = 0; killed_round < 4; ++killed_round) {
    {
      transports::ForkedRanks dead(3, [&](int rank, transports::ForkedRanks::Meeting& meeting) {
        const auto group = join(rank, 3);
        for (int round = 0; round < killed_round; ++round) {
          EXPECT_TRUE(group->gather("of the dead", seconds(20)).ok());
        }
        if (rank == 1) {
          meeting.barrier();
          ::raise(SIGKILL);
        }
        std::thread([&] { (void)group->gather("of the dead", seconds(20)); }).detach();
        while (files().empty()) std::this_thread::yield();  // the thread may not have begun
        meeting.barrier();
        ::raise(SIGKILL);
      });
      for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(dead.status(rank), -SIGKILL);
    }
    EXPECT_THAT(files(), testing::Not(testing::IsEmpty()));
    transports::ForkedRanks ranks(3, [&](int rank, transports::ForkedRanks::Meeting&) {
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
  transports::ForkedRanks ranks(2, [&](int rank, transports::ForkedRanks::Meeting& meeting) {
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

TEST_F(FolderGroups, TwoOfTheSameRankAreReported) {
  transports::ForkedRanks ranks(2, [&](int, transports::ForkedRanks::Meeting& meeting) {
    const auto group = join(0, 2);
    const auto all = group->gather("", milliseconds(300));
    ASSERT_FALSE(all.ok());
    const bool has_heard =
        all.error().message.find("another process is rank 0") != std::string::npos;
    const auto heard = meeting.gather(has_heard ? "heard" : "");
    EXPECT_TRUE(heard[0] == "heard" || heard[1] == "heard");
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST_F(FolderGroups, OtherNumbersOfRanksAreNamed) {
  std::ofstream(folder_ + "/job.hello.1") << "3 abc -";
  const auto all = join(0, 2)->gather("", milliseconds(20));
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr("counts 3 ranks, not 2"));
}

// Of two jobs of one name, ranks that come second are refused, and the first ones go on, for as long as they are there.
TEST_F(FolderGroups, TheRanksOfASecondJobAreRefusedWhileTheFirstLives) {
  transports::ForkedRanks ranks(2, [&](int rank, transports::ForkedRanks::Meeting& meeting) {
    auto group = join(rank, 2);
    expect_round(*group, 0);
    meeting.barrier();
    if (rank == 0) {
      // A process of its own, since this one may join again.
      transports::ForkedRanks second(1, [&](int, transports::ForkedRanks::Meeting&) {
        const auto all = join(1, 2)->gather("", seconds(20));
        ASSERT_FALSE(all.ok());
        EXPECT_EQ(all.error().code, ErrorCode::kInvalidArgument);
        EXPECT_THAT(all.error().message, HasSubstr("another process is rank 1 of job \"job\""));
      });
      EXPECT_TRUE(second.all_are_well());
    }
    meeting.barrier();
    expect_round(*group, 1);
    group.reset();
    meeting.barrier();
    expect_round(*join(rank, 2), 0);
  });
  EXPECT_TRUE(ranks.all_are_well());
}

// Ranks of two jobs take the places of one group: the rank that is first to a place hears of the second, and none go
// on.
TEST_F(FolderGroups, NoRankMeetsThoseOfAnotherJobOfTheName) {
  transports::ForkedRanks ranks(3, [&](int process, transports::ForkedRanks::Meeting& meeting) {
    const auto group = join(process == 2 ? 0 : process, 3);  // two of rank 0, none of rank 2
    if (process == 2) meeting.barrier();
    std::thread later([&] {
      if (process == 2) return;
      std::this_thread::sleep_for(milliseconds(300));
      meeting.barrier();
    });
    const auto all = group->gather("", seconds(process == 1 ? 2 : 20));
    later.join();
    ASSERT_FALSE(all.ok());
    if (process != 1) {
      EXPECT_THAT(all.error().message, HasSubstr("another process is rank 0"));
    }
  });
  EXPECT_TRUE(ranks.all_are_well());
}

// As mpirun starts a process of a launch of two.
void enter_launch(const char* name) {
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  ::setenv("PMIX_NAMESPACE", name, 1);
}

// Two jobs of one folder and name start together, and rank 0 of the one meets rank 1 of the other first.
TEST_F(FolderGroups, RanksOfTwoLaunchesAreRefused) {
  transports::ForkedRanks ranks(4, [&](int process, transports::ForkedRanks::Meeting& meeting) {
    const bool is_first = process == 0 || process == 3;
    enter_launch(is_first ? "launch-a" : "launch-b");
    const bool comes_late = process >= 2;
    const auto group = join(process % 2, 2);
    if (comes_late) meeting.barrier();
    const auto all = group->gather("", seconds(20));
    if (!comes_late) meeting.barrier();
    ASSERT_FALSE(all.ok()) << "ranks of two launches have met";
    EXPECT_EQ(all.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(all.error().message, HasSubstr("of job \"job\" in " + folder_));
    EXPECT_THAT(all.error().message, HasSubstr("CROSSDOCK_JOB"));
    if (!comes_late) {
      EXPECT_THAT(all.error().message, HasSubstr("PMIX_NAMESPACE=launch-a"));
      EXPECT_THAT(all.error().message, HasSubstr("PMIX_NAMESPACE=launch-b"));
    }
    meeting.barrier();  // those who came early keep their places until then
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST_F(FolderGroups, WhatARankOfAnotherLaunchLeftIsReplaced) {
  const std::string left = folder_ + "/job.hello.1";
  std::ofstream(left) << "2 abc PMIX_NAMESPACE=launch-a";
  transports::ForkedRanks ranks(2, [&](int rank, transports::ForkedRanks::Meeting&) {
    enter_launch("launch-b");
    expect_round(*join(rank, 2), 0);
  });
  EXPECT_TRUE(ranks.all_are_well());
  std::ofstream(left) << "2 abc PMIX_NAMESPACE=launch-a";
  transports::ForkedRanks alone(1, [&](int, transports::ForkedRanks::Meeting&) {
    enter_launch("launch-b");
    const auto all = join(0, 2)->gather("", milliseconds(20));
    ASSERT_FALSE(all.ok());
    EXPECT_THAT(all.error().message,
                HasSubstr("is of PMIX_NAMESPACE=launch-a, not of PMIX_NAMESPACE=launch-b"));
  });
  EXPECT_TRUE(alone.all_are_well());
}

// Ranks that were started by hand say no launch, and may meet those that a launcher started.
TEST_F(FolderGroups, ARankWithoutALaunchMeetsAnyOther) {
  transports::ForkedRanks ranks(2, [&](int rank, transports::ForkedRanks::Meeting&) {
    if (rank == 1) enter_launch("launch-a");
    expect_round(*join(rank, 2), 0);
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST_F(FolderGroups, FilesAreForTheUserAlone) {
  transports::ForkedRanks ranks(2, [&](int rank, transports::ForkedRanks::Meeting& meeting) {
    ::umask(0);
    const auto group = join(rank, 2);
    expect_round(*group, 0);
    meeting.barrier();
    if (rank == 0) {
      EXPECT_THAT(files(), testing::Not(testing::IsEmpty()));
      for (const std::string& file : files()) {
        struct stat status = {};
        ASSERT_EQ(::stat((folder_ + "/" + file).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0600) << file;
      }
    }
    meeting.barrier();
  });
  EXPECT_TRUE(ranks.all_are_well());
}

// No rank writes through a link that another user has put where a rank will write or read.
TEST_F(FolderGroups, LinksAreNotFollowed) {
  const std::string victim = folder_ + "/victim";
  std::ofstream(victim) << "kept";
  std::filesystem::create_symlink(victim, folder_ + "/job.hello.1");
  std::filesystem::create_symlink(victim, folder_ + "/job+claim.0");
  const auto all = join(0, 2)->gather("", milliseconds(50));
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr("job+claim.0 cannot be opened"));
  std::filesystem::remove(folder_ + "/job+claim.0");
  const auto again = join(0, 2)->gather("", milliseconds(50));
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("job.hello.1 cannot be opened"));
  std::string text;
  std::getline(std::ifstream(victim), text);
  EXPECT_EQ(text, "kept");
}

TEST_F(FolderGroups, AFolderInWhichEverybodyMayReplaceFilesIsRefused) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const auto group = join_folder(folder_, "job", 0, 2);
  ASSERT_FALSE(group.ok());
  EXPECT_EQ(group.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(group.error().message, HasSubstr("(mode 777)"));
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);
  EXPECT_TRUE(join_folder(folder_, "job", 0, 2).ok());
}

// A rank opens a few files to meet and in each round, however many ranks there are.
TEST_F(FolderGroups, ManyRanksMeetInTimeThatGrowsAsTheirNumber) {
  constexpr int kRanks = 16;
  transports::ForkedRanks ranks(kRanks, [&](int rank, transports::ForkedRanks::Meeting& meeting) {
    const auto group = join(rank, kRanks);
    expect_round(*group, 0);
    meeting.barrier();
    if (rank == 1) {
      // Of those who have met, no rank but the first has anything to read of the others.
      int of_rounds = 0;
      for (const std::string& file : files()) of_rounds += file.ends_with(".all");
      EXPECT_EQ(of_rounds, 1);
      EXPECT_LE(files().size(), size_t{2} * kRanks + 1);
    }
    meeting.barrier();
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST_F(FolderGroups, RanksThatEndAreNamedByThoseWhoWait) {
  transports::ForkedRanks ranks(3, [&](int rank, transports::ForkedRanks::Meeting&) {
    const auto group = join(rank, 3);
    bool is_gone = false;
    group->set_liveness([&](int other) -> Status {
      // As soon as it has written what it says in the first round.
      for (const std::string& file : files()) is_gone = is_gone || file.ends_with(".0.2");
      if (other != 2 || !is_gone) return {};
      return make_error(ErrorCode::kAgentLost, "rank 2 is gone");
    });
    if (rank == 2) (void)group->gather("its last word", seconds(20));
    if (rank == 2) return;
    EXPECT_TRUE(group->gather("here", seconds(20)).ok()) << "said before it ended";
    is_gone = true;
    const auto all = group->gather("here", seconds(20));
    ASSERT_FALSE(all.ok());
    EXPECT_EQ(all.error().message, "rank 2 is gone");
  });
  EXPECT_TRUE(ranks.all_are_well());
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
  expect_refused(folder_, "../job", 0, 2);
  expect_refused(folder_ + "/none", "job", 0, 2);
}

}  // namespace
}  // namespace crossdock::ranks
