// Rows into segments and out again, packed and not; and segments that lie.
#include "data/segments/segment_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/segments/row_ring.hpp"
#include "table/arrow_export.hpp"
#include "table/validate.hpp"

namespace crossdock::segments {
namespace {

using arrow_test::Columns;
using arrow_test::Random;
using ::testing::HasSubstr;

std::shared_ptr<const RowLayout> layout_of(const SchemaPtr& schema,
                                           int64_t segment_bytes = 1 << 16,
                                           bool has_destinations = false) {
  auto layout = RowLayout::make(
      schema,
      {.segment_bytes = segment_bytes, .text_bytes = 32, .has_destinations = has_destinations});
  if (!layout.ok()) ADD_FAILURE() << layout.error().message;
  return layout.value();
}

uint64_t heap_bytes_of(const SegmentFiller& filler, std::span<const uint32_t> rows) {
  uint64_t bytes = 0;
  for (const uint32_t row : rows) bytes += filler.heap_bytes_of(row);
  return bytes;
}

// Segment 0 of a ring, with these rows of a batch, put in by several tickets.
class FilledSegment {
 public:
  explicit FilledSegment(std::shared_ptr<const RowLayout> layout)
      : layout_(std::move(layout)), ring_(*layout_, 0), producer_(ring_.ring()), filler_(layout_) {}

  SegmentFiller& filler() { return filler_; }

  // Whether there was room.
  bool put(std::span<const uint32_t> rows) {
    const rings::Ticket ticket = take(rows);
    if (ticket.rows == 0) return false;
    filler_.fill(producer_.segment(ticket), ticket, rows);
    producer_.commit(ticket);
    return true;
  }
  bool put_run(uint32_t first, uint32_t count) {
    std::vector<uint32_t> rows(count);
    for (uint32_t i = 0; i < count; ++i) rows[i] = first + i;
    const rings::Ticket ticket = take(rows);
    if (ticket.rows == 0) return false;
    filler_.fill_run(producer_.segment(ticket), ticket, first);
    producer_.commit(ticket);
    return true;
  }

  std::byte* seal() {
    producer_.seal();
    return ring_.ring().segment(0);
  }

 private:
  rings::Ticket take(std::span<const uint32_t> rows) {
    const uint64_t heap_bytes = layout_->has_strings() ? heap_bytes_of(filler_, rows) : 0;
    const rings::Room room = producer_.offer();
    if (room.rows < rows.size() || room.heap_bytes < heap_bytes) return {};
    return producer_.take(static_cast<uint32_t>(rows.size()), heap_bytes);
  }

