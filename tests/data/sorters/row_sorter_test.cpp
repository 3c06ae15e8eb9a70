// Rows through a sorter and rings: none lost, none twice, in order per outlet.
#include "data/sorters/row_sorter.hpp"

#include <deque>
#include <map>

#include <gtest/gtest.h>

#include "data/segments/row_ring.hpp"

namespace crossdock::sorters {
namespace {

using arrow_test::Random;

// Rings of a sorter, and what was taken from them.
class Outlets {
 public:
  Outlets(std::shared_ptr<const segments::RowLayout> layout, int outlets, int slot_bits)
      : layout_(std::move(layout)), got_(static_cast<size_t>(outlets)) {
    for (int o = 0; o < outlets; ++o) {
      memory_.emplace_back(*layout_, slot_bits);
      rings_.push_back(memory_.back().ring());
      consumers_.emplace_back(rings_.back());
    }
  }

  std::span<const rings::Ring> rings() const { return rings_; }

  // Takes up to `segments` of one outlet.
  void drain(size_t outlet, int segments) {
    while (segments-- > 0) {
      const std::byte* segment = consumers_[outlet].front();
      if (segment == nullptr) return;
      const Batch batch = segments::segment_batch(*layout_, segment, nullptr);
      for (int64_t row = 0; row < batch.rows; ++row) {
        got_[outlet].push_back(segments::row_text(batch, row));
      }
      if (layout_->destination_lane() >= 0) {
        for (const uint16_t one : segments::segment_destinations(*layout_, segment)) {
          destinations_[outlet].push_back(one);
        }
      }
      consumers_[outlet].recycle();
      ++segments_;
    }
  }
  void drain_all() {
    for (size_t o = 0; o < got_.size(); ++o) drain(o, 1 << 20);
  }

  const std::vector<std::string>& got(size_t outlet) const { return got_[outlet]; }
  std::map<size_t, std::vector<uint16_t>>& destinations() { return destinations_; }
  int segments() const { return segments_; }

