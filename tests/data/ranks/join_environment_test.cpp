// What the environment says about ranks, and mpirun itself.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/launch_id.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kNames[] = {"CROSSDOCK_RANK",
                                  "CROSSDOCK_RANKS",
                                  "CROSSDOCK_MEET",
                                  "CROSSDOCK_JOB",
                                  "CROSSDOCK_CONTROL",
                                  "PMIX_RANK",
                                  "PMIX_NAMESPACE",
                                  "OMPI_COMM_WORLD_RANK",
                                  "PMI_RANK",
                                  "PMI_SIZE",
                                  "OMPI_COMM_WORLD_SIZE",
                                  "SLURM_NTASKS",
                                  "SLURM_JOB_ID",
                                  "SLURM_STEP_ID",
                                  "SLURM_PROCID",
                                  "SLURM_STEP_NUM_TASKS"};

class JoinEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) ::unsetenv(name);
  }
  void TearDown() override { SetUp(); }

  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  static std::string refusal() {
    const auto group = join_environment();
    EXPECT_FALSE(group.ok());
    if (group.ok()) return "";
    EXPECT_EQ(group.error().code, ErrorCode::kInvalidArgument);
    return group.error().message;
  }
};

TEST_F(JoinEnvironment, NothingSaysWhatToDo) {
  EXPECT_THAT(refusal(), HasSubstr("start it with mpirun or `srun --mpi=pmix`, or set "));
}

TEST_F(JoinEnvironment, AFolderAndNumbers) {
  set("CROSSDOCK_RANK", "0");
  EXPECT_THAT(refusal(), HasSubstr("CROSSDOCK_RANKS is not set"));
  set("CROSSDOCK_RANKS", "1x");
  EXPECT_THAT(refusal(), HasSubstr("CROSSDOCK_RANKS=1x: it must be a whole number"));
  set("CROSSDOCK_RANKS", "1");
  EXPECT_THAT(refusal(), HasSubstr("CROSSDOCK_MEET is not set"));
  set("CROSSDOCK_MEET", "/nowhere");
  EXPECT_THAT(refusal(), HasSubstr("\"/nowhere\" is no folder"));
  set("CROSSDOCK_MEET", testing::TempDir());
  set("CROSSDOCK_JOB", "join/environment");
  EXPECT_THAT(refusal(), HasSubstr("cannot be a job's name"));
  set("CROSSDOCK_JOB", "join_environment");
  const auto group = join_environment();
  ASSERT_TRUE(group.ok()) << group.error().message;
  EXPECT_THAT(group.value()->gather("x", seconds(20)).value(), ElementsAre("x"));
}

TEST_F(JoinEnvironment, ThePlaceThatALauncherGave) {
  const auto expect_place = [](int rank, int ranks) {
    const auto place = launch_place();
    ASSERT_TRUE(place.ok()) << place.error().message;
    EXPECT_EQ(place.value().rank, rank);
    EXPECT_EQ(place.value().ranks, ranks);
  };
  expect_place(0, 1);
  set("SLURM_PROCID", "1");
  set("SLURM_NTASKS", "4");
  expect_place(0, 1);  // a batch script
  set("SLURM_STEP_NUM_TASKS", "4");
  expect_place(1, 4);
  set("PMI_RANK", "2");
  set("PMI_SIZE", "3");
  expect_place(2, 3);
  set("CROSSDOCK_RANK", "5");
  EXPECT_THAT(launch_place().error().message, HasSubstr("set CROSSDOCK_RANK and CROSSDOCK_RANKS"));
  set("CROSSDOCK_RANKS", "6");
  expect_place(5, 6);
  set("CROSSDOCK_RANKS", "six");
  EXPECT_THAT(launch_place().error().message, HasSubstr("CROSSDOCK_RANKS=six"));
  set("CROSSDOCK_RANKS", "5");
  EXPECT_THAT(launch_place().error().message, HasSubstr("rank 5 of 5"));
}

TEST_F(JoinEnvironment, ALaunchHasANameIfItStartedTheWholeGroup) {
  EXPECT_EQ(launch_id(2), kNoLaunch);
  set("PMIX_NAMESPACE", "prterun host@1");
  EXPECT_EQ(launch_id(2), kNoLaunch);
  set("OMPI_COMM_WORLD_SIZE", "2");
  EXPECT_EQ(launch_id(2), "PMIX_NAMESPACE=prterun_host@1") << "one word";
  EXPECT_EQ(launch_id(4), kNoLaunch) << "two launches of two may be one group";
  set("SLURM_STEP_NUM_TASKS", "4");
  set("SLURM_JOB_ID", "17");
  EXPECT_EQ(launch_id(4), kNoLaunch) << "no step";
  set("SLURM_STEP_ID", "3");
  EXPECT_EQ(launch_id(4), "SLURM_JOB_ID=17.3");
}

