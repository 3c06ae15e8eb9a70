// Channels among processes of one host, and what is left when one of them is killed.
#include "data/channels/channel_ranks.hpp"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <random>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/channels/channel_rows.hpp"
#include "data/channels/data_plane.hpp"
#include "data/shared_memory_files.hpp"

namespace crossdock::channels {
namespace {

using Meeting = transports::ForkedRanks::Meeting;
using testing::HasSubstr;
constexpr int64_t kBudgetBytes = int64_t{64} << 20;

int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

// A data plane of a rank, and the budget under it.
struct Rank {
  std::shared_ptr<Memory> memory = Memory::create(kBudgetBytes);
  std::unique_ptr<DataPlane> plane;
};

Rank open_rank(int rank,
               int ranks,
               Meeting& meeting,
               const char* transports = "auto",
               double lost_after_s = 10) {
  Rank opened;
  DataPlaneSettings settings;
  settings.lost_after_s = lost_after_s;
  settings.transports = transports;
  if (transports != std::string("auto")) settings.devices = "lo";
  auto group = std::make_shared<BoardGroup>(rank, ranks, meeting);
  auto plane = DataPlane::open(opened.memory, std::move(group), settings);
  EXPECT_TRUE(plane.ok()) << plane.error().message;
  if (!plane.ok()) ::_exit(2);
  opened.plane = std::move(plane.value());
  return opened;
}

// All endpoints of this rank, each on a thread.
void use_endpoints(Channel& channel, const ChannelSpec& spec, int rank, int batches) {
  std::vector<std::thread> threads;
  for (int endpoint = 0; endpoint < static_cast<int>(spec.source_ranks.size()); ++endpoint) {
    if (spec.source_ranks[static_cast<size_t>(endpoint)] != rank) continue;
    threads.emplace_back([&channel, &spec, endpoint, batches] {
      Tally taken;
      const Status used = use_endpoint(channel, endpoint, batches, taken);
      EXPECT_TRUE(used.ok()) << used.error().message;
      const auto count = static_cast<int>(spec.source_ranks.size());
      const bool is_broadcast = spec.sends == ChannelSpec::Sends::kBroadcast;
      EXPECT_EQ(taken, expected_tally(count, count, endpoint, batches, is_broadcast));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void shuffle_among(const std::vector<int>& ranks_of_endpoints,
                   int ranks,
                   ChannelSpec::Sends sends,
                   const char* transports = "auto") {
  transports::ForkedRanks forked(ranks, [&](int rank, Meeting& meeting) {
    const auto before = open_descriptors();
    {
      const Rank self = open_rank(rank, ranks, meeting, transports);
      for (uint64_t id = 1; id <= 3; ++id) {
        ChannelSpec spec = endpoints_on(ranks_of_endpoints);
        spec.id = id;
        spec.sends = sends;
        auto channel = self.plane->create_channel(spec);
        ASSERT_TRUE(channel.ok()) << channel.error().message;
        use_endpoints(*channel.value(), spec, rank, 20);
        channel.value().reset();
        EXPECT_TRUE(is_given_back(*self.memory));
      }
    }
    // What UCX opens for a process it keeps.
    if (transports == std::string("auto")) {
      EXPECT_EQ(open_descriptors(), before);
    }
  });
  EXPECT_TRUE(forked.all_are_well());
}

TEST(ChannelRanks, ShuffleAmongProcesses) {
  shuffle_among({0, 1, 2, 0}, 3, ChannelSpec::Sends::kRouted);
}

TEST(ChannelRanks, BroadcastAmongProcesses) {
  shuffle_among({0, 1, 1, 2}, 3, ChannelSpec::Sends::kBroadcast);
}

bool has_ucx() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return std::filesystem::exists(program.parent_path() / "libcrossdock_ucx.so");
}

// Every rank as a host of its own: each flow has two ends, and a mover mirrors the one into the other.
TEST(ChannelRanks, ShuffleAmongHosts) {
  shuffle_among({0, 1, 2, 0}, 3, ChannelSpec::Sends::kRouted, "tcp");
}

TEST(ChannelRanks, ShuffleAmongHostsOverUcx) {
  if (!has_ucx()) GTEST_SKIP() << "UCX was not there when this was built";
  shuffle_among({0, 1, 2, 0}, 3, ChannelSpec::Sends::kRouted, "ucx");
}

TEST(ChannelRanks, BroadcastAmongHosts) {
  shuffle_among({0, 1, 1, 2}, 3, ChannelSpec::Sends::kBroadcast, "tcp");
}

TEST(ChannelRanks, RanksWithoutAnEndOpenAndLeave) {
  shuffle_among({2, 2}, 3, ChannelSpec::Sends::kRouted);
}

TEST(ChannelRanks, WhatOneRankRefusesIsAnErrorOfAll) {
  transports::ForkedRanks forked(2, [](int rank, Meeting& meeting) {
    const Rank self = open_rank(rank, 2, meeting);
    ChannelSpec spec = endpoints_on({0, 1});
    if (rank == 1) spec.memory_bytes_max = 100;
    const auto refused = self.plane->create_channel(spec);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemoryBudget);
    if (rank == 0) {
      EXPECT_THAT(refused.error().message, HasSubstr("rank 1: channel 1 needs"));
    }
    spec = endpoints_on({0, 1});
    spec.slot_bits = rank;
    const auto differs = self.plane->create_channel(spec);
    ASSERT_FALSE(differs.ok());
    EXPECT_THAT(differs.error().message, HasSubstr("another one on rank"));
    EXPECT_TRUE(is_given_back(*self.memory));
    // Neither is in the way of the next one.
    const auto channel = self.plane->create_channel(endpoints_on({0, 1}));
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    use_endpoints(*channel.value(), endpoints_on({0, 1}), rank, 3);
  });
  EXPECT_TRUE(forked.all_are_well());
}

TEST(ChannelRanks, PartsThatAreOpenedAtDifferentTimesMeet) {
  transports::ForkedRanks forked(2, [](int rank, Meeting& meeting) {
    const Rank self = open_rank(rank, 2, meeting);
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const ChannelSpec spec = endpoints_on({0, 1});
    const auto channel = self.plane->open_part(spec);
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    use_endpoints(*channel.value(), spec, rank, 5);
    EXPECT_TRUE(channel.value()->is_ready().value());
    meeting.barrier();
  });
  EXPECT_TRUE(forked.all_are_well());
}

// A rank that is through goes while the others still take what it sent.
TEST(ChannelRanks, WhoIsThroughMayGo) {
  transports::ForkedRanks forked(2, [](int rank, Meeting& meeting) {
    ChannelSpec spec = endpoints_on({0});
    spec.destination_ranks = {1};
    spec.slot_bits = 6;
    const Rank self = open_rank(rank, 2, meeting);
    auto channel = self.plane->create_channel(spec);
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    if (rank == 0) {
      const auto sender = std::move(channel.value()->open_sender(0).value());
      ASSERT_TRUE(sender->flush().ok());
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto receiver = std::move(channel.value()->open_receiver(0).value());
    Received got;
    while (got.kind != Received::Kind::kEnd) {
      auto next = receiver->recv();
      ASSERT_TRUE(next.ok()) << next.error().message;
      got = std::move(next.value());
    }
  });
  EXPECT_TRUE(forked.all_are_well());
}

TEST(ChannelRanks, ClosingReachesAllRanks) {
  transports::ForkedRanks forked(3, [](int rank, Meeting& meeting) {
    const Rank self = open_rank(rank, 3, meeting);
    const ChannelSpec spec = endpoints_on({0, 1, 2});
    const auto channel = self.plane->create_channel(spec);
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    std::thread closer;
    if (rank == 1) {
      closer = std::thread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        channel.value()->close({ErrorCode::kCancelled, "the query was stopped on rank 1"});
      });
    }
    Tally taken;
    const Status used = use_endpoint(*channel.value(), rank, -1, taken);
    ASSERT_FALSE(used.ok());
    EXPECT_EQ(used.error().code, ErrorCode::kCancelled);
    EXPECT_THAT(used.error().message, HasSubstr("stopped on rank 1"));
    if (closer.joinable()) closer.join();
    meeting.barrier();
  });
  EXPECT_TRUE(forked.all_are_well());
}

// What a forked copy of a rank does: calls are refused, and whatever is dropped is dropped for the copy alone.
bool drop_in_a_copy(Rank& self,
                    std::shared_ptr<Channel>& channel,
                    std::unique_ptr<Sender>& sender,
                    std::unique_ptr<Receiver>& receiver,
                    Received& held) {
  const auto is_refused = [](const auto& result) {
    return !result.ok() && result.error().code == ErrorCode::kChannelClosed &&
           result.error().message.find("a copy that fork() made") != std::string::npos;
  };
  const bool all_are_refused = is_refused(sender->advance()) && is_refused(receiver->recv()) &&
                               is_refused(channel->open_sender(0)) &&
                               is_refused(self.plane->create_channel(endpoints_on({0, 1}))) &&
                               is_refused(self.plane->open_part(endpoints_on({0, 1})));
  channel->close({ErrorCode::kCancelled, "by a copy"});
  held = {};
  sender.reset();
  receiver.reset();
  channel.reset();
  self.plane.reset();
  return all_are_refused;
}

void fork_in_the_middle(const char* transports) {
  transports::ForkedRanks forked(2, [transports](int rank, Meeting& meeting) {
    Rank self = open_rank(rank, 2, meeting, transports);
    ChannelSpec spec = endpoints_on({0, 1});
    spec.sends = ChannelSpec::Sends::kBroadcast;
    std::shared_ptr<Channel> channel = std::move(self.plane->create_channel(spec).value());
    auto sender = std::move(channel->open_sender(rank).value());
    auto receiver = std::move(channel->open_receiver(rank).value());
    ASSERT_TRUE(sender->send_all(make_rows(RowKind::kKeys, std::vector<int64_t>(400, rank))).ok());
    ASSERT_TRUE(sender->flush_begin().ok());
    Received held;
    while (held.kind == Received::Kind::kNothing) held = std::move(receiver->recv().value());
    int64_t rows = held.rows.rows;
    const pid_t copy = ::fork();
    if (copy == 0) ::_exit(drop_in_a_copy(self, channel, sender, receiver, held) ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(copy, &status, 0), copy);
    EXPECT_EQ(status, 0);
    held = {};
    const auto drain = [&]() -> Status {
      CD_ASSIGN(held, receiver->recv());
      rows += held.kind == Received::Kind::kRows ? held.rows.rows : 0;
      return {};
    };
    ASSERT_TRUE(sender->flush(drain).ok());
    while (held.kind != Received::Kind::kEnd) {
      ASSERT_TRUE(drain().ok());
      if (held.kind == Received::Kind::kNothing) receiver->wait(std::chrono::seconds(5));
    }
    EXPECT_EQ(rows, 800);
  });
  EXPECT_TRUE(forked.all_are_well());
}

TEST(ChannelRanks, CopiesThatForkMakesDisturbNoRank) { fork_in_the_middle("auto"); }

TEST(ChannelRanks, CopiesThatForkMakesDisturbNoHost) { fork_in_the_middle("tcp"); }

TEST(ChannelRanks, SettingsThatDifferAreRefusedWithTheRankThatHasThem) {
  transports::ForkedRanks forked(3, [](int rank, Meeting& meeting) {
    DataPlaneSettings settings;
    settings.transports = rank == 2 ? "shm" : rank == 1 ? "ucx,shm,tcp" : "auto";
    const auto refused = DataPlane::open(
        Memory::create(kBudgetBytes), std::make_shared<BoardGroup>(rank, 3, meeting), settings);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("rank 2 has transports=\"shm\""));
  });
  EXPECT_TRUE(forked.all_are_well());
}

TEST(ChannelRanks, ADeathThatIsKnownEndsTheWaitForARankAtOnce) {
  std::string folder = testing::TempDir() + "/channelranksXXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  transports::ForkedRanks forked(2, [&folder](int rank, Meeting&) {
    std::shared_ptr<ranks::RankGroup> group =
        std::move(ranks::join_folder(folder, "job", rank, 2).value());
    DataPlaneSettings settings;
    settings.open_within_s = 600;
    auto plane = DataPlane::open(Memory::create(kBudgetBytes), group, settings);
    ASSERT_TRUE(plane.ok()) << plane.error().message;
    if (rank == 1) ::_exit(0);
    const auto begin = now_ns();
    const auto refused = plane.value()->create_channel(endpoints_on({0, 1}));
    EXPECT_LT(now_ns() - begin, 60'000'000'000);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("rank 1 (process"));
  });
  EXPECT_TRUE(forked.all_are_well());
  std::filesystem::remove_all(folder);
}

// Rank `victim` kills itself somewhere on its way; the others hear of it, name it, and give everything back.
void kill_one_of_three(int victim, uint64_t seed, const char* transports) {
  void* const page =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const killed_at_ns = new (page) std::atomic<int64_t>(0);
  transports::ForkedRanks forked(3, [&](int rank, Meeting& meeting) {
    const auto before = open_descriptors();
    {
      const Rank self = open_rank(rank, 3, meeting, transports);
      const auto channel = self.plane->create_channel(endpoints_on({0, 1, 2}));
      ASSERT_TRUE(channel.ok()) << channel.error().message;
      std::thread killer;
      if (rank == victim) {
        killer = std::thread([&] {
          std::mt19937_64 random(seed);
          std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
          killed_at_ns->store(now_ns());
          ::kill(::getpid(), SIGKILL);
        });
      }
      Tally taken;
      const Status used = use_endpoint(*channel.value(), rank, -1, taken);
      if (killer.joinable()) killer.join();
      EXPECT_LT(now_ns() - killed_at_ns->load(), 10'000'000'000);
      ASSERT_FALSE(used.ok());
      EXPECT_EQ(used.error().code, ErrorCode::kAgentLost);
      EXPECT_THAT(used.error().message, HasSubstr(fmt::format("rank {}", victim)));
      EXPECT_GT(self.memory->used_bytes(), 0);
    }
    if (transports == std::string("auto")) {
      EXPECT_EQ(open_descriptors(), before);
    }
  });
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(forked.status(rank), rank == victim ? -SIGKILL : 0) << "rank " << rank;
  }
  ::munmap(page, 4096);
}

TEST(ChannelRanks, RanksThatAreKilledAreMissedAtOnceAndLeaveNothing) {
  const std::set<std::string> before = shared_memory_files();
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    kill_one_of_three(static_cast<int>(seed % 3), seed, "auto");
  }
  for (const std::string& name : shared_memory_files()) {
    EXPECT_TRUE(before.contains(name) || !stays_in_shared_memory(name)) << name;
  }
}

