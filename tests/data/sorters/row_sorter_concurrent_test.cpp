// Sorters of several threads feed the same rings, while other threads take from them.
#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

#include <gtest/gtest.h>

#include "data/segments/row_ring.hpp"
#include "data/sorters/row_sorter.hpp"

namespace crossdock::sorters {
namespace {

constexpr int kSenders = 3;
constexpr int kOutlets = 2;
constexpr int kBatches = 12;

// Columns whose rows share words of bitmaps and a heap: bits, NULLs, strings.
Batch random_batch(arrow_test::Random& random) {
  const auto rows = static_cast<int64_t>(random() % 700);
  arrow_test::Columns columns;
  for (const std::string format : {"b", "l", "u", "s"}) {
    columns.push_back({format, arrow_test::random_array(format, rows, 0.3, random)});
  }
  return arrow_test::make_batch(columns);
}

// By outlet.
using Strings = std::vector<std::vector<std::string>>;

void send(RowSorter sorter, uint64_t seed, Strings& sent) {
  arrow_test::Random random(seed);
  std::vector<uint16_t> published;
  for (int b = 0; b < kBatches; ++b) {
    const Batch batch = random_batch(random);
    std::vector<uint16_t> outlets;
    for (int64_t row = 0; row < batch.rows; ++row) {
      outlets.push_back(static_cast<uint16_t>(random() % kOutlets));
      sent[outlets.back()].push_back(segments::row_text(batch, row));
    }
    const Status accepted = sorter.accept(batch, outlets);
    ASSERT_TRUE(accepted.ok()) << accepted.error().message;
    while (sorter.pending_rows() > 0) {
      if (!sorter.push(published)) std::this_thread::yield();
    }
    if (b % 3 == 0) sorter.seal(published);
  }
  sorter.seal(published);
}

void receive(const segments::RowLayout& layout,
             const rings::Ring& ring,
             const std::atomic<int>& senders,
             std::vector<std::string>& got) {
  rings::RingConsumer<rings::CpuRingTraits> consumer(ring);
  while (true) {
    const bool is_last = senders.load() == 0;  // looked at before the ring is
    const std::byte* segment = consumer.front();
    if (segment == nullptr) {
      if (is_last) return;
      std::this_thread::yield();
      continue;
    }
    const Batch batch = segments::segment_batch(layout, segment, nullptr);
    for (int64_t row = 0; row < batch.rows; ++row) got.push_back(segments::row_text(batch, row));
    consumer.recycle();
  }
}

TEST(RowSorterConcurrent, senders_that_share_segments_lose_no_row) {
  arrow_test::Random random(1);
  const auto layout = segments::RowLayout::make(random_batch(random).schema,
                                                {.segment_bytes = 8192, .text_bytes = 8})
                          .value();
  std::deque<segments::RowRing> memory;
  std::vector<rings::Ring> rings;
  for (int o = 0; o < kOutlets; ++o) rings.push_back(memory.emplace_back(*layout, 1).ring());
  std::vector<Strings> sent(kSenders, Strings(kOutlets));
  Strings got(kOutlets);
  std::atomic<int> senders = kSenders;
  std::vector<std::thread> threads;
  for (int s = 0; s < kSenders; ++s) {
    threads.emplace_back([&, s] {
      send(RowSorter(layout, rings), static_cast<uint64_t>(s) + 10, sent[s]);
      --senders;
    });
  }
  for (int o = 0; o < kOutlets; ++o) {
    threads.emplace_back([&, o] { receive(*layout, rings[o], senders, got[o]); });
  }
  for (std::thread& thread : threads) thread.join();
  for (int o = 0; o < kOutlets; ++o) {
    std::vector<std::string> all;
    for (const Strings& strings : sent) all.insert(all.end(), strings[o].begin(), strings[o].end());
    std::sort(all.begin(), all.end());
    std::sort(got[o].begin(), got[o].end());
    EXPECT_EQ(got[o], all);
  }
}

}  // namespace
}  // namespace crossdock::sorters
