// Windows: every byte that is put, sizes, limits, and what the pool gives out again.
#include "data/ranks/window.hpp"

#include <limits>
#include <numeric>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/put_rates.hpp"
#include "data/ranks/thread_communicator.hpp"
#include "data/ranks/window_rounds.hpp"

namespace crossdock::ranks {
namespace {

using testing::HasSubstr;

constexpr int64_t kBudget = int64_t{1} << 30;

class WindowConcurrent : public testing::TestWithParam<std::tuple<int, int>> {
 protected:
  void run(const std::function<Status(Communicator&)>& body) const {
    const auto [ranks, ranks_per_host] = GetParam();
    const Status status =
        run_thread_ranks({.ranks = ranks, .ranks_per_host = ranks_per_host}, body);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
};

TEST_P(WindowConcurrent, EveryByteArrives) {
  run([](Communicator& ranks) -> Status {
    const auto memory = Memory::create(kBudget);
    for (int round = 0; round < 8; ++round) CD_TRY(put_and_look(ranks, memory, round));
    return {};
  });
}

TEST_P(WindowConcurrent, NeighboursWriteIntoEachOther) {
  run([](Communicator& ranks) -> Status {
    const auto memory = Memory::create(kBudget);
    CD_ASSIGN(const auto window, ranks.open_window(8 * ranks.size(), memory, "test"));
    const std::set<int> neighbours(ranks.neighbours().begin(), ranks.neighbours().end());
    EXPECT_TRUE(neighbours.contains(ranks.rank()));
    EXPECT_EQ(window->direct(ranks.rank()), window->data());
    const Communicator::Traffic before = ranks.traffic();
    std::vector<int64_t> values(static_cast<size_t>(ranks.size()), 100 + ranks.rank());
    for (int to = 0; to < ranks.size(); ++to) {
      const int64_t at = 8 * ranks.rank();
      const auto bytes = std::as_bytes(std::span(values)).first(8);
      std::byte* const there = window->direct(to);
      EXPECT_EQ(there != nullptr, neighbours.contains(to));
      if (there == nullptr) {
        CD_TRY(window->put(to, at, bytes));
        CD_TRY(window->flush(to));
      } else {
        std::ranges::copy(bytes, there + at);
        window->note_stored(to, 8);
      }
    }
    CD_TRY(window->fence());
    const auto* const come = reinterpret_cast<const int64_t*>(window->data());
    for (int from = 0; from < ranks.size(); ++from) EXPECT_EQ(come[from], 100 + from);
    EXPECT_EQ(ranks.traffic().put_messages - before.put_messages, ranks.size() - 1);
    EXPECT_EQ(ranks.traffic().put_bytes - before.put_bytes, 8 * (ranks.size() - 1));
    return {};
  });
}

TEST_P(WindowConcurrent, ThreadsOfARankPutAtOnce) {
  run([](Communicator& ranks) -> Status {
    constexpr int kThreads = 3;
    constexpr int64_t kEach = 5'000;
    const auto memory = Memory::create(kBudget);
    CD_ASSIGN(const auto window,
              ranks.open_window(kThreads * kEach * ranks.size(), memory, "test"));
    {
      std::vector<std::jthread> threads;
      for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
          std::vector<std::byte> bytes(kEach);
          for (int to = 0; to < ranks.size(); ++to) {
            std::ranges::fill(bytes, byte_of(ranks.rank(), to, thread, 0));
            const int64_t at = (ranks.rank() * kThreads + thread) * kEach;
            EXPECT_TRUE(window->put(to, at, bytes).ok());
            EXPECT_TRUE(window->flush_local(to).ok());
          }
        });
      }
    }
    CD_TRY(window->fence());
    for (int from = 0; from < ranks.size(); ++from) {
      for (int thread = 0; thread < kThreads; ++thread) {
        const auto part = std::span(window->data(), static_cast<size_t>(window->bytes()))
                              .subspan(static_cast<size_t>((from * kThreads + thread) * kEach),
                                       static_cast<size_t>(kEach));
        EXPECT_EQ(std::ranges::count(part, byte_of(from, ranks.rank(), thread, 0)), kEach);
      }
    }
    return {};
  });
}