TEST_F(JoinEnvironment, AnAgentAndAJob) {
  set("CROSSDOCK_CONTROL", "127.0.0.1:7614");
  EXPECT_EQ(launch_variable(), "CROSSDOCK_CONTROL");
  set("CROSSDOCK_RANK", "0");
  set("CROSSDOCK_RANKS", "2");
  EXPECT_THAT(refusal(), HasSubstr("CROSSDOCK_JOB is not set"));
  set("CROSSDOCK_JOB", "test");
  set("CROSSDOCK_MEET", testing::TempDir());
  EXPECT_THAT(refusal(), HasSubstr("CROSSDOCK_CONTROL and CROSSDOCK_MEET are both set"));
  ::unsetenv("CROSSDOCK_MEET");
  set("CROSSDOCK_PLUGINS", "/nowhere");
  EXPECT_THAT(refusal(), HasSubstr("Install gRPC (Debian: libgrpc++1.51)"));
  ::unsetenv("CROSSDOCK_PLUGINS");
}

TEST_F(JoinEnvironment, TheseVariablesSayThatAProcessIsOneOfSeveral) {
  EXPECT_EQ(launch_variable(), "");
  for (const char* name : {"CROSSDOCK_RANK",
                           "CROSSDOCK_RANKS",
                           "CROSSDOCK_MEET",
                           "CROSSDOCK_CONTROL",
                           "PMIX_RANK",
                           "PMI_RANK"}) {
    set(name, "0");
    EXPECT_EQ(launch_variable(), name);
    ::unsetenv(name);
  }
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    set(name, "2");
    EXPECT_EQ(launch_variable(), name);
    set(name, "1");
    EXPECT_EQ(launch_variable(), "");
    ::unsetenv(name);
  }
  // A batch script has these, and is one process.
  set("SLURM_NTASKS", "4");
  set("SLURM_JOB_ID", "17");
  set("SLURM_PROCID", "0");
  EXPECT_EQ(launch_variable(), "");
  // Where to meet is no rank.
  set("CROSSDOCK_MEET", "folder");
  set("CROSSDOCK_RANK", "0");
  EXPECT_EQ(launch_variable(), "CROSSDOCK_RANK");
}

TEST_F(JoinEnvironment, SlurmWithoutPmiSaysWhichRankThisIs) {
  set("SLURM_PROCID", "0");
  set("SLURM_STEP_NUM_TASKS", "2");
  EXPECT_THAT(refusal(), HasSubstr("so CROSSDOCK_MEET alone is enough here"));
  set("SLURM_STEP_NUM_TASKS", "1");
  set("SLURM_JOB_ID", "17");
  set("SLURM_STEP_ID", "3");
  std::string folder = testing::TempDir() + "/slurmXXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  set("CROSSDOCK_MEET", folder);
  const auto group = join_environment();
  ASSERT_TRUE(group.ok()) << group.error().message;
  EXPECT_EQ(group.value()->size(), 1);
  EXPECT_TRUE(group.value()->gather("", seconds(20)).ok());
  bool is_named = false;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    is_named |= file.path().filename().string().starts_with("slurm-17-3");
  }
  EXPECT_TRUE(is_named) << "two steps in one folder have jobs of their own";
  std::filesystem::remove_all(folder);
}

TEST_F(JoinEnvironment, WhatIsNamedGoesBeforeTheLauncher) {
  set("PMIX_RANK", "1");
  set("CROSSDOCK_CONTROL", "127.0.0.1:7614");
  // The launcher's rank is no rank among those of the agents: it is said twice, or not at all.
  EXPECT_THAT(refusal(), HasSubstr("CROSSDOCK_RANK is not set"));
  EXPECT_THAT(refusal(), HasSubstr("unset them all to meet through what started this process"));
  set("CROSSDOCK_PLUGINS", "/nowhere");
  set("CROSSDOCK_RANK", "0");
  set("CROSSDOCK_RANKS", "1");
  set("CROSSDOCK_JOB", "join_environment");
  EXPECT_THAT(refusal(), HasSubstr("Install gRPC"));
  ::unsetenv("CROSSDOCK_PLUGINS");
  ::unsetenv("CROSSDOCK_CONTROL");
  set("CROSSDOCK_MEET", testing::TempDir());
  const auto group = join_environment();
  ASSERT_TRUE(group.ok()) << group.error().message;
  EXPECT_EQ(group.value()->rank(), 0);
}

