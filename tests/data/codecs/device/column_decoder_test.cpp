// Coded columns with something wrong in them: the block is refused with its number and the reason, and the others of
// the launch are decoded.
#include "data/codecs/device/column_decoder.hpp"

#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/codecs/device/coding_threads.hpp"
#include "data/codecs/device/device_columns.hpp"
#include "data/codecs/device/made_columns.hpp"

namespace crossdock::codecs {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kCount = 3000;

// A good column and one that `change` has made bad; the answer to both.
struct Refusal {
  Status status;
  std::vector<uint64_t> good;
  std::vector<uint64_t> bad;
};

template <class Change>
Refusal refuse(const std::vector<uint64_t>& coded, const CodingShape& shape, const Change& change) {
  std::vector<uint64_t> changed = coded;
  change(changed);
  changed.shrink_to_fit();
  Refusal answer{{}, std::vector<uint64_t>(kCount / 2), std::vector<uint64_t>(kCount / 2)};
  const auto bytes = [](std::vector<uint64_t>& words) {
    return reinterpret_cast<std::byte*>(words.data());
  };
  std::vector<DecodeColumn> columns = {
      {coded.data(), coded.size(), bytes(answer.good), kCount, 0, 4},
      {changed.data(), changed.size(), bytes(answer.bad), kCount, 0, 4}};
  uint64_t fault = 0;
  const DecodeWork work{
      columns.data(), static_cast<uint32_t>(columns.size()), number_tiles(columns), &fault};
  play_decode(work, shape);
  answer.status = fault_status(fault, columns);
  return answer;
}

struct Wrong {
  const char* what;
  void (*change)(std::vector<uint64_t>&);
  const char* where;
  const char* why;
};

constexpr Wrong kWrongs[] = {
    {"magic", [](auto& words) { words[0] ^= 1; }, "block 0 of", "head"},
    {"width", [](auto& words) { words[0] ^= uint64_t{1} << 33; }, "block 0 of", "head"},
    {"scheme", [](auto& words) { words[0] |= uint64_t{7} << 40; }, "block 0 of", "head"},
    {"values", [](auto& words) { --words[1]; }, "block 0 of", "head"},
    {"nothing", [](auto& words) { words.resize(0); }, "block 0 of", "head"},
    {"end", [](auto& words) { ++words[2]; }, "block 0 of", "another length"},
    {"end behind", [](auto& words) { words[3] = 1 << 20; }, "block 2 of", "does not end"},
    {"end before", [](auto& words) { words[2] &= UINT32_MAX; }, "block 1 of", "does not end"},
    {"word less", [](auto& words) { words.pop_back(); }, "block 2 of", "does not end"},
    {"word more", [](auto& words) { words.push_back(0); }, "block 2 of", "does not end"},
    {"bits", [](auto& words) { words[4] |= 0xFF00; }, "block 0 of", "64 bits"},
    {"bits of runs", [](auto& words) { words[4] |= 0xFF0000; }, "block 0 of", "64 bits"},
    {"runs", [](auto& words) { words[4] |= uint64_t{0xFFFF} << 32; }, "block 0 of", "more runs"},
    {"no runs", [](auto& words) { words[4] &= UINT32_MAX; }, "block 0 of", "more runs"},
    {"longer runs", [](auto& words) { ++words[7]; }, "block 0 of", "do not make"},
    {"runs of none", [](auto& words) { words[7] = 0; }, "block 0 of", "do not make"},
    {"endless runs", [](auto& words) { words[7] = UINT64_MAX; }, "block 0 of", "do not make"}};

TEST(ColumnDecoder, RefusesWhatIsNoBlockAndDecodesTheOthers) {
  const std::vector<int64_t> hard_values = hard_columns(kCount)[5].values;
  const std::vector<uint64_t> values = narrow_words(hard_values, 4);
  const std::vector<uint64_t> coded =
      reference_of({2, 1}, {4, true}, std::as_bytes(std::span(values)));
  for (const CodingShape& shape : {CodingShape{}, CodingShape{1, 3}}) {
    for (const Wrong& wrong : kWrongs) {
      const Refusal answer = refuse(coded, shape, wrong.change);
      ASSERT_FALSE(answer.status.ok()) << wrong.what;
      EXPECT_EQ(answer.status.error().code, ErrorCode::kMalformedMessage);
      EXPECT_THAT(answer.status.error().message, HasSubstr(wrong.where)) << wrong.what;
      EXPECT_THAT(answer.status.error().message, HasSubstr("column 1 of 2")) << wrong.what;
      EXPECT_THAT(answer.status.error().message, HasSubstr(wrong.why)) << wrong.what;
      EXPECT_EQ(answer.good, values) << wrong.what;
      const bool is_first = std::string_view(wrong.where) == "block 0 of";
      EXPECT_EQ(answer.bad[0], is_first ? 0 : values[0]) << wrong.what;
    }
  }
  EXPECT_TRUE(refuse(coded, {}, [](auto&) {}).status.ok());
}

// The second block's length is wrong: the first and the third have come.
TEST(ColumnDecoder, WritesTheBlocksBesideABrokenOne) {
  const std::vector<uint64_t> values = narrow_words(hard_columns(kCount)[8].values, 4);
  const std::vector<uint64_t> coded =
      reference_of({0, 0}, {4, true}, std::as_bytes(std::span(values)));
  const Refusal answer = refuse(coded, {}, [](auto& words) {
    words[4 + (words[2] & UINT32_MAX)] = 0xFF00;  // the second block's head
  });
  ASSERT_FALSE(answer.status.ok());
  EXPECT_THAT(answer.status.error().message, HasSubstr("block 1 of column 1"));
  EXPECT_EQ(answer.bad[0], values[0]);
  EXPECT_EQ(answer.bad[512], 0U);
  EXPECT_EQ(answer.bad[1024], values[1024]);
}

TEST(ColumnDecoder, FindsTheColumnOfEachTileAmongManyAndEmptyOnes) {
  std::vector<DecodeColumn> columns(1000);
  for (size_t i = 0; i < columns.size(); ++i) columns[i].count = i % 3 * 1500;
  const uint64_t tiles = number_tiles(columns);
  EXPECT_EQ(tiles, 334 * 1 + 333 * 2 + 333 * 3U);
  for (uint64_t tile = 0; tile < tiles; ++tile) {
    const DecodeColumn& column = column_of(columns.data(), 1000, tile);
    ASSERT_GE(tile, column.first_tile);
    ASSERT_LT(tile, column.first_tile + tiles_of(column));
  }
}

}  // namespace
}  // namespace crossdock::codecs