TEST(ChannelRanks, HostsThatAreKilledAreMissed) { kill_one_of_three(1, 5, "tcp"); }

TEST(ChannelRanks, HostsThatAreKilledAreMissedOverUcx) {
  if (!has_ucx()) GTEST_SKIP() << "UCX was not there when this was built";
  kill_one_of_three(1, 5, "ucx");
}

// One sends 1,000 keys over and over to another, which takes them; what each gets in the end.
Status send_batches(Channel& channel, int batches) {
  CD_ASSIGN(const auto sender, channel.open_sender(0));
  std::vector<int64_t> keys(1000);
  const Batch batch = make_rows(RowKind::kKeys, keys);
  for (int sent = 0; sent != batches; ++sent) CD_TRY(sender->send_all(batch));
  return sender->flush();
}

Status take_all_of_ranks(Channel& channel, int64_t& rows) {
  CD_ASSIGN(const auto receiver, channel.open_receiver(0));
  while (true) {
    CD_ASSIGN(const Received got, receiver->recv());
    if (got.kind == Received::Kind::kEnd) return {};
    if (got.kind == Received::Kind::kNothing) receiver->wait(std::chrono::seconds(5));
    rows += got.rows.rows;
  }
}

ChannelSpec from_zero_to_one() {
  ChannelSpec spec = endpoints_on({0});
  spec.destination_ranks = {1};
  return spec;
}

