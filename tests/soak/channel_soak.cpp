// Channels without end: ranks of this host that open random channels, several at a time, send, take, close and open the
// next, for as long as asked. Not one of the tests of every day: `make soak` runs it for ten minutes.
//
//     crossdock_channel_soak [minutes] [ranks] [seed] [transports]
//
// transports: "tcp" lets the ranks meet over sockets of this host, as those of several hosts do.
// It ends with 1 at the first row that is missing, doubled or at the wrong place, at the first error, and if memory or
// descriptors grow. The last line says how much has gone through.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <malloc.h>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/channels/channel_ranks.hpp"
#include "data/channels/data_plane.hpp"
#include "data/transports/forked_ranks.hpp"

namespace crossdock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBudgetBytes = int64_t{1} << 30;
constexpr int kWarmRounds = 20;  // after these, what a process keeps should be what it needs
constexpr int64_t kGrowthBytesMax = int64_t{32} << 20;

struct Options {
  double minutes = 10;
  int ranks = 3;
  uint64_t seed = 1;
  std::string transports = "auto";
};

// One channel of a round, the same in all ranks.
struct Job {
  channels::ChannelSpec spec;
  int batches = 0;
};

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t all = 0;
  int64_t resident = 0;
  statm >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::vector<Job> jobs_of(uint64_t seed, int round, int ranks) {
  std::mt19937_64 random(seed * 1'000'003 + static_cast<uint64_t>(round));
  std::vector<Job> jobs(1 + random() % 3);
  for (size_t i = 0; i < jobs.size(); ++i) {
    std::vector<int> placed(1 + random() % 6);
    for (int& rank : placed) rank = static_cast<int>(random() % static_cast<uint64_t>(ranks));
    Job& job = jobs[i];
    job.spec = channels::endpoints_on(placed);
    job.spec.id = 1 + static_cast<uint64_t>(round) * 4 + i;
    job.spec.slot_bits = static_cast<int>(random() % 6) + channels::kSlotBitsByDistance;
    job.spec.segment.segment_bytes = int64_t{2048} << random() % 8;
    if (random() % 4 == 0) job.spec.sends = channels::ChannelSpec::Sends::kBroadcast;
    job.batches = static_cast<int>(random() % 200);
  }
  return jobs;
}

// What the endpoints of this rank do in a round, a thread each.
class Round {
 public:
  Round(channels::DataPlane& plane, const std::vector<Job>& jobs) : plane_(plane), jobs_(jobs) {}

  // Rows taken here; a failed expectation where something is not as it must be.
  int64_t run() {
    std::vector<std::shared_ptr<channels::Channel>> channels;
    for (const Job& job : jobs_) {
      auto channel = plane_.create_channel(job.spec);
      if (!channel.ok()) {
        ADD_FAILURE() << channel.error().message;
        return 0;
      }
      channels.push_back(std::move(channel.value()));
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const std::vector<int>& ranks = jobs_[i].spec.source_ranks;
      for (size_t endpoint = 0; endpoint < ranks.size(); ++endpoint) {
        if (ranks[endpoint] != plane_.rank()) continue;
        threads.emplace_back([this, i, endpoint, &channels] {
          use(*channels[i], jobs_[i], static_cast<int>(endpoint));
        });
      }
    }
    for (std::thread& thread : threads) thread.join();
    return rows_.load();
  }

 private:
  void use(channels::Channel& channel, const Job& job, int endpoint) {
    channels::Tally taken;
    const Status used = channels::use_endpoint(channel, endpoint, job.batches, taken);
    EXPECT_TRUE(used.ok()) << "channel " << job.spec.id << ": " << used.error().message;
    const int ends = static_cast<int>(job.spec.source_ranks.size());
    const bool is_broadcast = job.spec.sends == channels::ChannelSpec::Sends::kBroadcast;
    const channels::Tally expected =
        channels::expected_tally(ends, ends, endpoint, job.batches, is_broadcast);
    EXPECT_EQ(taken.rows, expected.rows) << "channel " << job.spec.id << ", endpoint " << endpoint;
    EXPECT_EQ(taken.key_sum, expected.key_sum) << "channel " << job.spec.id;
    rows_.fetch_add(taken.rows);
  }