  std::shared_ptr<const RowLayout> layout_;
  RowRing ring_;
  rings::RingProducer<rings::CpuRingTraits> producer_;
  SegmentFiller filler_;
};

void expect_rows(const Batch& got, const Batch& sent, std::span<const uint32_t> rows) {
  ASSERT_EQ(got.rows, static_cast<int64_t>(rows.size()));
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(row_text(got, static_cast<int64_t>(i)), row_text(sent, rows[i])) << "row " << i;
  }
  for (size_t i = 0; i < got.columns.size(); ++i) {
    const auto valid = validate_column(got.schema->fields[i], got.columns[i]);
    EXPECT_TRUE(valid.ok()) << valid.error().message;
  }
}

// The way out and in again that an application takes.
void expect_imports(const Batch& got) {
  ArrowArray array;
  export_batch(got, &array);
  auto imported = import_batch(&array, got.schema);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  for (size_t i = 0; i < got.columns.size(); ++i) {
    const auto valid = validate_column(got.schema->fields[i], imported.value().columns[i]);
    EXPECT_TRUE(valid.ok()) << valid.error().message;
  }
}

// Puts random rows of the batch in, in random portions, and reads them back.
void put_and_read(const Batch& batch, Random& random, bool by_runs) {
  const auto layout = layout_of(batch.schema);
  FilledSegment segment(layout);
  const Status set = segment.filler().set_batch(batch);
  ASSERT_TRUE(set.ok()) << set.error().message;
  std::vector<uint32_t> all;
  for (int portion = 0; portion < 6 && batch.rows > 0; ++portion) {
    std::vector<uint32_t> rows;
    const size_t count = 1 + random() % 200;
    if (by_runs) {
      const auto first = static_cast<uint32_t>(random() % static_cast<uint64_t>(batch.rows));
      const auto left = static_cast<uint32_t>(batch.rows) - first;
      for (uint32_t i = 0; i < std::min<uint32_t>(left, count); ++i) rows.push_back(first + i);
      if (!segment.put_run(first, static_cast<uint32_t>(rows.size()))) break;
    } else {
      for (size_t i = 0; i < count; ++i) {
        rows.push_back(static_cast<uint32_t>(random() % static_cast<uint64_t>(batch.rows)));
      }
      if (!segment.put(rows)) break;
    }
    all.insert(all.end(), rows.begin(), rows.end());
  }
  if (all.empty()) return;
  const std::byte* filled = segment.seal();
  const Batch got = segment_batch(*layout, filled, nullptr);
  expect_rows(got, batch, all);
  expect_imports(got);

  const std::unique_ptr<std::byte[]> packed(new std::byte[layout->segments().bytes]);
  const uint64_t bytes = pack_segment(*layout, filled, packed.get());
  EXPECT_LE(bytes, layout->segments().bytes);
  const Status checked = check_rows(*layout, packed.get(), bytes);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
  expect_rows(segment_batch(*layout, packed.get(), nullptr), batch, all);
}

TEST(SegmentRows, random_schemas_come_back_as_they_were) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const int64_t sizes[] = {0, 1, 63, 64, 65, 300};
    const int64_t rows = sizes[round % 6];
    const Batch batch = arrow_test::make_batch(random_row_columns(rows, random));
    const auto begin = static_cast<int64_t>(random() % static_cast<uint64_t>(rows + 1));
    const Batch part = round % 2 == 0 ? batch : slice_rows(batch, begin, rows - begin);
    put_and_read(part, random, round % 4 < 2);
    if (HasFatalFailure()) return;
  }
}