TEST_P(WindowConcurrent, ThePoolGivesThemOutAgain) {
  run([](Communicator& ranks) -> Status {
    const auto memory = Memory::create(kBudget);
    const int64_t bytes = 100'000 * (1 + ranks.rank());
    const std::byte* first = nullptr;
    {
      CD_ASSIGN(const auto window, ranks.open_window(bytes, memory, "test"));
      first = window->data();
    }
    const int64_t charged = memory->used_bytes();
    EXPECT_GE(charged, bytes);
    {
      CD_ASSIGN(const auto window, ranks.open_window(bytes - 5'000, memory, "test"));
      EXPECT_EQ(window->data(), first);
      EXPECT_EQ(window->bytes(), bytes - 5'000);
      CD_ASSIGN(const auto other, ranks.open_window(bytes - 5'000, memory, "test"));
      EXPECT_NE(other->data(), first);
    }
    CD_TRY(ranks.trim_windows());
    EXPECT_EQ(memory->used_bytes(), 0);
    // One rank keeps its own: it is not given to anybody.
    std::shared_ptr<Window> kept;
    for (int round = 0; round < 2; ++round) {
      CD_ASSIGN(auto window, ranks.open_window(bytes, memory, "test"));
      if (round == 0) first = window->data();
      if (round == 1) {
        EXPECT_NE(window->data(), first);
      }
      if (ranks.rank() == 0) kept = std::move(window);
    }
    return {};
  });
}

TEST_P(WindowConcurrent, NoRoomInOneRankIsReportedToAll) {
  run([](Communicator& ranks) -> Status {
    const int poor = ranks.size() - 1;
    const auto memory = Memory::create(ranks.rank() == poor ? 300'000 : kBudget);
    {
      CD_ASSIGN(const auto small, ranks.open_window(200'000, memory, "test"));
      const auto window = ranks.open_window(200'000, memory, "exchange");
      EXPECT_FALSE(window.ok());
      EXPECT_EQ(window.error().code, ErrorCode::kOutOfMemoryBudget);
      EXPECT_THAT(window.error().message, HasSubstr("exchange"));
      if (ranks.rank() != poor) {
        EXPECT_THAT(window.error().message, HasSubstr(fmt::format("rank {}: ", poor)));
      }
    }
    // What lies in the pool makes room.
    CD_ASSIGN(const auto large, ranks.open_window(250'000, memory, "test"));
    EXPECT_EQ(large->bytes(), 250'000);
    // No rank has so much.
    const auto none = ranks.open_window(int64_t{1} << 60, Memory::create(int64_t{1} << 61), "test");
    EXPECT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kOutOfMemoryBudget);
    return put_and_look(ranks, Memory::create(kBudget), 1);
  });
}

TEST_P(WindowConcurrent, PutsPastTheEndAreRefused) {
  run([](Communicator& ranks) -> Status {
    const auto memory = Memory::create(kBudget);
    const int last = ranks.size() - 1;
    CD_ASSIGN(const auto window, ranks.open_window(ranks.rank() == last ? 0 : 100, memory, "test"));
    const std::vector<std::byte> bytes(101);
    const auto refused = [&](int target, int64_t at, size_t count) {
      const Status status = window->put(target, at, std::span(bytes).first(count));
      return !status.ok() && status.error().code == ErrorCode::kInvalidArgument;
    };
    EXPECT_EQ(window->data() == nullptr, ranks.rank() == last);
    EXPECT_TRUE(refused(0, 0, 101));
    EXPECT_TRUE(refused(0, 101, 0));
    EXPECT_TRUE(refused(0, -1, 1));
    EXPECT_TRUE(refused(0, std::numeric_limits<int64_t>::max(), 1));
    EXPECT_TRUE(refused(last, 0, 1));
    EXPECT_TRUE(refused(ranks.size(), 0, 1));
    EXPECT_TRUE(refused(-1, 0, 1));
    EXPECT_TRUE(window->put(last, 0, {}).ok());
    EXPECT_EQ(window->direct(last), nullptr);
    return window->fence();
  });
}

// More than 2^31 bytes in one part, of which only the pages exist that are touched.
TEST_P(WindowConcurrent, PlacesBeyond32Bits) {
  run([](Communicator& ranks) -> Status {
    constexpr int64_t kPart = int64_t{5} << 30;
    const auto memory = Memory::create(int64_t{1} << 40);
    CD_ASSIGN(const auto window, ranks.open_window(ranks.rank() == 0 ? kPart : 0, memory, "test"));
    const std::vector<int64_t> mine(10, ranks.rank() + 1);
    const int64_t at = kPart - 80 * (ranks.rank() + 1);
    CD_TRY(window->put(0, at, std::as_bytes(std::span(mine))));
    CD_TRY(window->fence());
    if (ranks.rank() == 0) {
      for (int from = 0; from < ranks.size(); ++from) {
        const auto* const come =
            reinterpret_cast<const int64_t*>(window->data() + kPart - 80 * (from + 1));
        EXPECT_EQ(std::accumulate(come, come + 10, int64_t{0}), 10 * (from + 1));
      }
    }
    return ranks.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks,
                         WindowConcurrent,
                         testing::Values(std::tuple(1, 0),
                                         std::tuple(2, 0),
                                         std::tuple(2, 1),
                                         std::tuple(3, 2),
                                         std::tuple(5, 1),
                                         std::tuple(7, 3),
                                         std::tuple(8, 4)));

TEST(WindowLife, MemoryOutlivesTheCommunicator) {
  auto world = make_thread_communicators({.ranks = 1});
  ASSERT_TRUE(world.ok());
  auto window = world.value()[0]->open_window(1'000, Memory::create(kBudget), "test");
  ASSERT_TRUE(window.ok());
  world.value().clear();
  std::fill_n(window.value()->data(), 1'000, std::byte{7});
  const Status status = window.value()->fence();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kChannelClosed);
}

TEST(PutRates, AreOfEachSizeAndTheSameInAllRanks) {
  for (const int ranks_per_host : {0, 1}) {
    const auto memory = Memory::create(kBudget);
    std::vector<double> put_seconds[3];
    const Status status = run_thread_ranks(
        {.ranks = 3, .ranks_per_host = ranks_per_host}, [&](Communicator& ranks) -> Status {
          const int64_t sizes[] = {4'096, 1 << 20};
          CD_ASSIGN(const auto rates, measure_puts(ranks, memory, sizes));
          for (size_t i = 0; i < 2; ++i) {
            EXPECT_EQ(rates[i].message_bytes, sizes[i]);
            EXPECT_EQ(rates[i].is_near, ranks_per_host == 0);
            EXPECT_GT(rates[i].seconds, 0);
            put_seconds[ranks.rank()].push_back(rates[i].seconds);
          }
          EXPECT_EQ(ranks.traffic().put_bytes, 2 * 3 * (16 << 20));
          const int64_t none[] = {0};
          EXPECT_EQ(measure_puts(ranks, memory, none).error().code, ErrorCode::kInvalidArgument);
          return ranks.barrier();
        });
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(put_seconds[0], put_seconds[1]);
    EXPECT_EQ(put_seconds[0], put_seconds[2]);
    EXPECT_EQ(memory->used_bytes(), 0);
  }
}

// A put that was not flushed is not there: what tests of users rely on.
TEST(WindowLife, PutsToOtherHostsWaitForTheFlush) {
  const Status status =
      run_thread_ranks({.ranks = 2, .ranks_per_host = 1}, [](Communicator& ranks) -> Status {
        const auto memory = Memory::create(kBudget);
        CD_ASSIGN(const auto window, ranks.open_window(1, memory, "test"));
        *window->data() = std::byte{0};
        CD_TRY(ranks.barrier());
        const auto put = std::byte{5};
        CD_TRY(window->put(1 - ranks.rank(), 0, {&put, 1}));
        CD_TRY(ranks.barrier());
        EXPECT_EQ(*window->data(), std::byte{0});
        CD_TRY(ranks.barrier());
        CD_TRY(window->fence());
        EXPECT_EQ(*window->data(), std::byte{5});
        return ranks.barrier();
      });
  EXPECT_TRUE(status.ok()) << status.error().message;
}

// A rank that drops a window without a fence may use the buffers of its puts again.
TEST(WindowLife, WhoDropsOneHasItsBuffersBack) {
  const Status status =
      run_thread_ranks({.ranks = 2, .ranks_per_host = 1}, [](Communicator& ranks) -> Status {
        const auto memory = Memory::create(kBudget);
        auto put = std::byte{5};
        for (int round = 0; round < 2; ++round) {
          CD_ASSIGN(auto window, ranks.open_window(1, memory, "test"));
          CD_TRY(ranks.barrier());
          if (round == 1) {
            EXPECT_EQ(*window->data(), std::byte{5});
          } else {
            CD_TRY(window->put(1 - ranks.rank(), 0, {&put, 1}));
          }
          window.reset();
          put = std::byte{6};
        }
        return ranks.barrier();
      });
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(WindowLife, ConcurrentRanksKeepAsManyAsTheyLike) {
  const Status status = run_thread_ranks({.ranks = 2}, [](Communicator& ranks) -> Status {
    const auto memory = Memory::create(kBudget);
    std::vector<std::shared_ptr<Window>> kept;
    for (int i = 0; i < 150; ++i) {
      CD_ASSIGN(const auto window, ranks.open_window(8, memory, "test"));
      *window->data() = static_cast<std::byte>(i);
      kept.push_back(window);
    }
    const std::byte* const dropped = kept[140]->data();
    kept[140].reset();
    CD_ASSIGN(kept[140],
              ranks.open_window(8, memory, "test"));  // the one that is free in all ranks
    EXPECT_EQ(kept[140]->data(), dropped);
    for (int i = 0; i < 150; ++i) {
      EXPECT_EQ(*kept[static_cast<size_t>(i)]->data(), static_cast<std::byte>(i));
    }
    return ranks.barrier();
  });
  EXPECT_TRUE(status.ok()) << status.error().message;
}

// A budget of 1 MiB, of which the pool has 700 KiB.
TEST(WindowLife, ConcurrentRanksTakeTheRoomOfWindowsThatNoRankUses) {
  const Status status = run_thread_ranks({.ranks = 3}, [](Communicator& ranks) -> Status {
    constexpr int64_t kMost = 700 << 10;
    const auto memory = Memory::create(1 << 20);
    CD_TRY(ranks.open_window(ranks.rank() == 1 ? kMost : 8, memory, "test"));
    Block block;
    int steps = 0;
    CD_TRY(ranks.agree_with_room([&]() -> Status {
      ++steps;
      block = {};
      CD_ASSIGN(block, memory->get(kMost, "a test"));
      return {};
    }));
    EXPECT_EQ(steps, 2);
    steps = 0;
    const Status failed = ranks.agree_with_room([&]() -> Status {
      ++steps;
      return ranks.rank() == 2 ? Status(make_error(ErrorCode::kInvalidArgument, "not that"))
                               : Status();
    });
    EXPECT_EQ(steps, 1);
    EXPECT_THAT(failed.error().message, HasSubstr("not that"));
    return ranks.barrier();
  });
  EXPECT_TRUE(status.ok()) << status.error().message;
}

}  // namespace
}  // namespace crossdock::ranks