 private:
  std::shared_ptr<const segments::RowLayout> layout_;
  std::deque<segments::RowRing> memory_;
  std::vector<rings::Ring> rings_;
  std::vector<rings::RingConsumer<rings::CpuRingTraits>> consumers_;
  std::vector<std::vector<std::string>> got_;
  std::map<size_t, std::vector<uint16_t>> destinations_;
  int segments_ = 0;
};

std::shared_ptr<const segments::RowLayout> small_layout(const SchemaPtr& schema,
                                                        bool has_destinations) {
  // The fewest bytes that hold enough rows.
  for (int64_t bytes = 1024;; bytes += 512) {
    auto layout = segments::RowLayout::make(
        schema, {.segment_bytes = bytes, .text_bytes = 8, .has_destinations = has_destinations});
    if (layout.ok()) return layout.value();
  }
}

// Pushes until all is in; receivers take now and then.
void push_all(RowSorter& sorter, Outlets& outlets, Random& random, size_t count) {
  std::vector<uint16_t> published;
  for (int turn = 0; sorter.pending_rows() > 0; ++turn) {
    ASSERT_LT(turn, 1'000'000);
    const int64_t before = sorter.pending_rows();
    const bool has_moved = sorter.push(published);
    EXPECT_EQ(has_moved, sorter.pending_rows() != before);
    for (const uint16_t outlet : published) ASSERT_LT(outlet, count);
    published.clear();
    outlets.drain(random() % count, 1 + static_cast<int>(random() % 3));
  }
}

void expect_conserved(Random& random, int64_t rows_max) {
  const auto columns =
      segments::random_row_columns(static_cast<int64_t>(random() % rows_max), random);
  const Batch whole = arrow_test::make_batch(columns);
  const bool has_destinations = random() % 3 == 0;
  const auto layout = small_layout(whole.schema, has_destinations);
  const size_t counts[] = {1, 2, 3, 7, 64};
  const size_t count = counts[random() % 5];
  Outlets outlets(layout, static_cast<int>(count), static_cast<int>(random() % 3));
  RowSorter sorter(layout, outlets.rings());
  std::vector<std::vector<std::string>> sent(count);
  std::vector<std::vector<uint16_t>> sent_destinations(count);
  for (int round = 0; round < 3; ++round) {
    const auto begin = static_cast<int64_t>(random() % static_cast<uint64_t>(whole.rows + 1));
    const Batch batch = segments::slice_rows(whole, begin, whole.rows - begin);
    const bool is_broadcast = random() % 4 == 0;
    const bool is_skewed = random() % 3 == 0;
    const bool go_together = random() % 4 == 0;
    const auto together = static_cast<uint16_t>(random() % count);
    std::vector<uint16_t> numbers;
    std::vector<uint16_t> carried;
    for (int64_t row = 0; row < batch.rows; ++row) {
      const auto spread = static_cast<uint16_t>(is_skewed && row % 8 != 0 ? 0 : random() % count);
      const uint16_t outlet = go_together ? together : spread;
      carried.push_back(static_cast<uint16_t>(random()));
      if (!is_broadcast) numbers.push_back(outlet);
      for (size_t o = 0; o < count; ++o) {
        if (!is_broadcast && o != outlet) continue;
        sent[o].push_back(segments::row_text(batch, row));
        sent_destinations[o].push_back(carried.back());
      }
    }
    if (!has_destinations) carried.clear();
    const Status accepted = sorter.accept(batch, numbers, carried);
    ASSERT_TRUE(accepted.ok()) << accepted.error().message;
    numbers.assign(numbers.size(), 60'000);  // they are copied
    ASSERT_NO_FATAL_FAILURE(push_all(sorter, outlets, random, count));
  }
  std::vector<uint16_t> published;
  sorter.seal(published);
  outlets.drain_all();
  for (size_t o = 0; o < count; ++o) {
    ASSERT_EQ(outlets.got(o), sent[o]) << "outlet " << o;
    EXPECT_EQ(sorter.rows_of(static_cast<int>(o)), sent[o].size());
    if (!has_destinations) continue;
    ASSERT_EQ(outlets.destinations()[o], sent_destinations[o]);
  }
}

TEST(RowSorter, random_rows_are_conserved_and_keep_their_order) {
  Random random(5);
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE(round);
    ASSERT_NO_FATAL_FAILURE(expect_conserved(random, round % 4 == 0 ? 70 : 1500));
  }
}

TEST(RowSorter, many_rows_go_through_several_blocks) {
  Random random(6);
  constexpr int64_t kRows = 200'001;
  const Batch batch =
      arrow_test::make_batch({{"a", arrow_test::random_array("l", kRows, 0, random)},
                              {"t", arrow_test::random_array("u", kRows, 0.1, random)}});
  const auto layout = segments::RowLayout::make(batch.schema, {.segment_bytes = 1 << 15}).value();
  for (const size_t count : {2U, 5U}) {
    Outlets outlets(layout, static_cast<int>(count), 1);
    RowSorter sorter(layout, outlets.rings());
    std::vector<uint16_t> numbers;
    std::vector<std::vector<std::string>> sent(count);
    for (int64_t row = 0; row < kRows; ++row) {
      numbers.push_back(static_cast<uint16_t>(random() % count));
      sent[numbers.back()].push_back(segments::row_text(batch, row));
    }
    ASSERT_TRUE(sorter.accept(batch, numbers).ok());
    ASSERT_NO_FATAL_FAILURE(push_all(sorter, outlets, random, count));
    std::vector<uint16_t> published;
    sorter.seal(published);
    outlets.drain_all();
    for (size_t o = 0; o < count; ++o) ASSERT_EQ(outlets.got(o), sent[o]);
  }
}

TEST(RowSorter, a_full_ring_does_not_stop_the_others) {
  const Batch batch = arrow_test::make_batch(
      {{"a", arrow_test::fixed<int32_t>("i", arrow_test::Optionals<int32_t>(100'000, 1))}});
  const auto layout = segments::RowLayout::make(batch.schema, {.segment_bytes = 4096}).value();
  Outlets outlets(layout, 3, 0);
  RowSorter sorter(layout, outlets.rings());
  std::vector<uint16_t> numbers(100'000, 0);  // almost all to an outlet that takes one segment
  numbers[99'998] = 1;
  numbers[99'999] = 2;
  ASSERT_TRUE(sorter.accept(batch, numbers).ok());
  std::vector<uint16_t> published;
  EXPECT_TRUE(sorter.push(published));
  EXPECT_EQ(published, std::vector<uint16_t>{0});
  EXPECT_EQ(sorter.rows_of(0), layout->segments().rows_max);
  EXPECT_EQ(sorter.rows_of(1), 1U);
  EXPECT_EQ(sorter.rows_of(2), 1U);
  EXPECT_FALSE(sorter.push(published)) << "nothing moves until a receiver takes the segment";
  outlets.drain(0, 1);
  EXPECT_TRUE(sorter.push(published));
  EXPECT_EQ(sorter.rows_of(0), 2 * layout->segments().rows_max);
}

TEST(RowSorter, what_does_not_fit_is_refused_before_anything_is_taken) {
  const Batch batch =
      arrow_test::make_batch({{"t", arrow_test::strings("u", {std::string(50'000, 'x')})}});
  const auto layout = segments::RowLayout::make(batch.schema, {.segment_bytes = 32768}).value();
  Outlets outlets(layout, 2, 0);
  RowSorter sorter(layout, outlets.rings());
  const std::vector<uint16_t> one = {1};
  EXPECT_EQ(sorter.accept(batch, one).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(sorter.pending_rows(), 0);
  const std::vector<uint16_t> two = {1, 1};
  EXPECT_EQ(sorter.accept(batch, two).error().code, ErrorCode::kInvalidArgument);
}

TEST(RowSorter, the_batch_is_let_go_when_all_rows_are_in) {
  Batch batch = arrow_test::make_batch({{"a", arrow_test::fixed<int64_t>("l", {1, 2, 3})}});
  const auto layout = segments::RowLayout::make(batch.schema, {}).value();
  Outlets outlets(layout, 2, 0);
  RowSorter sorter(layout, outlets.rings());
  const std::weak_ptr<const void> owner = batch.owner;
  const std::vector<uint16_t> numbers = {0, 1, 0};
  ASSERT_TRUE(sorter.accept(std::move(batch), numbers).ok());
  batch = {};
  EXPECT_FALSE(owner.expired());
  std::vector<uint16_t> published;
  EXPECT_TRUE(sorter.push(published));
  EXPECT_TRUE(owner.expired());
  EXPECT_FALSE(sorter.push(published));
  EXPECT_TRUE(published.empty()) << "open segments wait for more, or for seal()";
  sorter.seal(published);
  EXPECT_EQ(published, (std::vector<uint16_t>{0, 1}));
}

}  // namespace
}  // namespace crossdock::sorters