// Rank 0 sends, rank 1 takes, and others have no end: these are missed by no rank.
void kill_one_way(int ranks, int victim, uint64_t seed, const char* transports) {
  const bool is_over = victim < 2;
  const int batches = is_over ? -1 : 100;
  transports::ForkedRanks forked(ranks, [&](int rank, Meeting& meeting) {
    const Rank self = open_rank(rank, ranks, meeting, transports);
    const auto channel = self.plane->create_channel(from_zero_to_one());
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    std::thread killer;
    if (rank == victim) {
      killer = std::thread([&] {
        std::mt19937_64 random(seed);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 5'000));
        ::kill(::getpid(), SIGKILL);
      });
    }
    int64_t rows = 0;
    Status used;
    if (rank == 0) used = send_batches(*channel.value(), batches);
    if (rank == 1) used = take_all_of_ranks(*channel.value(), rows);
    if (killer.joinable()) killer.join();
    if (rank > 1) return;
    ASSERT_EQ(used.ok(), !is_over) << used.error().message;
    if (!is_over) {
      EXPECT_EQ(rows, rank == 1 ? batches * 1000 : 0);
      return;
    }
    EXPECT_EQ(used.error().code, ErrorCode::kAgentLost);
    EXPECT_THAT(used.error().message, HasSubstr(fmt::format("rank {}", victim)));
  });
  for (int rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(forked.status(rank), rank == victim ? -SIGKILL : 0) << "rank " << rank;
  }
}

