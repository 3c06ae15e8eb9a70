// Collectives on one to nine ranks, their messages by the formulas, and ranks that do not come.
#include "data/ranks/communicator.hpp"

#include <bit>
#include <latch>
#include <limits>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/ranks/thread_communicator.hpp"

namespace crossdock::ranks {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

class CommunicatorConcurrent : public testing::TestWithParam<int> {
 protected:
  void run(const std::function<Status(Communicator&)>& body) const {
    const Status status = run_thread_ranks({.ranks = GetParam()}, body);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
};

// Different for each rank and place.
std::vector<int64_t> values_of(int rank, size_t count) {
  std::vector<int64_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int64_t>(i + 1) * (rank % 2 == 0 ? 1'000 + rank : -1'000 - rank);
  }
  return values;
}

TEST_P(CommunicatorConcurrent, AllGather) {
  run([](Communicator& ranks) -> Status {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{1000}}) {
      CD_ASSIGN(const auto all, ranks.all_gather(values_of(ranks.rank(), count)));
      std::vector<int64_t> expected;
      for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto theirs = values_of(rank, count);
        expected.insert(expected.end(), theirs.begin(), theirs.end());
      }
      EXPECT_EQ(all, expected);
    }
    return ranks.barrier();
  });
}

TEST_P(CommunicatorConcurrent, GatherStrings) {
  run([](Communicator& ranks) -> Status {
    for (int round = 0; round < 5; ++round) {
      const auto text = [&](int rank) {
        return std::string(static_cast<size_t>(rank * rank * 100 * round),
                           static_cast<char>('a' + rank));
      };
      CD_ASSIGN(const auto all, ranks.gather(text(ranks.rank()), milliseconds(10'000)));
      EXPECT_EQ(all.size(), static_cast<size_t>(ranks.size()));
      for (int rank = 0; rank < ranks.size(); ++rank) {
        EXPECT_EQ(all[static_cast<size_t>(rank)], text(rank));
      }
    }
    return {};
  });
}

TEST_P(CommunicatorConcurrent, AllToAll) {
  run([](Communicator& ranks) -> Status {
    for (const size_t each : {size_t{0}, size_t{1}, size_t{64}}) {
      const auto sent = [&](int from, int to) { return values_of(100 * from + to, each); };
      std::vector<int64_t> blocks;
      std::vector<int64_t> expected;
      for (int other = 0; other < ranks.size(); ++other) {
        const auto out = sent(ranks.rank(), other);
        blocks.insert(blocks.end(), out.begin(), out.end());
        const auto in = sent(other, ranks.rank());
        expected.insert(expected.end(), in.begin(), in.end());
      }
      CD_ASSIGN(const auto come, ranks.all_to_all(blocks));
      EXPECT_EQ(come, expected);
    }
    return {};
  });
}

TEST_P(CommunicatorConcurrent, ExclusiveSumAndFolds) {
  run([](Communicator& ranks) -> Status {
    std::vector<int64_t> below(7, 0);
    std::vector<int64_t> sum(7, 0);
    std::vector<int64_t> least(7, kLargest);
    std::vector<int64_t> most(7, -kLargest);
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const auto theirs = values_of(rank, 7);
      for (size_t i = 0; i < 7; ++i) {
        if (rank < ranks.rank()) below[i] += theirs[i];
        sum[i] += theirs[i];
        least[i] = std::min(least[i], theirs[i]);
        most[i] = std::max(most[i], theirs[i]);
      }
    }
    const auto mine = values_of(ranks.rank(), 7);
    CD_ASSIGN(const auto found_below, ranks.exclusive_sum(mine));
    EXPECT_EQ(found_below, below);
    CD_ASSIGN(const auto found_sum, ranks.fold(mine, Fold::kSum));
    EXPECT_EQ(found_sum, sum);
    CD_ASSIGN(const auto found_least, ranks.fold(mine, Fold::kMin));
    EXPECT_EQ(found_least, least);
    CD_ASSIGN(const auto found_most, ranks.fold(mine, Fold::kMax));
    EXPECT_EQ(found_most, most);
    CD_ASSIGN(const int64_t one, ranks.fold(ranks.rank(), Fold::kMax));
    EXPECT_EQ(one, ranks.size() - 1);
    return {};
  });
}

TEST_P(CommunicatorConcurrent, SumsThatPass64BitsAreReported) {
  run([](Communicator& ranks) -> Status {
    const int64_t large = ranks.rank() < 2 ? kLargest : 0;
    const auto sum = ranks.fold(large, Fold::kSum);
    EXPECT_EQ(sum.ok(), ranks.size() == 1);
    if (!sum.ok()) {
      EXPECT_EQ(sum.error().code, ErrorCode::kValueOutOfRange);
    }
    const auto below = ranks.exclusive_sum(std::vector<int64_t>{1, large});
    EXPECT_EQ(below.ok(), ranks.rank() < 2);
    if (below.ok()) {
      EXPECT_THAT(below.value(), ElementsAre(ranks.rank(), ranks.rank() * kLargest));
    }
    return ranks.barrier();
  });
}

// What each rank has sent by a call.
struct Sent {
  explicit Sent(const Communicator& ranks) : communicator(ranks), before(ranks.traffic()) {}
  int64_t messages() const {
    return communicator.traffic().collective_messages - before.collective_messages;
  }
  int64_t bytes() const {
    return communicator.traffic().collective_bytes - before.collective_bytes;
  }
  const Communicator& communicator;
  Communicator::Traffic before;
};

TEST_P(CommunicatorConcurrent, MessagesAndBytesFollowTheFormulas) {
  run([](Communicator& ranks) -> Status {
    const int n = ranks.size();
    const bool are_few = n <= 8;
    const int64_t steps = are_few ? n - 1 : std::bit_width(static_cast<uint32_t>(n - 1));
    const Sent barrier(ranks);
    CD_TRY(ranks.barrier());
    EXPECT_EQ(barrier.messages(), steps);
    EXPECT_EQ(barrier.bytes(), 0);

    const Sent gather(ranks);
    CD_ASSIGN(const auto all, ranks.all_gather(values_of(ranks.rank(), 10)));
    EXPECT_EQ(gather.messages(), steps);
    EXPECT_EQ(gather.bytes(), (n - 1) * 80);

    const Sent blocks(ranks);
    CD_ASSIGN(const auto come, ranks.all_to_all(std::vector<int64_t>(static_cast<size_t>(n) * 5)));
    EXPECT_EQ(blocks.messages(), n - 1);
    EXPECT_EQ(blocks.bytes(), (n - 1) * 40);

    const Sent scan(ranks);
    CD_ASSIGN(const auto below, ranks.exclusive_sum(std::vector<int64_t>(5)));
    int64_t above = 0;
    for (int reach = 1; ranks.rank() + reach < n; reach *= 2) ++above;
    EXPECT_EQ(scan.messages(), above);
    EXPECT_EQ(scan.bytes(), above * 48);

    for (const Fold how : {Fold::kSum, Fold::kMin}) {
      for (const int64_t values : {5, 5'000}) {
        const Sent fold(ranks);
        CD_ASSIGN(const auto folded, ranks.fold(std::vector<int64_t>(values), how));
        const int64_t messages = fold.messages();
        const int64_t bytes = fold.bytes();
        CD_ASSIGN(const int64_t in_all, ranks.fold(messages, Fold::kSum));
        const bool at_once = are_few && values == 5 && how != Fold::kSum;
        EXPECT_EQ(in_all, at_once ? n * (n - 1) : 2 * (n - 1));
        EXPECT_EQ(bytes, messages * 8 * (values + (how == Fold::kSum ? 1 : 0)));
      }
    }
    return {};
  });
}

TEST_P(CommunicatorConcurrent, StringsOfAnyLengthAreGathered) {
  run([](Communicator& ranks) -> Status {
    const auto string_of = [](int rank, size_t bytes) {
      return std::string(bytes, static_cast<char>('a' + rank));
    };
    for (const size_t bytes : {0, 1, 1'015, 1'016, 1'017, 40'000}) {
      // Only one of them is long, or all are.
      for (const bool are_alike : {false, true}) {
        const auto length = [&](int rank) { return are_alike || rank == 1 ? bytes : 3; };
        const Sent gather(ranks);
        CD_ASSIGN(const std::vector<std::string> all,
                  ranks.gather(string_of(ranks.rank(), length(ranks.rank())), ranks.limit()));
        for (int rank = 0; rank < ranks.size(); ++rank) {
          EXPECT_EQ(all[static_cast<size_t>(rank)], string_of(rank, length(rank)));
        }
        if (ranks.size() == 4) {
          EXPECT_EQ(gather.messages(), bytes > 1'016 ? 6 : 3);
        }
      }
    }
    return {};
  });
}

TEST_P(CommunicatorConcurrent, AgreeTellsTheFirstError) {
  run([](Communicator& ranks) -> Status {
    EXPECT_TRUE(ranks.agree({}).ok());
    for (int first = 0; first < ranks.size(); ++first) {
      Status mine;
      if (ranks.rank() >= first && (ranks.rank() - first) % 2 == 0) {
        mine = make_error(ErrorCode::kOutOfMemoryBudget, "no room in {}", ranks.rank());
      }
      const Status all = ranks.agree(mine);
      EXPECT_FALSE(all.ok());
      EXPECT_EQ(all.error().code, ErrorCode::kOutOfMemoryBudget);
      EXPECT_EQ(
          all.error().message,
          mine.ok() ? fmt::format("rank {}: no room in {}", first, first) : mine.error().message);
    }
    return ranks.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, CommunicatorConcurrent, testing::Range(1, 10));

TEST(CommunicatorFailuresConcurrent, WhoDoesNotComeIsNamed) {
  std::latch seen(3);
  const Status status = run_thread_ranks({.ranks = 5}, [&](Communicator& ranks) -> Status {
    CD_TRY(ranks.barrier());
    if (ranks.rank() == 1 || ranks.rank() == 3) {
      seen.wait();
      return {};
    }
    ranks.set_limit(milliseconds(300));
    const auto all = ranks.all_gather(values_of(ranks.rank(), 1));
    seen.count_down();
    EXPECT_FALSE(all.ok());
    EXPECT_EQ(ranks.barrier().error().message, all.error().message);
    return all.error();
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kAgentLost);
  EXPECT_THAT(status.error().message, HasSubstr("ranks 1, 3 of 5 did not come within 0.3 s"));
}

// Ranks wait for each other in every call; one of them returns an error, throws or leaves instead.
enum class Way { kError, kThrow, kGiveUp, kLeave };

class CommunicatorEndsConcurrent : public testing::TestWithParam<std::tuple<int, Way>> {};

TEST_P(CommunicatorEndsConcurrent, AllOthersEndWithTheCause) {
  const auto [ranks, way] = GetParam();
  for (int call = 0; call < 6; ++call) {
    std::vector<std::string> heard(static_cast<size_t>(ranks));
    const Status status =
        run_thread_ranks({.ranks = ranks}, [&](Communicator& communicator) -> Status {
          const auto calls = {
              std::function([&] { return communicator.barrier(); }),
              std::function([&] { return Status(communicator.agree({})); }),
              std::function([&] {
                const auto all = communicator.all_to_all(
                    std::vector<int64_t>(static_cast<size_t>(communicator.size())));
                return all.ok() ? Status() : Status(all.error());
              }),
              std::function([&] {
                const auto all = communicator.gather("text", milliseconds(20'000));
                return all.ok() ? Status() : Status(all.error());
              }),
              std::function([&] {
                const auto window = communicator.open_window(100, Memory::create(1 << 20), "test");
                return window.ok() ? Status() : Status(window.error());
              }),
              std::function([&] { return communicator.trim_windows(); }),
          };
          int number = 0;
          for (const auto& next : calls) {
            if (communicator.rank() == 1 && number++ == call) {
              if (way == Way::kLeave) return {};
              const Error cause{ErrorCode::kSourceFailed, "the file ends early"};
              if (way == Way::kThrow) throw std::runtime_error("the file ends early");
              if (way == Way::kGiveUp) communicator.give_up(cause);
              return cause;
            }
            const Status done = next();
            if (done.ok()) continue;
            heard[static_cast<size_t>(communicator.rank())] = done.error().message;
            return done;
          }
          for (int round = 0; round < 3; ++round) {
            const Status done = communicator.barrier();
            if (done.ok()) continue;
            heard[static_cast<size_t>(communicator.rank())] = done.error().message;
            return done;
          }
          return {};
        });
    ASSERT_FALSE(status.ok());
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank == 1) continue;
      const std::string& message = heard[static_cast<size_t>(rank)];
      if (way == Way::kLeave) {
        EXPECT_THAT(message, HasSubstr("rank 1 has left"));
      } else {
        EXPECT_THAT(message, AllOf(HasSubstr("rank 1 cannot go on"), HasSubstr("ends early")));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Ways,
    CommunicatorEndsConcurrent,
    testing::Combine(testing::Values(2, 3, 5, 8),
                     testing::Values(Way::kError, Way::kThrow, Way::kGiveUp, Way::kLeave)));

TEST(CommunicatorFailuresConcurrent, ACommunicatorThatAnExceptionDestroysGivesUp) {
  auto world = make_thread_communicators({.ranks = 2});
  ASSERT_TRUE(world.ok());
  auto& ranks = world.value();
  std::thread other([&] {
    const Status status = ranks[0]->barrier();
    ASSERT_FALSE(status.ok());
    EXPECT_THAT(status.error().message, HasSubstr("rank 1 cannot go on: CD-617 it left by an exc"));
  });
  try {
    const std::unique_ptr<Communicator> leaving = std::move(ranks[1]);
    throw std::runtime_error("for no reason");
  } catch (const std::runtime_error&) {
  }
  other.join();
}

TEST(CommunicatorFailuresConcurrent, UnlikeCallsAreReported) {
  const Status status = run_thread_ranks({.ranks = 3}, [](Communicator& ranks) -> Status {
    const auto all = ranks.all_gather(values_of(0, ranks.rank() == 1 ? 2 : 1));
    return all.ok() ? Status() : Status(all.error());
  });
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("as many values"));
}

TEST(CommunicatorFailuresConcurrent, BlocksThatCannotBeDivided) {
  const Status status = run_thread_ranks({.ranks = 3}, [](Communicator& ranks) -> Status {
    const auto come = ranks.all_to_all(std::vector<int64_t>(4));
    EXPECT_FALSE(come.ok());
    EXPECT_EQ(come.error().code, ErrorCode::kInvalidArgument);
    return ranks.barrier();
  });
  EXPECT_TRUE(status.ok());
}

}  // namespace
}  // namespace crossdock::ranks
