// All forms against sums in one place, and their messages against the formulas.
#include "data/bulk/bucket_counts.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "data/ranks/thread_communicator.hpp"
#include "table/word_mix.hpp"

namespace crossdock::bulk {
namespace {

using Counts = std::vector<std::vector<int64_t>>;  // by rank: [task][bucket]

Counts random_counts(const model::BucketShape& shape, uint64_t seed) {
  Counts counts(static_cast<size_t>(shape.ranks));
  for (std::vector<int64_t>& of_rank : counts) {
    of_rank.resize(static_cast<size_t>(shape.tasks * shape.buckets));
    for (int64_t& count : of_rank) count = static_cast<int64_t>(next_random(seed) % 1000);
  }
  return counts;
}

// In the order (bucket, rank, task).
Counts expected_starts(const model::BucketShape& shape, const Counts& counts) {
  Counts starts = counts;
  int64_t sum = 0;
  for (int64_t b = 0; b < shape.buckets; ++b) {
    for (size_t rank = 0; rank < counts.size(); ++rank) {
      for (int64_t task = 0; task < shape.tasks; ++task) {
        const auto at = static_cast<size_t>(task * shape.buckets + b);
        starts[rank][at] = sum;
        sum += counts[rank][at];
      }
    }
  }
  return starts;
}

void add(model::BucketTraffic& sum, const model::BucketTraffic& part) {
  sum.messages += part.messages;
  sum.bytes += part.bytes;
  sum.own_messages += part.own_messages;
  sum.own_bytes += part.own_bytes;
}

struct Exchanged {
  Counts starts;
  std::vector<model::BucketTraffic> counts;  // by rank
  std::vector<model::BucketTraffic> back;
  std::vector<ranks::Communicator::Traffic> traffic;
};

// Two exchanges with one BucketCounts; what is answered is of the second, and the messages of both.
Exchanged exchange(const model::BucketShape& shape,
                   model::BucketForm form,
                   const Counts& counts,
                   int per_host) {
  const auto ranks = static_cast<size_t>(shape.ranks);
  Exchanged done;
  done.starts.resize(ranks);
  done.counts.resize(ranks);
  done.back.resize(ranks);
  done.traffic.resize(ranks);
  const Status status = ranks::run_thread_ranks(
      {.ranks = shape.ranks, .ranks_per_host = per_host},
      [&](ranks::Communicator& communicator) -> Status {
        const auto rank = static_cast<size_t>(communicator.rank());
        const auto memory = Memory::create(int64_t{1} << 28);
        CD_ASSIGN(const auto exchanging, BucketCounts::open(communicator, shape, form, memory));
        const ranks::Communicator::Traffic before = communicator.traffic();
        std::vector<int64_t>& starts = done.starts[rank];
        starts.resize(counts[rank].size());
        const std::vector<int64_t> others(counts[rank].size(), 3);
        CD_TRY(exchanging->exchange(others, starts));
        CD_TRY(exchanging->exchange(counts[rank], starts));
        done.counts[rank] = exchanging->count_traffic();
        done.back[rank] = exchanging->start_traffic();
        done.traffic[rank] = communicator.traffic();
        done.traffic[rank].put_messages -= before.put_messages;
        done.traffic[rank].put_bytes -= before.put_bytes;
        done.traffic[rank].collective_messages -= before.collective_messages;
        done.traffic[rank].collective_bytes -= before.collective_bytes;
        return {};
      });
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return done;
}

model::BucketTraffic twice(const model::BucketTraffic& once) {
  return {2 * once.messages, 2 * once.bytes, 2 * once.own_messages, 2 * once.own_bytes};
}

void expect_right_counts(const model::BucketShape& shape, model::BucketForm form, int per_host) {
  SCOPED_TRACE(testing::Message() << model::bucket_form_name(form) << " ranks " << shape.ranks
                                  << " tasks " << shape.tasks << " buckets " << shape.buckets
                                  << " buffer " << shape.buffer_elements << " per host "
                                  << per_host);
  const Counts counts = random_counts(shape, 17);
  const Exchanged done = exchange(shape, form, counts, per_host);
  ASSERT_EQ(done.starts, expected_starts(shape, counts));
  model::BucketTraffic sent;
  model::BucketTraffic back;
  int64_t puts = 0;
  int64_t put_bytes = 0;
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    add(sent, done.counts[rank]);
    add(back, done.back[rank]);
    puts += done.traffic[rank].put_messages;
    put_bytes += done.traffic[rank].put_bytes;
  }
  if (form == model::BucketForm::kScanned) {
    int64_t messages = 0;
    int64_t bytes = 0;
    for (const ranks::Communicator::Traffic& of_rank : done.traffic) {
      messages += of_rank.collective_messages;
      bytes += of_rank.collective_bytes;
    }
    const model::BucketTraffic twice_scanned = twice(model::bucket_traffic(shape, form));
    EXPECT_EQ(messages, twice_scanned.messages);
    EXPECT_EQ(bytes, twice_scanned.bytes);
    EXPECT_EQ(puts, 0);
    return;
  }
  // What stays on its rank is a message of the forms with buffers only.
  model::BucketTraffic expected = twice(model::bucket_traffic(shape, form));
  if (form == model::BucketForm::kContiguous || form == model::BucketForm::kCombined) {
    sent.own_messages = back.own_messages = sent.own_bytes = back.own_bytes = 0;
  }
  EXPECT_EQ(sent, expected);
  EXPECT_EQ(back, expected);
  EXPECT_EQ(puts, sent.messages + back.messages);
  EXPECT_EQ(put_bytes, sent.bytes + back.bytes);
}

TEST(BucketCounts, ConcurrentRanksFindTheSameStartsInAllForms) {
  for (const model::BucketForm form : model::kBucketForms) {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
      for (const int tasks : {1, 3, 4}) {
        expect_right_counts({ranks, tasks, 64, 16}, form, 0);
      }
    }
  }
}

