// Ranges that are asked for ahead, late, in vain and twice.
#include "scan/ranged_file.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/team.hpp"
#include "scan/read_ahead.hpp"

namespace crossdock::scan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

using Ends = std::pair<int64_t, int64_t>;

std::vector<Ends> joined(std::vector<ByteRange> ranges) {
  std::vector<Ends> ends;
  for (const ByteRange& range : coalesced(std::move(ranges))) {
    ends.emplace_back(range.begin, range.end);
  }
  return ends;
}

uint8_t byte_at(int64_t offset) { return static_cast<uint8_t>(offset * 31 + (offset >> 12)); }

// Keeps requests until it is asked to answer them.
struct Store {
  std::mutex mutex;
  std::vector<std::shared_ptr<RangeRequest>> requests;
  bool answers = true;

  RemoteFile file(int64_t bytes, int64_t tail_bytes) {
    RemoteFile described;
    described.name = "far";
    described.bytes = bytes;
    for (int64_t at = bytes - tail_bytes; at < bytes; ++at) {
      described.tail.push_back(static_cast<char>(byte_at(at)));
    }
    described.ask = [this](std::shared_ptr<RangeRequest> request) {
      const std::lock_guard lock(mutex);
      if (answers) answer(*request);
      requests.push_back(std::move(request));
    };
    return described;
  }

  static void answer(RangeRequest& request) {
    std::vector<uint8_t> bytes;
    for (int64_t at = 0; at < request.bytes(); ++at)
      bytes.push_back(byte_at(request.offset() + at));
    request.deliver(bytes.data(), request.bytes());
  }
};

bool is_right(const std::vector<uint8_t>& bytes, int64_t offset) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != byte_at(offset + static_cast<int64_t>(i))) return false;
  }
  return true;
}

TEST(Coalesced, JoinsNeighboursAndCutsLongOnes) {
  EXPECT_THAT(joined({{700, 900}, {0, 10}, {10, 20}, {5, 5}}), ElementsAre(Ends{0, 900}));
  EXPECT_THAT(joined({{0, 10}, {2 * kMiB, 2 * kMiB + 1}}),
              ElementsAre(Ends{0, 10}, Ends{2 * kMiB, 2 * kMiB + 1}));
  EXPECT_THAT(joined({{1, 20 * kMiB}}),
              ElementsAre(Ends{1, 8 * kMiB + 1},
                          Ends{8 * kMiB + 1, 16 * kMiB + 1},
                          Ends{16 * kMiB + 1, 20 * kMiB}));
  EXPECT_TRUE(joined({}).empty());
}

TEST(RangedFile, ReadsWhatNobodyAskedFor) {
  Store store;
  const RangedFile file(store.file(3 * kMiB, 100), std::make_shared<RecentRanges>());
  std::vector<uint8_t> some(1000);
  ASSERT_TRUE(file.read(5000, some).ok());
  EXPECT_TRUE(is_right(some, 5000));
  ASSERT_TRUE(file.read(7000, some).ok());
  EXPECT_TRUE(is_right(some, 7000));
  EXPECT_EQ(store.requests.size(), 1);  // the second lies in what the first has brought
  ASSERT_TRUE(file.read(3 * kMiB - 1000, some).ok());
  EXPECT_TRUE(is_right(some, 3 * kMiB - 1000));  // half of it from the tail
  EXPECT_EQ(store.requests.size(), 2);
  EXPECT_FALSE(file.read(3 * kMiB - 999, some).ok());
  EXPECT_FALSE(file.read(-1, some).ok());
  std::vector<uint8_t> long_one(static_cast<size_t>(2 * kMiB + 7));
  ASSERT_TRUE(file.read(100, long_one).ok());
  EXPECT_TRUE(is_right(long_one, 100));
}

