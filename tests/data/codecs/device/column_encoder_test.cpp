// Coded columns of device code against those of the CPU's coder, byte by byte, and back again: every width, sign and
// scheme, by one thread, by groups, and by groups that look back at each other.
#include "data/codecs/device/column_encoder.hpp"

#include <algorithm>
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/codecs/device/coding_threads.hpp"
#include "data/codecs/device/device_columns.hpp"
#include "data/codecs/device/made_columns.hpp"

namespace crossdock::codecs {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kCanary = 0xABABABABABABABAB;

// One column of a launch, there and back.
struct Trip {
  std::string name;
  CodedValues kind;
  CodecScheme scheme;
  uint64_t count = 0;
  std::vector<uint64_t> values;
  std::vector<uint64_t> coded;  // a word more than a coder may need
  std::vector<uint64_t> decoded;

  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(values)).first(count * static_cast<size_t>(kind.width));
  }
};

Trip trip_of(const HardColumn& column, const CodedValues& kind, const CodecScheme& scheme) {
  Trip trip{column.name,
            kind,
            scheme,
            column.values.size(),
            narrow_words(column.values, kind.width),
            {},
            {}};
  const auto words = coded_bytes_max(static_cast<int64_t>(trip.count), kind.width) / 8;
  trip.coded.assign(static_cast<size_t>(words) + 1, kCanary);
  trip.decoded.assign(trip.values.size() + 1, kCanary);
  return trip;
}

EncodeColumn encode_column(Trip& trip) {
  EncodeColumn column;
  column.values = reinterpret_cast<const std::byte*>(trip.values.data());
  column.count = trip.count;
  column.out = trip.coded.data();
  column.scheme = trip.scheme;
  column.width = static_cast<uint8_t>(trip.kind.width);
  column.is_signed = trip.kind.is_signed;
  return column;
}

// All columns in one launch, each as the reference has it and back in another.
void travel(std::deque<Trip>& trips, const CodingShape& shape) {
  std::vector<EncodeColumn> columns;
  for (Trip& trip : trips) columns.push_back(encode_column(trip));
  EncodeWork work;
  work.columns = columns.data();
  work.column_count = static_cast<uint32_t>(columns.size());
  work.tiles = number_tiles(columns);
  std::vector<uint64_t> words(encode_work_words(columns.size(), work.tiles));
  work.words = words.data();
  play_encode(work, shape);
  ASSERT_TRUE(fault_status(work.fault(), columns).ok());
  std::vector<DecodeColumn> back;
  for (size_t i = 0; i < trips.size(); ++i) {
    Trip& trip = trips[i];
    const std::vector<uint64_t> expected = reference_of(trip.scheme, trip.kind, trip.bytes());
    ASSERT_EQ(work.coded_words(i), expected.size()) << trip.name;
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), trip.coded.begin()))
        << trip.name << " " << trip.count << " x " << trip.kind.width << ", " << trip.kind.is_signed
        << ", " << int{trip.scheme.runs} << " " << int{trip.scheme.deltas};
    ASSERT_EQ(trip.coded.back(), kCanary);
    back.push_back({trip.coded.data(),
                    expected.size(),
                    reinterpret_cast<std::byte*>(trip.decoded.data()),
                    trip.count,
                    0,
                    static_cast<uint8_t>(trip.kind.width)});
  }
  uint64_t fault = 0;
  const DecodeWork decode{
      back.data(), static_cast<uint32_t>(back.size()), number_tiles(back), &fault};
  play_decode(decode, shape);
  const Status decoded = fault_status(fault, back);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  for (const Trip& trip : trips) {
    const auto decoded_bytes = std::as_bytes(std::span(trip.decoded)).first(trip.bytes().size());
    ASSERT_TRUE(std::ranges::equal(decoded_bytes, trip.bytes())) << trip.name << " " << trip.count;
    ASSERT_EQ(trip.decoded.back(), kCanary);
  }
}

