// Links over UCX between processes: over loopback, and between hosts made of network namespaces, with the peer killed
// and the wire cut. The two ranks are tests/links/link_driver.cpp.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

namespace crossdock::transports {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A program with its output in a file.
class Process {
 public:
  Process(const Words& words, std::string output) : output_(std::move(output)) {
    std::vector<char*> raw;
    for (const std::string& word : words) raw.push_back(const_cast<char*>(word.c_str()));
    raw.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(
        &actions, 1, output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    EXPECT_EQ(posix_spawnp(&id_, raw[0], &actions, nullptr, raw.data(), environ), 0) << raw[0];
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() {
    if (id_ <= 0) return;
    kill();
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void kill() const { ::kill(id_, SIGKILL); }
  int wait() {
    int status = 0;
    waitpid(id_, &status, 0);
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string output() const {
    std::ostringstream text;
    text << std::ifstream(output_).rdbuf();
    return text.str();
  }
  bool waits_for(const std::string& text) const {
    for (const double until_s = now_s() + 20; now_s() < until_s;) {
      if (output().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

 private:
  std::string output_;
  pid_t id_ = -1;
};

// The numbers behind "name " in an output, in order, whatever stands before the name.
std::vector<double> numbers(const std::string& output, const std::string& name) {
  std::vector<double> values;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(name + " ");
    if (at != std::string::npos)
      values.push_back(std::strtod(line.c_str() + at + name.size() + 1, nullptr));
  }
  return values;
}

class UcxProcesses : public testing::Test {
 protected:
  UcxProcesses() : folder_(testing::TempDir() + "/ucx_processes." + std::to_string(getpid())) {
    std::filesystem::create_directory(folder_);
    // The leak checker's own walk over the threads crashes now and then in a process where a thread of UCX has just
    // ended. The leaks of transports are looked for in this process, which opens and closes as many.
    const char* const options_before = std::getenv("ASAN_OPTIONS");
    setenv(
        "ASAN_OPTIONS",
        (std::string(options_before == nullptr ? "" : options_before) + ":detect_leaks=0").c_str(),
        1);
  }
  ~UcxProcesses() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Process> start(int rank, Words more) const {
    Words words = {
        CROSSDOCK_LINK_DRIVER, "rank=" + std::to_string(rank), "meet=" + folder_, "devices=lo"};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(words, folder_ + "/output." + std::to_string(rank));
  }
  // Of the run before.
  void forget_addresses() const {
    for (const std::string rank : {"0", "1"}) std::filesystem::remove(folder_ + "/address." + rank);
  }
  // Both ranks over loopback; their outputs.
  std::vector<std::string> run(const Words& words) const {
    forget_addresses();
    const auto one = start(1, words), zero = start(0, words);
    EXPECT_EQ(zero->wait(), 0) << zero->output();
    EXPECT_EQ(one->wait(), 0) << one->output();
    return {zero->output(), one->output()};
  }
  // The same on two hosts, each with `script` run beside its driver; all output.
  std::string run_on_hosts(const std::string& rates,
                           const std::string& script,
                           const std::string& words) const {
    const auto links = 1 + std::count(rates.begin(), rates.end(), ',');
    const std::string command =
        script + " exec " CROSSDOCK_LINK_DRIVER " rank=$TEST_HOST meet=" + folder_ + " " + words;
    Process hosts({"python3",
                   CROSSDOCK_HOSTS,
                   "--hosts",
                   "2",
                   "--links",
                   std::to_string(links),
                   "--rate",
                   rates,
                   "--",
                   "sh",
                   "-c",
                   command},
                  folder_ + "/output.hosts");
    EXPECT_EQ(hosts.wait(), 0) << hosts.output();
    return hosts.output();
  }

  std::string folder_;
};

TEST_F(UcxProcesses, EveryFrameComesOnceWithItsBytesBothWays) {
  for (const std::string bytes : {"8", "4096", "16384", "262144"}) {
    const auto outputs = run({"frames=600", "bytes=" + bytes, "both=1", "slots=16"});
    EXPECT_THAT(outputs[0], HasSubstr("ok 1"));
    EXPECT_THAT(outputs[1], HasSubstr("placed_by_link_0 600"));
  }
}

TEST_F(UcxProcesses, ThousandsOfSmallNotesBesideFrames) {
  const auto outputs = run({"frames=200", "bytes=65536", "notes=20000", "note_bytes=24"});
  EXPECT_GE(numbers(outputs[1], "notes_received").at(0), 20000);
}

TEST_F(UcxProcesses, StandardOutputHasNothingOfUcx) {
  for (const std::string& output : run({"frames=10", "bytes=65536"})) {
    EXPECT_EQ(output.find(" UCX  "), std::string::npos) << output;  // as in its log's lines
  }
}

TEST_F(UcxProcesses, NobodyTurnsWhileNothingComes) {
  const auto outputs = run({"idle_s=3"});
  EXPECT_LT(numbers(outputs[0], "idle_cpu_s").at(0), 0.15) << outputs[0];
}

TEST_F(UcxProcesses, APeerThatIsKilledIsALostLinkAtOnce) {
  for (const std::string both : {"both=0", "both=1"}) {
    for (const std::string bytes : {"4096", "262144"}) {
      const Words words = {"frames=10000000", "slots=32", "bytes=" + bytes, both, "until_lost=1"};
      forget_addresses();
      const auto one = start(1, words), zero = start(0, words);
      ASSERT_TRUE(zero->waits_for("link lo"));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      const double killed_s = now_s();
      one->kill();
      EXPECT_EQ(one->wait(), -SIGKILL);
      EXPECT_EQ(zero->wait(), 0) << zero->output();
      EXPECT_THAT(zero->output(), HasSubstr("lost 0 "));
      EXPECT_LT(now_s() - killed_s, 5);
    }
  }
}

// Needs to make network namespaces.
class UcxHosts : public UcxProcesses {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "hosts are made by root";
  }
};

TEST_F(UcxHosts, FramesAreStripedOverAllLinks) {
  const std::string output =
      run_on_hosts("400mbit,200mbit", "", "frames=400 bytes=65536 both=1 under_way=262144");
  EXPECT_EQ(numbers(output, "ok").size(), 2U) << output;
  EXPECT_THAT(output, HasSubstr("link link0 to rank 1 link0 link0"));
  EXPECT_THAT(output, HasSubstr("link link1 to rank 0 link1 link1"));
  for (const double frames : numbers(output, "placed_by_link_0")) EXPECT_GT(frames, 100) << output;
  for (const double frames : numbers(output, "placed_by_link_1")) EXPECT_GT(frames, 50) << output;
}

// TCP sends again what the cut has lost: no link has to be made again.
TEST_F(UcxHosts, AWireThatComesBackCarriesOn) {
  const std::string cut =
      "if [ $TEST_HOST = 0 ]; then (sleep 0.5; ip link set link0 down; sleep 0.5; ip link set "
      "link0 up; echo back 1) & fi;";
  const std::string output =
      run_on_hosts("200mbit", cut, "frames=150 bytes=262144 both=1 abandon_s=15");
  EXPECT_THAT(output, HasSubstr("back 1"));
  EXPECT_EQ(numbers(output, "ok").size(), 2U) << output;
}

TEST_F(UcxHosts, ACutWireIsGivenUpBySilenceAndPutsAreSafeThen) {
  const std::string cut =
      "if [ $TEST_HOST = 0 ]; then (sleep 1; ip link set link0 down; echo cut 1) & fi;";
  const std::string output =
      run_on_hosts("1gbit",
                   cut,
                   "frames=10000000 slots=32 bytes=262144 both=1 check=0 until_lost=1 abandon_s=2");
  EXPECT_THAT(output, HasSubstr("cut 1"));
  EXPECT_EQ(numbers(output, "ok").size(), 2U) << output;
  EXPECT_EQ(numbers(output, "lost").size(), 2U) << output;
}

}  // namespace
}  // namespace crossdock::transports