TEST(RangedFile, NamesTheRangeThatFails) {
  Store store;
  store.answers = false;
  const RangedFile file(store.file(kMiB, 0), std::make_shared<RecentRanges>());
  std::vector<uint8_t> some(10);
  const auto read_failing = [&](auto fail) {
    std::thread answering([&] {
      for (size_t seen = 0; seen == 0;) {
        const std::lock_guard lock(store.mutex);
        seen = store.requests.size();
        if (seen > 0) fail(*store.requests.back());
      }
    });
    const Status read = file.read(20, some);
    answering.join();
    store.requests.clear();
    return read;
  };
  const Status refused = read_failing([](RangeRequest& request) { request.fail("no such key"); });
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("far: bytes 20 to 262164 cannot be read: no such"));
  const Status cut = read_failing([](RangeRequest& request) { request.deliver("abc", 3); });
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().message, HasSubstr("3 bytes came"));
  // It is asked for again, and its answer counts once.
  const Status read = read_failing([](RangeRequest& request) {
    Store::answer(request);
    request.fail("too late");
  });
  EXPECT_TRUE(read.ok());
  EXPECT_TRUE(is_right(some, 20));
}

TEST(RangedFile, WaitsEndWithTheRun) {
  Store store;
  store.answers = false;
  const RangedFile file(store.file(kMiB, 0), std::make_shared<RecentRanges>());
  CancelFlag flag;
  std::thread cancelling([&] { flag.set(); });
  std::vector<uint8_t> some(10);
  {
    const CancelScope scope(&flag);
    const Status read = file.read(0, some);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, ErrorCode::kCancelled);
  }
  cancelling.join();
  EXPECT_FALSE(CancelScope::is_cancelled());
  EXPECT_FALSE(store.requests[0]->is_wanted());
  Store::answer(*store.requests[0]);  // goes nowhere
  store.answers = true;
  EXPECT_TRUE(file.read(0, some).ok());
}

TEST(ReadAhead, StaysWithinItsBound) {
  Store store;
  const RangedFile file(store.file(64 * kMiB, 0), std::make_shared<RecentRanges>());
  const auto memory = Memory::create(256 * kMiB);
  {
    ReadAhead ahead(memory, 3 * kMiB);
    for (int64_t part = 0; part < 16; ++part) {
      ahead.add(file, {{part * 2 * kMiB, part * 2 * kMiB + kMiB}}, part == 0 ? 2 : 1);
    }
    ahead.begin(0);
    EXPECT_EQ(ahead.requests(), 3);
    std::vector<uint8_t> some(1000);
    ASSERT_TRUE(file.read(2 * kMiB + 5, some).ok());
    EXPECT_TRUE(is_right(some, 2 * kMiB + 5));
    EXPECT_EQ(store.requests.size(), 3);  // it had been asked for
    ahead.end(0);
    EXPECT_EQ(ahead.requests(), 3);  // another use of the part goes on
    ahead.end(0);
    EXPECT_EQ(ahead.requests(), 4);
    ahead.begin(9);  // out of turn
    EXPECT_TRUE(store.requests[4]->is_wanted());
    EXPECT_EQ(store.requests[4]->offset(), 18 * kMiB);
    for (int part = 1; part < 16; ++part) {
      ahead.begin(part);
      ahead.end(part);
    }
    EXPECT_EQ(ahead.requests(), 16);
    EXPECT_LE(ahead.peak_bytes(), 5 * kMiB);
  }
  for (const auto& request : store.requests) EXPECT_FALSE(request->is_wanted());
}

TEST(ReadAhead, GoesOnWithoutMemory) {
  Store store;
  const RangedFile file(store.file(64 * kMiB, 0), std::make_shared<RecentRanges>());
  ReadAhead ahead(Memory::create(kMiB), 32 * kMiB);
  ahead.add(file, {{0, 5 * kMiB}}, 1);
  ahead.begin(0);
  EXPECT_EQ(ahead.requests(), 0);
  std::vector<uint8_t> some(1000);
  EXPECT_TRUE(file.read(0, some).ok());
  ahead.end(0);
}

}  // namespace
}  // namespace crossdock::scan
