// Columns of every width through every scheme and back, and coded columns that are none.
#include "data/codecs/column_coder.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::codecs {
namespace {

using Words = std::vector<uint64_t>;

std::vector<CodecScheme> all_schemes() {
  std::vector<CodecScheme> schemes;
  for (uint8_t runs = 0; runs <= kRunLevelsMax; ++runs) {
    for (uint8_t deltas = 0; deltas <= kDeltaLevelsMax; ++deltas) schemes.push_back({runs, deltas});
  }
  return schemes;
}

// Columns that schemes are made for, and some that they are not.
struct NamedColumn {
  std::string name;
  std::vector<int64_t> values;
};

std::vector<NamedColumn> made_columns(int64_t count) {
  std::mt19937_64 random(static_cast<uint64_t>(count));
  std::vector<NamedColumn> all = {{"equal", {}},
                                  {"ascending", {}},
                                  {"runs", {}},
                                  {"steps", {}},
                                  {"small", {}},
                                  {"any", {}},
                                  {"ends", {}}};
  int64_t run = 0, step = 1000;
  for (int64_t i = 0; i < count; ++i) {
    if (random() % 4 == 0) run += static_cast<int64_t>(random() % 30) - 3;
    step += i % 8 == 7 ? 25 : 1;
    const int64_t values[] = {42,
                              3 * i - 1000,
                              run,
                              step,
                              static_cast<int64_t>(random() % 1000) - 500,
                              static_cast<int64_t>(random()),
                              random() % 2 == 0 ? INT64_MIN : INT64_MAX};
    for (size_t k = 0; k < all.size(); ++k) all[k].values.push_back(values[k]);
  }
  return all;
}

std::vector<std::byte> narrowed(const std::vector<int64_t>& values, int width) {
  std::vector<std::byte> bytes(values.size() * static_cast<size_t>(width));
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(
        bytes.data() + i * static_cast<size_t>(width), &values[i], static_cast<size_t>(width));
  }
  return bytes;
}

Words coded(const CodecScheme& scheme,
            const CodedValues& kind,
            const std::vector<std::byte>& values) {
  const auto count = static_cast<int64_t>(values.size()) / kind.width;
  const int64_t most = coded_bytes_max(count, kind.width);
  Words room(static_cast<size_t>(most) / 8 + 1, 0xABABABABABABABAB);
  ColumnCoder coder;
  const int64_t bytes = coder.encode(
      scheme, kind, values, std::as_writable_bytes(std::span(room).first(room.size() - 1)));
  EXPECT_LE(bytes, most);
  EXPECT_EQ(bytes % 8, 0);
  EXPECT_EQ(room.back(), 0xABABABABABABABAB);
  room.resize(static_cast<size_t>(bytes) / 8);
  return room;
}

Status decode(const Words& words, std::vector<std::byte>& values) {
  ColumnCoder coder;
  return coder.decode(std::as_bytes(std::span(words)), values);
}

TEST(ColumnCoder, GivesBackEveryColumnInEveryScheme) {
  for (const int64_t count : {0, 1, 2, 255, 1024, 1025, 5000}) {
    for (const NamedColumn& column : made_columns(count)) {
      for (const int width : {1, 2, 4, 8}) {
        const std::vector<std::byte> values = narrowed(column.values, width);
        for (const bool is_signed : {true, false}) {
          for (const CodecScheme& scheme : all_schemes()) {
            const Words words = coded(scheme, {width, is_signed}, values);
            std::vector<std::byte> decoded_bytes(values.size(), std::byte{0x55});
            const Status decoded = decode(words, decoded_bytes);
            ASSERT_TRUE(decoded.ok()) << decoded.error().message;
            ASSERT_EQ(decoded_bytes, values)
                << column.name << " " << count << " x " << width << ", " << int{scheme.runs} << " "
                << int{scheme.deltas};
          }
        }
      }
    }
  }
}

TEST(ColumnCoder, TakesTheBytesThatTheLevelsLeave) {
  const auto bytes = [](const std::string& name, const CodecScheme& scheme) {
    for (const NamedColumn& column : made_columns(kBlockValues)) {
      if (column.name == name)
        return static_cast<int64_t>(coded(scheme, {}, narrowed(column.values, 8)).size()) * 8;
    }
    return int64_t{0};
  };
  constexpr int64_t kFixed = 16 + 8;  // the column's head, and the end of its block
  EXPECT_EQ(bytes("equal", {0, 0}), kFixed + 16);
  EXPECT_EQ(bytes("ascending", {0, 1}), kFixed + 24);             // a first value, and one step
  EXPECT_EQ(bytes("ascending", {0, 0}), kFixed + 16 + 12 * 128);  // 3 * 1023 has 12 bits
  EXPECT_EQ(bytes("small", {0, 0}), kFixed + 16 + 10 * 128);
  EXPECT_EQ(bytes("any", {0, 0}), kFixed + 8 + 8192);  // plain: it would grow
  EXPECT_LT(bytes("steps", {2, 1}), bytes("steps", {0, 1}));
  EXPECT_LT(bytes("runs", {1, 1}), bytes("runs", {0, 1}));
}

TEST(ColumnCoder, RefusesWhatIsNoColumn) {
  const std::vector<std::byte> values = narrowed(made_columns(3000)[2].values, 4);
  const Words good = coded({2, 1}, {4, true}, values);
  std::vector<std::byte> decoded_bytes(values.size());
  ASSERT_TRUE(decode(good, decoded_bytes).ok());
  const auto refused = [&](Words words, const std::string& part) {
    const Status decoded = decode(words, decoded_bytes);
    ASSERT_FALSE(decoded.ok()) << part;
    EXPECT_EQ(decoded.error().code, ErrorCode::kMalformedMessage);
    EXPECT_NE(decoded.error().message.find(part), std::string::npos) << decoded.error().message;
  };
  refused({}, "0 bytes");
  refused({1, 2, 3}, "begins with");
  Words wrong = good;
  wrong[0] ^= uint64_t{1} << 33;  // the width
  refused(wrong, "values of 6 bytes");
  wrong = good;
  wrong[1] = uint64_t{1} << 60;
  refused(wrong, "cannot have");
  wrong = good;
  wrong[1] -= 1;
  refused(wrong, "there is room for");
  wrong = good;
  wrong.pop_back();
  refused(wrong, "ends at word");
  wrong = good;
  wrong.push_back(0);
  refused(wrong, "follow");
  wrong = good;
  wrong[2] += 1;  // where the first block ends
  refused(wrong, "its head says");
  wrong = good;
  wrong[4] |= 0xFF00;  // bits of a value
  refused(wrong, "bits of a value");
  wrong = good;
  wrong[4] += uint64_t{1} << 32;  // a run more
  EXPECT_FALSE(decode(wrong, decoded_bytes).ok());
  decoded_bytes.pop_back();
  refused(good, "there is room for");
}

}  // namespace
}  // namespace crossdock::codecs
