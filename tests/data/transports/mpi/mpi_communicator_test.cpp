// Real ranks under the mpirun of Open MPI and that of MPICH, on more ranks than there are cores.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/shared_memory_files.hpp"

namespace crossdock::transports {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct Mpi {
  std::string name;
  std::string launcher;  // how it is started, up to the number of ranks
};

const Mpi kOpenMpi = {
    "openmpi", "mpirun.openmpi --allow-run-as-root --oversubscribe --mca mpi_yield_when_idle 1 -n"};
const Mpi kMpich = {"mpich", "mpirun.mpich -n"};

std::filesystem::path folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

struct Ran {
  int status = -1;
  std::string output;
  double seconds = 0;
  int fine() const {
    int count = 0;
    for (size_t at = 0; (at = output.find("fine\n", at)) != std::string::npos; ++at) ++count;
    return count;
  }
};

std::vector<std::string> files_of(const std::filesystem::path& place) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(place)) {
    names.push_back(entry.path().string());
  }
  return names;
}

class MpiRanks : public testing::TestWithParam<Mpi> {
 protected:
  void SetUp() override {
    const std::string launcher = GetParam().launcher.substr(0, GetParam().launcher.find(' '));
    const bool is_there =
        std::system(fmt::format("command -v {} >/dev/null", launcher).c_str()) == 0;
    const auto plugin = folder() / fmt::format("libcrossdock_mpi_{}.so", GetParam().name);
    if (!is_there || !std::filesystem::exists(plugin)) {
      GTEST_SKIP() << "no " << launcher << " here, or its plugin was not built";
    }
  }

  static Ran run(int ranks, const std::string& words, const std::string& program = "mpi_driver") {
    // The leak check is of this process alone: MPI keeps a few bytes for good.
    const std::string command =
        fmt::format("ASAN_OPTIONS=detect_leaks=0 timeout 120 {} {} {}/crossdock_{} {} 2>&1",
                    GetParam().launcher,
                    ranks,
                    folder().string(),
                    program,
                    words);
    Ran ran;
    const auto begin = std::chrono::steady_clock::now();
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    char text[4096];
    for (size_t count = 0; (count = std::fread(text, 1, sizeof text, pipe)) > 0;) {
      ran.output.append(text, count);
    }
    ran.status = ::pclose(pipe);
    ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return ran;
  }

  static void expect_fine(int ranks, const std::string& words) {
    const Ran ran = run(ranks, words);
    EXPECT_EQ(ran.status, 0) << words << "\n" << ran.output;
    EXPECT_EQ(ran.fine(), ranks) << words << "\n" << ran.output;
  }
};

TEST_P(MpiRanks, EveryByteArrivesOverMpi) {
  for (const int ranks : {1, 2, 3, 5, 8}) expect_fine(ranks, "puts apart");
}

TEST_P(MpiRanks, EveryByteArrivesInSharedMemory) {
  for (const int ranks : {2, 4, 7}) expect_fine(ranks, "puts");
}

TEST_P(MpiRanks, EveryByteArrivesOverBoth) {
  for (const int ranks : {3, 7}) expect_fine(ranks, "puts per_host=2");
}

TEST_P(MpiRanks, PlacesBeyond32Bits) {
  expect_fine(2, "far apart");
  expect_fine(3, "far per_host=2");
}

TEST_P(MpiRanks, NoRoomInOneRankIsReportedToAll) {
  expect_fine(3, "room apart");
  expect_fine(3, "room");
}

TEST_P(MpiRanks, RanksOfChannelsMeet) { expect_fine(3, "join"); }

TEST_P(MpiRanks, PutsToARankThatCallsNothing) { expect_fine(3, "progress apart"); }

TEST_P(MpiRanks, LoopsThatWaitForWords) {
  expect_fine(3, "words apart");
  expect_fine(3, "words");
}

TEST_P(MpiRanks, AGroupThatCountsOtherwiseIsRefused) {
  const Ran ran = run(2, "group");
  EXPECT_EQ(ran.fine(), 2) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("is rank 0 of 77 of its group, and rank 1 of 2 to MPI"));
}

