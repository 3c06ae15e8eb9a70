// Channels among hosts that do not all share a network: namespaces, a rank on each (tests/links/channel_driver.cpp).
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#ifdef CROSSDOCK_CHANNEL_DRIVER

namespace crossdock::channels {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;
using Lines = std::vector<std::string>;

class ChannelHosts : public testing::Test {
 protected:
  ChannelHosts() : folder_(testing::TempDir() + "/channel_hosts." + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
    // The leak checker's own walk over the threads crashes now and then where a thread of UCX has just ended.
    const char* const options_before = std::getenv("ASAN_OPTIONS");
    const std::string options =
        std::string(options_before == nullptr ? "" : options_before) + ":detect_leaks=0";
    setenv("ASAN_OPTIONS", options.c_str(), 1);
  }
  ~ChannelHosts() override { std::filesystem::remove_all(folder_); }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "hosts are made by root";
  }

  // A driver on each host, once for each of `rounds`, one round after the other; what each host printed. Its words are
  // `words` and those of the round; each says its exit status last.
  std::map<int, Lines> run(int hosts,
                           const std::string& links,
                           const std::string& words,
                           const Lines& rounds) const {
    std::string script = "ulimit -c 0; ";
    for (size_t round = 0; round < rounds.size(); ++round) {
      script += CROSSDOCK_CHANNEL_DRIVER " meet=" + folder_ + " job=" + std::to_string(round) +
                " " + words + " " + rounds[round] + "; echo status $?; ";
    }
    const std::string output = folder_ + "/output";
    const std::string command = "python3 " CROSSDOCK_HOSTS " --hosts " + std::to_string(hosts) +
                                " --links " + links + " -- sh -c '" + script + "' > " + output +
                                " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::map<int, Lines> by_host;
    std::ifstream in(output);
    for (std::string line; std::getline(in, line);) {
      const size_t at = line.find(": ");
      if (line.starts_with("host") && at != std::string::npos)
        by_host[std::atoi(line.c_str() + 4)].push_back(line.substr(at + 2));
    }
    return by_host;
  }

  // The number behind "name ", of the first such line; -1 without one.
  static long long number(const Lines& lines, const std::string& name) {
    for (const std::string& line : lines) {
      if (line.starts_with(name + " ")) return std::atoll(line.c_str() + name.size() + 1);
    }
    return -1;
  }

  std::string folder_;
};

TEST_F(ChannelHosts, TheMiddleOfAChainPassesRowsOn) {
  const auto said = run(3, "0-1,1-2", "batches=50", {"ends=0,2", "ends=0,1,2"});
  for (const int host : {0, 1, 2}) {
    EXPECT_EQ(std::ranges::count(said.at(host), "status 0"), 2) << testing::PrintToString(said);
  }
  EXPECT_EQ(number(said.at(0), "rows") + number(said.at(2), "rows"), 2 * 50 * 1000);
  EXPECT_GT(number(said.at(1), "relayed"), 50);
  EXPECT_EQ(number(said.at(0), "relayed"), 0);
  EXPECT_EQ(number(said.at(2), "relayed"), 0);
}

// It has no endpoint, and its program ends before the others have begun.
TEST_F(ChannelHosts, ARelayThatLeavesStaysWhileOthersNeedIt) {
  const auto said = run(3, "0-1,1-2", "leaves=1", {"ends=0,2"});
  for (const int host : {0, 1, 2}) {
    EXPECT_THAT(said.at(host), Contains("status 0")) << testing::PrintToString(said);
  }
  EXPECT_EQ(number(said.at(0), "rows") + number(said.at(2), "rows"), 2 * 20 * 1000);
}

TEST_F(ChannelHosts, ARelayThatIsKilledIsNamedByAllAndNothingIsLeft) {
  const Lines rounds = {
      "ends=0,2 seed=1", "ends=0,2 seed=2", "ends=0,1,2 seed=3", "ends=0,1,2 seed=4"};
  const auto said = run(3, "0-1,1-2", "kill=1", rounds);
  EXPECT_EQ(std::ranges::count(said.at(1), "status 137"), 4) << testing::PrintToString(said);
  for (const int host : {0, 2}) {
    // Status 0 says that no memory of the channel was kept, mapped or left in /dev/shm.
    EXPECT_EQ(std::ranges::count(said.at(host), "status 0"), 4) << testing::PrintToString(said);
    int causes = 0;
    for (const std::string& line : said.at(host)) {
      if (line.starts_with("after_ms ")) {
        EXPECT_LT(std::atoll(line.c_str() + 9), 10'000);
      }
      if (!line.starts_with("cause ")) continue;
      ++causes;
      EXPECT_THAT(line, AllOf(StartsWith("cause CD-617"), HasSubstr("rank 1")));
    }
    EXPECT_EQ(causes, 4);
  }
}

// Hosts 1 and 3 both have links to hosts 0 and 2. What the dead one had goes again through the other.
TEST_F(ChannelHosts, AnotherRelayTakesOverForOneThatIsKilled) {
  const auto said = run(4, "0-1,1-2,0-3,3-2", "ends=0,2", {"batches=60", "batches=200 kill=1"});
  EXPECT_GT(number(said.at(1), "relayed"), 10) << testing::PrintToString(said);
  EXPECT_GT(number(said.at(3), "relayed"), 10) << testing::PrintToString(said);
  EXPECT_THAT(said.at(1), Contains("status 137")) << testing::PrintToString(said);
  for (const int host : {0, 2, 3}) {
    EXPECT_EQ(std::ranges::count(said.at(host), "status 0"), 2) << testing::PrintToString(said);
  }
}

// For longer than a rank is waited for. It has no endpoint, so when it goes on it is through.
TEST_F(ChannelHosts, ARelayThatIsSuspendedIsLost) {
  const auto said = run(3, "0-1,1-2", "kill=1 stop_s=3 lost_after_s=2", {"ends=0,2"});
  EXPECT_THAT(said.at(1), Contains("status 0")) << testing::PrintToString(said);
  for (const int host : {0, 2}) {
    EXPECT_THAT(said.at(host), Contains("status 0")) << testing::PrintToString(said);
    EXPECT_THAT(said.at(host),
                Contains(AllOf(StartsWith("cause CD-617"),
                               HasSubstr("heard nothing from rank"),
                               HasSubstr("to rank 1; see whether that process runs, and those"))));
    EXPECT_GT(number(said.at(host), "after_ms"), 1900);
    EXPECT_LT(number(said.at(host), "after_ms"), 6000);
  }
}

TEST_F(ChannelHosts, RanksThatNothingJoinsAreNamed) {
  const auto said = run(4, "0-1,2-3", "", {"ends=0,2"});
  for (const int host : {0, 1, 2, 3}) {
    ASSERT_THAT(said.at(host), Contains("status 1")) << testing::PrintToString(said);
    EXPECT_THAT(said.at(host),
                Contains(AllOf(StartsWith("failed CD-602 nothing joins rank"),
                               HasSubstr("link0"),
                               HasSubstr("link1"),
                               HasSubstr("start a rank on a host"))));
  }
}

}  // namespace
}  // namespace crossdock::channels

#endif