TEST(ChannelRanks, SourcesAndDestinationsThatAreKilledAreMissedAndOthersAreNot) {
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    kill_one_way(3, static_cast<int>(seed % 3), seed, "auto");
  }
}

TEST(ChannelRanks, SourcesAndDestinationsOfOtherHostsThatAreKilledAreMissed) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    kill_one_way(2, static_cast<int>(seed % 2), seed, "tcp");
  }
}

// Rank 1 stops, as by Ctrl-Z, before it takes anything, and goes on when rank 0 has lost it, or a while later.
void suspend_the_receiver(const char* transports, double lost_after_s, bool is_lost) {
  transports::ForkedRanks forked(2, [&](int rank, Meeting& meeting) {
    const auto processes = meeting.gather(std::to_string(::getpid()));
    const Rank self = open_rank(rank, 2, meeting, transports, lost_after_s);
    const auto channel = self.plane->create_channel(from_zero_to_one());
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    int64_t rows = 0;
    if (rank == 1) ::raise(SIGSTOP);
    const auto begin = now_ns();
    const Status used =
        rank == 0 ? send_batches(*channel.value(), 50) : take_all_of_ranks(*channel.value(), rows);
    if (rank == 0 && is_lost) {
      EXPECT_GT(now_ns() - begin, static_cast<int64_t>(lost_after_s * 0.9e9));
      ::kill(std::atoi(processes[1].c_str()), SIGCONT);
    }
    ASSERT_EQ(used.ok(), !is_lost) << used.error().message;
    if (!is_lost) {
      EXPECT_EQ(rows, rank == 1 ? 50'000 : 0);
      return;
    }
    EXPECT_EQ(used.error().code, ErrorCode::kAgentLost);
    // The one that was suspended may hear it, or find that the other has left meanwhile.
    EXPECT_THAT(used.error().message,
                HasSubstr(rank == 0 ? "heard nothing from rank 1 for " : "rank 0"));
  });
  int status = 0;
  if (!is_lost && ::waitpid(forked.process(1), &status, WUNTRACED) > 0 && WIFSTOPPED(status)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    forked.send_signal(1, SIGCONT);
  }
  EXPECT_TRUE(forked.all_are_well());
}

TEST(ChannelRanks, OneThatIsSuspendedIsWaitedForOnItsHost) {
  suspend_the_receiver("auto", 0.1, false);
}

TEST(ChannelRanks, OneThatIsSuspendedForTooLongIsLostToOtherHosts) {
  suspend_the_receiver("tcp", 1, true);
}

// It takes nothing for longer than a lost rank is waited for, but its process is there.
TEST(ChannelRanks, OneThatTakesNothingForLongIsNotLost) {
  transports::ForkedRanks forked(2, [&](int rank, Meeting& meeting) {
    const Rank self = open_rank(rank, 2, meeting, "tcp", 2);
    const auto channel = self.plane->create_channel(from_zero_to_one());
    ASSERT_TRUE(channel.ok()) << channel.error().message;
    int64_t rows = 0;
    if (rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(3000));
    const Status used =
        rank == 0 ? send_batches(*channel.value(), 50) : take_all_of_ranks(*channel.value(), rows);
    EXPECT_TRUE(used.ok()) << used.error().message;
    EXPECT_EQ(rows, rank == 1 ? 50'000 : 0);
  });
  EXPECT_TRUE(forked.all_are_well());
}

}  // namespace
}  // namespace crossdock::channels