  channels::DataPlane& plane_;
  const std::vector<Job>& jobs_;
  std::atomic<int64_t> rows_{0};
};

class Soak {
 public:
  Soak(const Options& options, int rank, transports::ForkedRanks::Meeting& meeting)
      : options_(options), rank_(rank), meeting_(meeting), memory_(Memory::create(kBudgetBytes)) {}

  void run() {
    channels::DataPlaneSettings settings;
    settings.transports = options_.transports;
    if (settings.transports == "tcp") settings.devices = "lo";
    auto group = std::make_shared<channels::BoardGroup>(rank_, options_.ranks, meeting_);
    auto opened = channels::DataPlane::open(memory_, std::move(group), settings);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const auto end = Clock::now() + std::chrono::duration<double>(options_.minutes * 60);
    bool go_on = true;
    for (int round = 0; go_on; ++round) {
      const std::vector<Job> jobs = jobs_of(options_.seed, round, options_.ranks);
      rows_ += Round(*opened.value(), jobs).run();
      channels_ += jobs.size();
      check_growth(round);
      // Rank 0 has the clock; a rank that has failed ends it for all.
      const bool wants = rank_ != 0 || Clock::now() < end;
      go_on = true;
      for (const std::string& word :
           meeting_.gather(wants && !testing::Test::HasFailure() ? "on" : "end")) {
        go_on &= word == "on";
      }
    }
    if (rank_ == 0) {
      fmt::print("rank 0 of {} ({}): {} channels, {} rows, {} MiB resident, seed {}\n",
                 options_.ranks,
                 options_.transports,
                 channels_,
                 rows_,
                 resident_bytes() >> 20,
                 options_.seed);
    }
  }

 private:
  void check_growth(int round) {
    EXPECT_EQ(memory_->used_bytes(), 0) << "after round " << round;
    // What is kept for the next channel, within the budget and by malloc, is no growth.
    memory_->trim();
    malloc_trim(0);
    if (round < kWarmRounds) return;
    if (round == kWarmRounds) {
      warm_bytes_ = resident_bytes();
      warm_descriptors_ = channels::open_descriptors();
    }
    EXPECT_LE(resident_bytes(), warm_bytes_ + kGrowthBytesMax) << "after round " << round;
    EXPECT_EQ(channels::open_descriptors(), warm_descriptors_) << "after round " << round;
  }

  const Options options_;
  const int rank_;
  transports::ForkedRanks::Meeting& meeting_;
  std::shared_ptr<Memory> memory_;
  int64_t rows_ = 0;
  size_t channels_ = 0;
  int64_t warm_bytes_ = 0;
  std::multiset<std::string> warm_descriptors_;
};

}  // namespace
}  // namespace crossdock

int main(int count, char** arguments) {
  using namespace crossdock;
  testing::InitGoogleTest(&count, arguments);
  Options options;
  if (count > 1) options.minutes = std::atof(arguments[1]);
  if (count > 2) options.ranks = std::atoi(arguments[2]);
  if (count > 3) options.seed = std::strtoull(arguments[3], nullptr, 10);
  if (count > 4) options.transports = arguments[4];
  if (options.minutes <= 0 || options.ranks < 1 || options.ranks > 64) {
    fmt::print(stderr,
               "usage: crossdock_channel_soak [minutes > 0] [ranks, 1 to 64] [seed] "
               "[transports]\n");
    return 2;
  }
  transports::ForkedRanks ranks(options.ranks,
                                [&options](int rank, transports::ForkedRanks::Meeting& meeting) {
                                  Soak(options, rank, meeting).run();
                                });
  return ranks.all_are_well() ? 0 : 1;
}