TEST_F(JoinEnvironment, PmixThatCannotBeLoadedSaysWhatToInstall) {
  set("PMIX_RANK", "0");
  set("CROSSDOCK_PLUGINS", "/nowhere");
  EXPECT_THAT(refusal(), HasSubstr("Install PMIx (Debian: libpmix2), or set CROSSDOCK_RANK"));
  ::unsetenv("CROSSDOCK_PLUGINS");
}

struct Ran {
  int status = -1;
  std::string output;
};

// This program's case `name`, on three ranks.
Ran run_under_mpirun(const std::string& name) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = fmt::format(
      "CROSSDOCK_TEST_OF_RANKS=1 mpirun --allow-run-as-root --oversubscribe -n 3 {} "
      "--gtest_filter={} 2>&1",
      self,
      name);
  // PMIx keeps a few bytes for good; the leak check is of this process alone.
  const char* const options_before = std::getenv("ASAN_OPTIONS");
  const std::string before = options_before == nullptr ? "" : options_before;
  ::setenv("ASAN_OPTIONS", (before + ":detect_leaks=0").c_str(), 1);
  Ran ran;
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  char text[4096];
  for (size_t count = 0; (count = std::fread(text, 1, sizeof text, pipe)) > 0;) {
    ran.output.append(text, count);
  }
  ran.status = ::pclose(pipe);
  ::setenv("ASAN_OPTIONS", before.c_str(), 1);
  return ran;
}

bool can_run_mpi() {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return std::system("command -v mpirun >/dev/null") == 0 &&
         std::filesystem::exists(beside / "libcrossdock_pmix.so");
}

TEST_F(JoinEnvironment, RanksOfMpirunGather) {
  if (!can_run_mpi()) GTEST_SKIP() << "no mpirun here, or the plugin pmix was not built";
  const Ran ran = run_under_mpirun("UnderMpirun.Gathers");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("rank 2 of 3 has met all"));
}

TEST_F(JoinEnvironment, RanksOfMpirunAreMissed) {
  if (!can_run_mpi()) GTEST_SKIP() << "no mpirun here, or the plugin pmix was not built";
  const Ran ran = run_under_mpirun("UnderMpirun.MissesOne");
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("perhaps not: 2;"));
}

// The two below run in the ranks that the two above start. Alone they have no others to meet.
bool is_started_by_mpirun() { return std::getenv("CROSSDOCK_TEST_OF_RANKS") != nullptr; }

TEST(UnderMpirun, Gathers) {
  if (!is_started_by_mpirun()) GTEST_SKIP() << "mpirun starts it";
  auto group = join_environment();
  ASSERT_TRUE(group.ok()) << group.error().message;
  for (int round = 0; round < 5; ++round) {
    const auto text = [&](int rank) {
      return std::string(1 + 10'000 * rank, static_cast<char>('a' + round));
    };
    const auto all = group.value()->gather(text(group.value()->rank()), seconds(20));
    ASSERT_TRUE(all.ok()) << all.error().message;
    EXPECT_THAT(all.value(), ElementsAre(text(0), text(1), text(2)));
  }
  EXPECT_THAT(group.value()->gather("", seconds(20)).value(), ElementsAre("", "", ""));
  std::printf("rank %d of %d has met all\n", group.value()->rank(), group.value()->size());
}

TEST(UnderMpirun, MissesOne) {
  if (!is_started_by_mpirun()) GTEST_SKIP() << "mpirun starts it";
  auto group = join_environment();
  ASSERT_TRUE(group.ok()) << group.error().message;
  ASSERT_TRUE(group.value()->gather("", seconds(20)).ok());
  if (group.value()->rank() == 2) {
    std::this_thread::sleep_for(seconds(4));
    return;
  }
  const auto all = group.value()->gather("", std::chrono::milliseconds(500));
  ASSERT_FALSE(all.ok());
  EXPECT_EQ(all.error().code, ErrorCode::kAgentLost);
  std::printf("%s\n", all.error().message.c_str());
}

}  // namespace
}  // namespace crossdock::ranks