TEST(SegmentRows, every_format_and_every_dictionary_travels) {
  Random random(2);
  for (const std::string& format : arrow_test::plain_formats()) {
    for (int round = 0; round < 8; ++round) {
      SCOPED_TRACE(format);
      put_and_read(arrow_test::make_batch(random_row_columns(200, random, {format})),
                   random,
                   round % 2 == 0);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(SegmentRows, a_dictionary_without_values_has_only_nulls) {
  using namespace arrow_test;
  Random random(3);
  for (const std::string format : {"u", "l", "b", "vz"}) {
    const Columns columns = {
        {"a", encoded("i", {std::nullopt, std::nullopt}, random_array(format, 0, 0, random))}};
    put_and_read(make_batch(columns), random, false);
  }
}

TEST(SegmentRows, strings_may_come_in_other_layouts_than_the_schema_says) {
  using namespace arrow_test;
  const Optionals<std::string> values = {"a", std::nullopt, "a text that does not fit in its view"};
  const auto layout = layout_of(make_schema_ptr({{"t", strings("u", values)}}));
  EXPECT_EQ(layout->received_schema()->fields[0].type.id, TypeId::kUtf8View);
  for (const Array& array : {strings("U", values),
                             strings("vu", values),
                             encoded("c", {0, 1, 2}, strings("u", values))}) {
    const Batch batch = make_batch({{"t", array}});
    FilledSegment segment(layout);
    ASSERT_TRUE(segment.filler().set_batch(batch).ok());
    const std::vector<uint32_t> rows = {2, 1, 0};
    ASSERT_TRUE(segment.put(rows));
    expect_rows(segment_batch(*layout, segment.seal(), nullptr), batch, rows);
  }
  FilledSegment segment(layout);
  EXPECT_EQ(segment.filler().set_batch(make_batch({{"t", strings("z", values)}})).error().code,
            ErrorCode::kUnsupportedType);
  EXPECT_EQ(segment.filler().set_batch(make_batch({{"x", strings("u", values)}})).error().code,
            ErrorCode::kUnknownColumn);
  EXPECT_EQ(segment.filler()
                .set_batch(make_batch({{"t", strings("u", values)}, {"t2", strings("u", values)}}))
                .error()
                .code,
            ErrorCode::kUnknownColumn);
}

TEST(SegmentRows, the_destination_of_a_row_comes_along) {
  const Batch batch = arrow_test::make_batch({{"a", arrow_test::fixed<int64_t>("l", {7, 8, 9})}});
  const auto layout = layout_of(batch.schema, 1 << 14, true);
  FilledSegment segment(layout);
  EXPECT_EQ(segment.filler().set_batch(batch).error().code, ErrorCode::kInvalidArgument);
  const std::vector<uint16_t> destinations = {500, 65535, 0};
  ASSERT_TRUE(segment.filler().set_batch(batch, destinations).ok());
  const std::vector<uint32_t> rows = {2, 0};
  ASSERT_TRUE(segment.put(rows));
  ASSERT_TRUE(segment.put_run(1, 2));
  const std::byte* filled = segment.seal();
  EXPECT_THAT(segment_destinations(*layout, filled), ::testing::ElementsAre(0, 500, 65535, 0));
  EXPECT_EQ(segment_batch(*layout, filled, nullptr).columns.size(), 1U);
  std::vector<std::byte> packed(layout->segments().bytes);
  pack_segment(*layout, filled, packed.data());
  EXPECT_THAT(segment_destinations(*layout, packed.data()),
              ::testing::ElementsAre(0, 500, 65535, 0));
}

TEST(SegmentRows, a_text_that_no_segment_holds_is_named_with_its_row) {
  using namespace arrow_test;
  const std::string longest(30'000, 'x');
  const Batch batch = make_batch(
      {{"t", strings("u", {"short", longest})}, {"v", strings("vu", {"short", longest})}});
  const auto layout = layout_of(batch.schema, 1 << 16);
  ASSERT_GT(layout->text_bytes_max(), 30'000);
  ASSERT_LT(layout->text_bytes_max(), 60'000);
  FilledSegment segment(layout);
  const Status set = segment.filler().set_batch(batch);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(set.error().message, HasSubstr("row 1"));
  EXPECT_THAT(set.error().message, HasSubstr(std::to_string(layout->text_bytes_max())));
}

TEST(SegmentRows, a_null_where_the_schema_has_none_is_refused) {
  using namespace arrow_test;
  const SchemaPtr schema =
      make_schema_ptr({{.name = "a", .array = fixed<int32_t>("i", {1}), .nullable = false}});
  const auto layout = layout_of(schema);
  FilledSegment segment(layout);
  const Batch with_null = make_batch({{"a", fixed<int32_t>("i", {1, std::nullopt})}});
  const Status set = segment.filler().set_batch(with_null);
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code, ErrorCode::kMalformedArrow);
  EXPECT_THAT(set.error().message, HasSubstr("row 1"));
  EXPECT_TRUE(segment.filler().set_batch(make_batch({{"a", fixed<int32_t>("i", {1, 2})}})).ok());
}

TEST(SegmentRows, columns_without_nulls_say_so_and_bytes_of_others_stay_here) {
  using namespace arrow_test;
  const Batch batch = make_batch({{"a", fixed<int64_t>("l", {1, std::nullopt, 3})},
                                  {"t", strings("u", {"a text of 21 bytes...", "b", "c"})}});
  const auto layout = layout_of(batch.schema);
  FilledSegment segment(layout);
  ASSERT_TRUE(segment.filler().set_batch(batch).ok());
  const std::vector<uint32_t> rows = {0, 2};
  ASSERT_TRUE(segment.put(rows));
  const std::byte* filled = segment.seal();
  const Batch got = segment_batch(*layout, filled, nullptr);
  EXPECT_EQ(got.columns[0].null_count, 0);
  EXPECT_EQ(got.columns[0].validity, nullptr);
  // What the ring's memory held before is not in what leaves.
  std::vector<std::byte> packed(layout->segments().bytes, std::byte{0xEE});
  const uint64_t bytes = pack_segment(*layout, filled, packed.data());
  for (uint64_t at = sizeof(rings::SegmentHeader); at < bytes; ++at) {
    EXPECT_NE(packed[at], std::byte{0xCD}) << at;
    EXPECT_NE(packed[at], std::byte{0xEE}) << at;
  }
}

TEST(SegmentRows, a_full_segment_is_packed_as_it_is) {
  const Batch batch = arrow_test::make_batch(
      {{"a", arrow_test::fixed<uint8_t>("C", arrow_test::Optionals<uint8_t>(1000, 7))}});
  const auto layout = layout_of(batch.schema, 1024);
  FilledSegment segment(layout);
  ASSERT_TRUE(segment.filler().set_batch(batch).ok());
  const uint32_t rows = layout->segments().rows_max;
  ASSERT_GE(rows, 64U);
  ASSERT_TRUE(segment.put_run(0, rows));
  const std::byte* filled = segment.seal();
  std::vector<std::byte> packed(layout->segments().bytes);
  EXPECT_EQ(pack_segment(*layout, filled, packed.data()), layout->segments().bytes);
  EXPECT_EQ(std::memcmp(packed.data(), filled, packed.size()), 0);
  EXPECT_TRUE(check_rows(*layout, packed.data(), packed.size()).ok());
  EXPECT_EQ(check_rows(*layout, packed.data(), packed.size() - 1).error().code,
            ErrorCode::kMalformedMessage);
}

// One text of 20 bytes, packed.
class OneText : public ::testing::Test {
 protected:
  OneText() {
    const Batch batch =
        arrow_test::make_batch({{"t", arrow_test::strings("u", {"a text of 21 bytes..."})}});
    layout_ = layout_of(batch.schema);
    FilledSegment segment(layout_);
    CD_CHECK(segment.filler().set_batch(batch).ok(), "a batch");
    CD_CHECK(segment.put_run(0, 1), "room");
    packed_.resize(layout_->segments().bytes);
    packed_.resize(pack_segment(*layout_, segment.seal(), packed_.data()));
  }
  rings::SegmentHeader& header() {
    return *reinterpret_cast<rings::SegmentHeader*>(packed_.data());
  }
  uint32_t* view() { return layout_->packed(1, 32).lane<uint32_t>(packed_.data(), 0); }
  std::string refusal() {
    const Status checked = check_rows(*layout_, packed_.data(), packed_.size());
    if (checked.ok()) return "";
    EXPECT_EQ(checked.error().code, ErrorCode::kMalformedMessage);
    return checked.error().message;
  }

  std::shared_ptr<const RowLayout> layout_;
  std::vector<std::byte> packed_;
};

TEST_F(OneText, a_view_beyond_the_heap_is_refused) {
  EXPECT_EQ(refusal(), "");
  view()[3] = 20;
  EXPECT_THAT(refusal(), HasSubstr("ends behind the heap, at byte: 41"));
  view()[3] = UINT32_MAX;
  EXPECT_THAT(refusal(), HasSubstr("ends behind the heap"));
  view()[3] = 0;
  view()[0] = UINT32_MAX;
  EXPECT_THAT(refusal(), HasSubstr("ends behind the heap"));
}

TEST_F(OneText, another_heap_prefix_or_padding_is_refused) {
  view()[2] = 1;
  EXPECT_THAT(refusal(), HasSubstr("heap that is not there: 1"));
  view()[2] = 0;
  view()[1] ^= 1;
  EXPECT_THAT(refusal(), HasSubstr("does not start as its view says"));
  view()[1] ^= 1;
  view()[0] = 3;
  EXPECT_THAT(refusal(), HasSubstr("bytes behind its end"));
}

TEST_F(OneText, counts_that_do_not_fit_the_bytes_are_refused) {
  header().rows = 5;
  EXPECT_THAT(refusal(), HasSubstr("bytes"));
  header().rows = UINT32_MAX;
  EXPECT_THAT(refusal(), HasSubstr("rows"));
  header().rows = 1;
  header().heap_bytes = UINT32_MAX;
  EXPECT_THAT(refusal(), HasSubstr("heap"));
  header().heap_bytes = 32;
  header().flags = 0;
  EXPECT_THAT(refusal(), HasSubstr("bytes"));
  packed_.resize(10);
  EXPECT_THAT(refusal(), HasSubstr("bytes"));
}

}  // namespace
}  // namespace crossdock::segments