TEST(BucketCounts, ConcurrentRanksCountMessagesAsTheFormulasDo) {
  for (const model::BucketForm form : model::kBucketForms) {
    for (const int64_t buckets : {1, 5, 100, 256}) {
      for (const int64_t buffer : {1, 7, 1000}) {
        for (const int per_host : {1, 2}) {
          expect_right_counts({5, 2, buckets, buffer}, form, per_host);
          expect_right_counts({4, 8, buckets, buffer}, form, per_host);
        }
      }
    }
  }
}

TEST(BucketCounts, RefusesAShapeThatIsNone) {
  const Status status =
      ranks::run_thread_ranks({.ranks = 2}, [&](ranks::Communicator& communicator) -> Status {
        const auto memory = Memory::create(1 << 20);
        for (const model::BucketShape& shape : {model::BucketShape{3, 1, 8, 8},
                                                model::BucketShape{2, 0, 8, 8},
                                                model::BucketShape{2, 1, 0, 8},
                                                model::BucketShape{2, 1, 8, 0}}) {
          const auto opened =
              BucketCounts::open(communicator, shape, model::BucketForm::kTaskBuffers, memory);
          if (opened.ok()) return make_error(ErrorCode::kInternal, "it was opened");
          EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
        }
        return {};
      });
  EXPECT_TRUE(status.ok());
}

TEST(BucketCounts, ConcurrentRanksRefuseShapesThatDiffer) {
  const auto open = [](ranks::Communicator& communicator,
                       const model::BucketShape& shape,
                       model::BucketForm form) {
    const auto opened = BucketCounts::open(communicator, shape, form, Memory::create(1 << 20));
    return opened.ok() ? std::string() : opened.error().message;
  };
  const Status status =
      ranks::run_thread_ranks({.ranks = 2}, [&](ranks::Communicator& communicator) -> Status {
        const int other = communicator.rank();
        for (const model::BucketShape& shape :
             {model::BucketShape{2, 1 + other, 8, 8}, model::BucketShape{2, 1, 8 + other, 8}}) {
          EXPECT_NE(open(communicator, shape, model::BucketForm::kContiguous), "");
        }
        EXPECT_EQ(open(communicator, {2, 1 + other, 8, 8}, model::BucketForm::kCombined), "");
        return communicator.barrier();
      });
  EXPECT_TRUE(status.ok());
}

TEST(BucketCounts, ConcurrentRanksAllHearOfARankWithoutMemory) {
  std::vector<ErrorCode> codes(3, ErrorCode::kInternal);
  const Status status =
      ranks::run_thread_ranks({.ranks = 3}, [&](ranks::Communicator& communicator) -> Status {
        const auto memory = Memory::create(communicator.rank() == 1 ? 4096 : 1 << 28);
        const auto opened = BucketCounts::open(
            communicator, {3, 4, 1 << 12, 64}, model::BucketForm::kContiguous, memory);
        if (!opened.ok()) codes[static_cast<size_t>(communicator.rank())] = opened.error().code;
        return {};
      });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(codes, std::vector<ErrorCode>(3, ErrorCode::kOutOfMemoryBudget));
}

}  // namespace
}  // namespace crossdock::bulk
