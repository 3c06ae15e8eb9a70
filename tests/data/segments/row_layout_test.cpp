// What a layout makes of a schema.
#include "data/segments/row_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/segments/row_ring.hpp"

namespace crossdock::segments {
namespace {

using arrow_test::fixed;
using arrow_test::strings;
using ::testing::HasSubstr;

std::shared_ptr<const RowLayout> make(const arrow_test::Columns& columns,
                                      RowLayoutOptions options = {}) {
  return RowLayout::make(arrow_test::make_schema_ptr(columns), options).value();
}

TEST(RowLayout, a_segment_is_filled_and_not_larger_than_wanted) {
  arrow_test::Random random(1);
  for (int round = 0; round < 200; ++round) {
    const RowLayoutOptions options{
        .segment_bytes = 20'000 + static_cast<int64_t>(random() % 1'000'000),
        .text_bytes = static_cast<int64_t>(random() % 100),
        .has_destinations = random() % 2 == 0};
    const auto layout = make(random_row_columns(1, random), options);
    const rings::SegmentLayout& segments = layout->segments();
    EXPECT_LE(segments.bytes, static_cast<uint64_t>(options.segment_bytes));
    const bool is_at_limit = segments.rows_max == rings::RingDefaults::Word::kRowsMax;
    EXPECT_TRUE(is_at_limit || segments.bytes + 4096 > static_cast<uint64_t>(options.segment_bytes))
        << segments.bytes << " of " << options.segment_bytes;
    EXPECT_LE(layout->packed(0, 0).bytes, layout->packed(1, 0).bytes);
    EXPECT_LE(layout->packed(segments.rows_max, segments.heap_bytes).bytes, segments.bytes);
    EXPECT_EQ(layout->ring_shape(3).segment_bytes, segments.bytes);
  }
}

TEST(RowLayout, narrow_rows_make_segments_smaller_instead_of_leaving_them_empty) {
  const RowLayoutOptions large{.segment_bytes = int64_t{4} << 20};
  const arrow_test::Column byte{.name = "a", .array = fixed<int8_t>("c", {1}), .nullable = false};
  const arrow_test::Column bit{.name = "a", .array = arrow_test::bools({true}), .nullable = false};
  EXPECT_EQ(make({byte}, large)->segments().rows_max, kSegmentRowsMax);
  EXPECT_LE(make({byte}, large)->segments().bytes, kSegmentRowsMax + 4096);
  EXPECT_EQ(make({bit})->segments().rows_max, kSegmentRowsMax);
  EXPECT_LE(make({bit})->segments().bytes, kSegmentRowsMax / 8 + 4096);
  EXPECT_LT(make({byte})->segments().rows_max, kSegmentRowsMax) << "the default has room for fewer";
}

TEST(RowLayout, strings_arrive_as_views_and_dictionaries_as_their_values) {
  const auto layout = make({{"a", strings("U", {"x"})},
                            {"b", strings("z", {"x"})},
                            {.name = "c",
                             .array = arrow_test::encoded("c", {0}, fixed<int32_t>("tdD", {1})),
                             .nullable = false},
                            {.name = "d", .array = fixed<int16_t>("s", {1}), .nullable = false}},
                           {.has_destinations = true});
  const Schema& received = *layout->received_schema();
  EXPECT_EQ(type_name(received.fields[0].type), "utf8_view");
  EXPECT_EQ(type_name(received.fields[1].type), "binary_view");
  EXPECT_EQ(type_name(received.fields[2].type), "date32");
  EXPECT_TRUE(received.fields[2].nullable) << "a dictionary may hold NULLs";
  EXPECT_FALSE(received.fields[3].nullable);
  EXPECT_EQ(layout->destination_lane(), 4);
  EXPECT_EQ(layout->segments().lane_count, 5U);
}

TEST(RowLayout, limits_are_named) {
  const auto refusal = [](const arrow_test::Columns& columns, RowLayoutOptions options) {
    const auto layout = RowLayout::make(arrow_test::make_schema_ptr(columns), options);
    if (layout.ok()) return std::string("none");
    EXPECT_EQ(layout.error().code, ErrorCode::kInvalidArgument);
    return layout.error().message;
  };
  const arrow_test::Column one{"a", fixed<int64_t>("l", {1})};
  EXPECT_THAT(refusal({one}, {.segment_bytes = 300}), HasSubstr("needs 64"));
  EXPECT_THAT(refusal({one}, {.segment_bytes = -1}), HasSubstr("needs 64"));
  EXPECT_THAT(refusal({one}, {.segment_bytes = int64_t{1} << 40}), HasSubstr("at most"));
  EXPECT_THAT(refusal({{"t", strings("u", {"x"})}}, {.text_bytes = -1}), HasSubstr("-1"));
  EXPECT_THAT(refusal(arrow_test::Columns(rings::kSegmentLanesMax + 1, one), {}),
              HasSubstr("fewer columns"));
  EXPECT_THAT(
      refusal(arrow_test::Columns(rings::kSegmentLanesMax, one), {.has_destinations = true}),
      HasSubstr("and a destination"));
  EXPECT_THAT(RowLayout::make(std::make_shared<Schema>(), {}).error().message,
              HasSubstr("0 columns"));
}

}  // namespace
}  // namespace crossdock::segments