std::deque<Trip> trips_of(int64_t count, const std::vector<CodecScheme>& schemes) {
  std::deque<Trip> trips;
  for (const HardColumn& column : hard_columns(count)) {
    for (const int width : {1, 2, 4, 8}) {
      for (const CodecScheme& scheme : schemes) {
        for (const bool is_signed : {true, false})
          trips.push_back(trip_of(column, {width, is_signed}, scheme));
      }
    }
  }
  return trips;
}

TEST(ColumnEncoder, WritesTheBytesOfTheReferenceForEveryColumnInEveryScheme) {
  for (const int64_t count : {0, 1, 2, 255, 256, 257, 1023, 1024, 1025, 3000}) {
    std::deque<Trip> trips = trips_of(count, every_scheme());
    travel(trips, {});
    if (HasFatalFailure()) return;
  }
}

TEST(ColumnEncoder, WritesTheSameByGroupsOfAsManyThreadsAsAKernelHas) {
  std::deque<Trip> trips;
  for (const HardColumn& column : hard_columns(kBlockValues)) {
    if (column.name == "lines of orders" || column.name == "runs of runs")
      trips.push_back(trip_of(column, {8, true}, {2, 2}));
  }
  travel(trips, {1, kCodecThreadsMax});
}

TEST(ColumnEncoder, ConcurrentTeamsEncodeBlocksOfATileAtOnce) {
  for (const int64_t count : {0, 1, 1024, 1025, 3 * 1024 + 5, 4096, 4097, 9000}) {
    std::deque<Trip> trips;
    for (const HardColumn& column : hard_columns(count)) {
      trips.push_back(trip_of(column, {8, true}, {2, 1}));
      trips.push_back(trip_of(column, {2, false}, {1, 1}));
    }
    travel(trips, {2, 1, true});
    if (count == 9000) travel(trips, {1, 3, true});
    if (HasFatalFailure()) return;
  }
}

TEST(ColumnEncoder, ConcurrentGroupsPlaceWhatTheyWriteByWhatOthersTell) {
  for (const auto& [shape, count] : {std::pair(CodingShape{1, 7}, 1100),
                                     std::pair(CodingShape{2, 3}, 5000),
                                     std::pair(CodingShape{4, 1}, 20'000)}) {
    std::deque<Trip> trips;
    for (const HardColumn& column : hard_columns(count)) {
      trips.push_back(trip_of(column, {8, true}, {1, 1}));
      if (column.name == "any") trips.push_back(trip_of(column, {1, false}, {2, 1}));
    }
    for (const HardColumn& column : hard_columns(100))  // partitions of a few rows between them
      trips.insert(trips.begin() + 3, trip_of(column, {4, true}, {0, 1}));
    travel(trips, shape);
    if (HasFatalFailure()) return;
  }
}

// As if the block that claimed the first tile had gone.
TEST(ColumnEncoder, EndsWithAnErrorWhenATileIsNeverMeasured) {
  Trip trip = trip_of(hard_columns(5000)[0], {8, true}, {0, 0});
  std::vector<EncodeColumn> columns = {encode_column(trip)};
  EncodeWork work;
  work.columns = columns.data();
  work.column_count = 1;
  work.tiles = number_tiles(columns);
  std::vector<uint64_t> words(encode_work_words(1, work.tiles));
  work.words = words.data();
  work.ticket() = 1;
  play_encode(work, {}, {.limit = 10});
  const Status status = fault_status(work.fault(), columns);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  EXPECT_THAT(status.error().message, HasSubstr("block 4 of column 0 of 1"));
  EXPECT_THAT(status.error().message, HasSubstr("never measured"));
  const Status of_first = fault_status(fault_word(0, CodecFault::kStuck), columns);
  EXPECT_THAT(of_first.error().message, HasSubstr("blocks 0 to 3 of column 0 of 1"));
  EXPECT_EQ(work.coded_words(0), 0U);
  EXPECT_EQ(trip.coded[4], kCanary) << "nothing was written";
}

}  // namespace
}  // namespace crossdock::codecs