// In any round: a rank that fails is named by the others, unless the launcher has ended them before.
TEST_P(MpiRanks, ARankThatFailsEndsAll) {
  for (const std::string how : {"throw", "error"}) {
    for (int round = 0; round < 3; ++round) {
      const Ran ran = run(3, fmt::format("{} apart when={}", how, round));
      EXPECT_NE(ran.status, 0);
      EXPECT_THAT(ran.output, HasSubstr("rank 1 of 3: the file ends early"));
      EXPECT_EQ(ran.fine(), 0) << ran.output;
    }
  }
}

TEST_P(MpiRanks, ARankThatIsKilledEndsAll) {
  for (int round = 0; round < 3; ++round) {
    const Ran ran = run(3, fmt::format("kill who={} when={}", round, round));
    EXPECT_NE(ran.status, 0);
    EXPECT_EQ(ran.fine(), 0) << ran.output;
    EXPECT_THAT(ran.output, AnyOf(HasSubstr("Killed"), HasSubstr("signal 9")));
  }
}

// No rank waits for ever, and nothing stays: no folder of the launcher's, no shared memory.
TEST_P(MpiRanks, ARankThatIsKilledInAnyPhaseLeavesNothing) {
  const auto temporary = std::filesystem::temp_directory_path() /
                         fmt::format("crossdock-killed-{}-{}", GetParam().name, ::getpid());
  std::filesystem::create_directory(temporary);
  ::setenv("TMPDIR", temporary.c_str(), 1);
  const std::set<std::string> before = shared_memory_files();
  for (const std::string phase : {"histogram",
                                  "window",
                                  "network_partition",
                                  "arrival",
                                  "cut",
                                  "sort",
                                  "gather",
                                  "join_histogram",
                                  "join_window",
                                  "join_network_partition"}) {
    const int ranks = phase == "network_partition" ? 5 : 3;  // five put in rounds
    const Ran ran = run(ranks, fmt::format("phase phase={} per_host=2 limit=20000", phase));
    EXPECT_NE(ran.status, 0) << phase;
    EXPECT_EQ(ran.fine(), 0) << phase << "\n" << ran.output;
    EXPECT_THAT(ran.output, AnyOf(HasSubstr("Killed"), HasSubstr("signal 9"))) << phase;
    EXPECT_LT(ran.seconds, 60) << phase;
    EXPECT_THAT(files_of(temporary), IsEmpty()) << phase;
    for (const std::string& name : shared_memory_files()) {
      EXPECT_TRUE(before.contains(name) || !stays_in_shared_memory(name))
          << name << " stays after " << phase;
    }
  }
  ::unsetenv("TMPDIR");
  std::filesystem::remove_all(temporary);
}

// Beside a rank that shares its memory, and one that it puts to.
TEST_P(MpiRanks, ARankThatThrowsWhileAJoinIsPartitionedEndsAll) {
  for (const std::string phase : {"join_window", "join_network_partition"}) {
    const Ran ran = run(3, fmt::format("phase_throws phase={} per_host=2 limit=20000", phase));
    EXPECT_NE(ran.status, 0) << phase;
    EXPECT_EQ(ran.fine(), 0) << phase << "\n" << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("rank 1 of 3: the file ends early")) << phase;
    EXPECT_LT(ran.seconds, 60) << phase;
  }
}

TEST_P(MpiRanks, ARankThatDoesNotComeIsNamed) {
  const Ran ran = run(3, "leave apart when=1 limit=1000");
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.output, HasSubstr("rank 1 of 3 did not come within 1 s"));
}

TEST_P(MpiRanks, AProgramThatHasStartedMpiItself) {
  const std::string program = fmt::format("mpi_program_{}", GetParam().name);
  const Ran ran = run(2, "", program);
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_EQ(ran.fine(), 2) << ran.output;
  const Ran threaded = run(2, "thread", program);
  EXPECT_THAT(threaded.output, HasSubstr("started MPI for one thread only"));
}

INSTANTIATE_TEST_SUITE_P(Both, MpiRanks, testing::Values(kOpenMpi, kMpich), [](const auto& tested) {
  return tested.param.name;
});

}  // namespace
}  // namespace crossdock::transports
