// A rank of a group, for tests whose hosts are network namespaces: sends and takes rows, and says how that ended.
//
//   channel_driver meet=/tmp/x job=a ends=0,2 batches=40
//
// Rank and number of ranks are those of the host (TEST_HOST, TEST_HOSTS); `ends` are the ranks that have an
// endpoint of the channel, source and destination in one. When all are through, each says what it has relayed. With
// leaves=1 ranks without an endpoint go at once, and the others begin 2.5 s later. With kill=1 rank 1 kills itself some
// time within 20 ms, by `seed`, while the others send without end, unless `batches` says otherwise; with stop_s=4 it
// stops for 4 s instead. Exit status 1 with a reason.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "data/channels/channel_ranks.hpp"
#include "data/channels/data_plane.hpp"

namespace crossdock {
namespace {

using std::chrono::milliseconds;

[[noreturn]] void give_up(const std::string& why) {
  std::printf("failed %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

int64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<milliseconds>(now).count();
}

class Words {
 public:
  Words(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      const size_t at = std::min(word.find('='), word.size() - 1);
      words_[word.substr(0, at)] = word.substr(at + 1);
    }
  }
  std::string text(const std::string& name, const std::string& otherwise = "") const {
    const auto entry = words_.find(name);
    return entry == words_.end() ? otherwise : entry->second;
  }
  int number(const std::string& name, int otherwise) const {
    return std::atoi(text(name, std::to_string(otherwise)).c_str());
  }
  std::vector<int> numbers(const std::string& name) const {
    std::vector<int> parts;
    std::istringstream in(text(name));
    for (std::string one; std::getline(in, one, ',');) parts.push_back(std::atoi(one.c_str()));
    return parts;
  }

 private:
  std::map<std::string, std::string> words_;
};

class Driver {
 public:
  explicit Driver(const Words& words) : words_(words) {
    const char* const host = std::getenv("TEST_HOST");
    const char* const hosts = std::getenv("TEST_HOSTS");
    if (host == nullptr || hosts == nullptr) give_up("run this on hosts of tools/hosts.py");
    rank_ = std::atoi(host);
    ranks_ = std::atoi(hosts);
  }

  void run() {
    auto joined = ranks::join_folder(words_.text("meet"), words_.text("job", "a"), rank_, ranks_);
    if (!joined.ok()) give_up(joined.error().message);
    group_ = std::move(joined.value());
    auto memory = Memory::create(int64_t{64} << 20);
    {
      channels::DataPlaneSettings settings;
      settings.lost_after_s = words_.number("lost_after_s", 10);
      auto plane = channels::DataPlane::open(memory, group_, settings);
      if (!plane.ok()) give_up(code_text(plane.error().code) + " " + plane.error().message);
      plane_ = std::move(plane.value());
      use_channel();
      plane_.reset();
    }
    look_for_rests(*memory);
    std::printf("through %d\n", rank_);
  }

 private:
  void use_channel() {
    const channels::ChannelSpec spec = channels::endpoints_on(words_.numbers("ends"));
    auto opened = plane_->create_channel(spec);
    if (!opened.ok()) give_up(opened.error().message);
    const auto channel = std::move(opened.value());
    std::thread killer;
    if (is_killing_ && rank_ == 1) killer = std::thread([this] { kill_self(); });
    const auto place = std::ranges::find(spec.source_ranks, rank_);
    if (place != spec.source_ranks.end()) {
      use_end(*channel, static_cast<int>(place - spec.source_ranks.begin()));
    }
    if (killer.joinable()) killer.join();
    if (is_killing_ || words_.number("leaves", 0) != 0) return;
    if (const auto all = group_->gather("", milliseconds(60'000)); !all.ok())
      give_up(all.error().message);
    uint64_t relayed = 0;
    for (const movers::LinkCounters& link : plane_->links()) relayed += link.relayed;
    std::printf("relayed %llu\n", static_cast<unsigned long long>(relayed));
  }

  void use_end(channels::Channel& channel, int endpoint) {
    const int batches = words_.number("batches", is_killing_ ? -1 : 20);
    const int ends = static_cast<int>(words_.numbers("ends").size());
    if (words_.number("leaves", 0) != 0) std::this_thread::sleep_for(milliseconds(2500));
    channels::Tally taken;
    const Status used = channels::use_endpoint(channel, endpoint, batches, taken);
    if (!used.ok()) {
      std::printf(
          "cause %s %s\n", code_text(used.error().code).c_str(), used.error().message.c_str());
      std::printf("after_ms %lld\n", static_cast<long long>(now_ms() - killed_at_ms()));
      return;
    }
    if (taken != channels::expected_tally(ends, ends, endpoint, batches, false)) {
      give_up(fmt::format("{} rows with keys of {} in all", taken.rows, taken.key_sum));
    }
    std::printf("rows %lld\n", static_cast<long long>(taken.rows));
  }

  std::string killed_file() const {
    return words_.text("meet") + "/killed." + words_.text("job", "a");
  }

  void kill_self() {
    std::mt19937_64 random(static_cast<uint64_t>(words_.number("seed", 1)));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    std::ofstream(killed_file()) << now_ms() << std::flush;
    if (words_.number("stop_s", 0) != 0) {
      stop_for(words_.number("stop_s", 0));
    } else {
      ::kill(::getpid(), SIGKILL);
    }
  }

  // As Ctrl-Z and fg would.
  static void stop_for(int seconds) {
    const pid_t self = ::getpid();
    const pid_t waker = ::fork();
    if (waker == 0) {
      ::sleep(static_cast<unsigned>(seconds));
      ::kill(self, SIGCONT);
      ::_exit(0);
    }
    ::kill(self, SIGSTOP);
    ::waitpid(waker, nullptr, 0);
  }

  int64_t killed_at_ms() const {
    int64_t at = 0;
    std::ifstream(killed_file()) >> at;
    return at;
  }

  static void look_for_rests(const Memory& memory) {
    if (memory.used_bytes() != 0) give_up(fmt::format("{} bytes are kept", memory.used_bytes()));
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("memfd:crossdock") != std::string::npos) give_up("still mapped: " + line);
    }
    const std::filesystem::directory_iterator files("/dev/shm");
    if (files != std::filesystem::directory_iterator()) give_up(files->path());
  }

  const Words& words_;
  int rank_ = 0;
  int ranks_ = 0;
  const bool is_killing_ = words_.number("kill", 0) != 0;
  std::shared_ptr<ranks::RankGroup> group_;
  std::unique_ptr<channels::DataPlane> plane_;
};

}  // namespace
}  // namespace crossdock

int main(int count, char** words) {
  const crossdock::Words options(count, words);
  crossdock::Driver(options).run();
  return 0;
}
