// What decoders make of good bytes, and that they refuse bad ones.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scan/code_kernels.hpp"
#include "scan/csv_cells.hpp"
#include "scan/delta_reader.hpp"
#include "scan/lz4.hpp"
#include "scan/page_checksum.hpp"
#include "scan/run_decoder.hpp"
#include "scan/snappy.hpp"
#include "scan/thrift_reader.hpp"

namespace crossdock::scan {
namespace {

using Bytes = std::vector<uint8_t>;

std::string as_string(const Bytes& bytes) { return {bytes.begin(), bytes.end()}; }

Bytes packed(const std::vector<uint32_t>& values, int bits) {
  Bytes bytes((values.size() * static_cast<size_t>(bits) + 7) / 8);
  for (size_t i = 0; i < values.size(); ++i) {
    for (int b = 0; b < bits; ++b) {
      const size_t at = i * static_cast<size_t>(bits) + static_cast<size_t>(b);
      bytes[at / 8] = static_cast<uint8_t>(bytes[at / 8] | ((values[i] >> b) & 1) << (at % 8));
    }
  }
  return bytes;
}

TEST(RunDecoder, ReadsPackedBitsOfEveryWidthFromAnyPlace) {
  for (int bits = 1; bits <= 32; ++bits) {
    std::vector<uint32_t> values(104);
    for (size_t i = 0; i < values.size(); ++i) {
      const uint32_t mixed = static_cast<uint32_t>(i) * 2654435761U;
      values[i] = bits == 32 ? mixed : mixed & ((1U << bits) - 1);
    }
    Bytes bytes = packed(values, bits);
    bytes.insert(bytes.begin(), static_cast<uint8_t>(values.size() / 8 << 1 | 1));
    for (int64_t skipped = 0; skipped < 20; ++skipped) {
      RunDecoder decoder(bytes, bits);
      ASSERT_TRUE(decoder.skip(skipped));
      std::vector<uint32_t> decoded(values.size() - static_cast<size_t>(skipped));
      const size_t step = skipped % 2 == 0 ? 11 : values.size();  // groups one by one, and together
      for (size_t at = 0; at < decoded.size(); at += step) {
        const auto some = static_cast<int64_t>(std::min(step, decoded.size() - at));
        ASSERT_TRUE(decoder.read(some, decoded.data() + at));
      }
      EXPECT_TRUE(std::equal(decoded.begin(), decoded.end(), values.begin() + skipped)) << bits;
      uint32_t more = 0;
      EXPECT_FALSE(decoder.read(1, &more));
    }
  }
}

TEST(RunDecoder, ReadsRunsAndNothing) {
  const Bytes bytes = {10 << 1, 3, 2 << 1 | 1, 0xFF, 0x00};
  RunDecoder decoder(bytes, 1);
  std::vector<uint32_t> decoded(26);
  ASSERT_TRUE(decoder.read(26, decoded.data()));
  EXPECT_EQ(decoded[9], 3U);
  EXPECT_EQ(decoded[10], 1U);
  EXPECT_EQ(decoded[18], 0U);
  RunDecoder none({}, 4);
  EXPECT_FALSE(none.read(1, decoded.data()));
  const Bytes zeros = {8 << 1 | 1};
  RunDecoder nothing(zeros, 0);
  ASSERT_TRUE(nothing.read(20, decoded.data()));
  EXPECT_EQ(decoded[19], 0U);
}

TEST(CodeKernels, FindTheLargestCodeWhereverItStands) {
  for (size_t count = 0; count < 70; ++count) {
    std::vector<uint32_t> codes(count, 3);
    EXPECT_EQ(largest_code(codes.data(), std::ssize(codes)), count == 0 ? 0U : 3U);
    for (uint32_t& code : codes) {
      code = 0xFFFF'FFF0U;
      EXPECT_EQ(largest_code(codes.data(), std::ssize(codes)), code) << count;
      code = 3;
    }
  }
}

TEST(Snappy, CopiesOverlap) {
  const Bytes coded = {10, 2 << 2, 'a', 'b', 'c', 3 << 2 | 1, 3};  // abc, then 7 bytes from 3 back
  Bytes out(10);
  ASSERT_TRUE(snappy_decompress(coded, 10, out));
  EXPECT_EQ(as_string(out), "abcabcabca");
  EXPECT_FALSE(snappy_decompress(coded, 11, out));
  for (size_t bytes = 0; bytes < coded.size(); ++bytes) {
    EXPECT_FALSE(snappy_decompress(std::span(coded).first(bytes), 10, out)) << bytes;
  }
  const Bytes before_begin = {10, 0, 'a', 5 << 2 | 1, 2};
  EXPECT_FALSE(snappy_decompress(before_begin, 10, out));
}

TEST(Snappy, ReadsLongLiteralsAndCopies) {
  std::string text(1000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i * i % 26);
  Bytes coded = {0xD0, 0x0F, 61 << 2, 0xE7, 0x03};  // 2000 bytes; a literal of 1000
  coded.insert(coded.end(), text.begin(), text.end());
  for (int i = 0; i < 20; ++i) coded.insert(coded.end(), {49 << 2 | 2, 0xE8, 0x03});  // 50 each
  Bytes out(2000);
  ASSERT_TRUE(snappy_decompress(coded, 2000, out));
  EXPECT_EQ(as_string(out), text + text);
}

// Elements of every kind and length, and what they stand for.
struct Drawn {
  Bytes coded;
  Bytes plain;
};

void add_literal(std::mt19937& random, size_t bytes, Drawn& drawn) {
  if (bytes <= 60) {
    drawn.coded.push_back(static_cast<uint8_t>((bytes - 1) << 2));
  } else {
    drawn.coded.insert(drawn.coded.end(), {61 << 2, static_cast<uint8_t>(bytes - 1)});
    drawn.coded.push_back(static_cast<uint8_t>((bytes - 1) >> 8));
  }
  for (size_t i = 0; i < bytes; ++i) {
    drawn.plain.push_back(static_cast<uint8_t>(random()));
    drawn.coded.push_back(drawn.plain.back());
  }
}

void add_copy(std::mt19937& random, size_t offset, Drawn& drawn) {
  size_t bytes = 1 + random() % (random() % 2 == 0 ? 12 : 64);
  const uint32_t kind = 1 + random() % 3;
  if (kind == 1 && offset < 2048) {
    bytes = 4 + bytes % 8;
    drawn.coded.push_back(static_cast<uint8_t>(offset >> 8 << 5 | (bytes - 4) << 2 | 1));
    drawn.coded.push_back(static_cast<uint8_t>(offset));
  } else {
    const bool is_long = kind == 3;
    drawn.coded.push_back(static_cast<uint8_t>((bytes - 1) << 2 | (is_long ? 3 : 2)));
    for (size_t b = 0; b < (is_long ? 4U : 2U); ++b) {
      drawn.coded.push_back(static_cast<uint8_t>(offset >> (8 * b)));
    }
  }
  for (size_t i = 0; i < bytes; ++i)
    drawn.plain.push_back(drawn.plain[drawn.plain.size() - offset]);
}

// A block of elements of every kind. Some are larger than 64 KiB, behind which any offset of two bytes is right.
Drawn drawn_block(std::mt19937& random) {
  Drawn drawn;
  add_literal(random, 1 + random() % 100, drawn);
  const uint32_t elements_most = random() % 8 == 0 ? 6000 : 300;
  for (uint32_t elements = random() % elements_most; elements > 0; --elements) {
    const size_t most = random() % 2 == 0 ? 20 : 0xFFFF;
    if (random() % 3 == 0) {
      const uint32_t usual = random() % 2 == 0 ? 4 : 60;
      add_literal(random, random() % 20 == 0 ? 61 + random() % 2000 : 1 + random() % usual, drawn);
    } else {
      add_copy(random, 1 + random() % std::min(most, drawn.plain.size()), drawn);
    }
  }
  Bytes coded;
  for (size_t rest = drawn.plain.size(); rest > 0; rest >>= 7) {
    coded.push_back(static_cast<uint8_t>((rest & 0x7F) | (rest >= 0x80 ? 0x80 : 0)));
  }
  drawn.coded.insert(drawn.coded.begin(), coded.begin(), coded.end());
  return drawn;
}

TEST(Snappy, ReadsElementsOfEveryKind) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const Drawn drawn = drawn_block(random);
    const auto bytes = static_cast<uint32_t>(drawn.plain.size());
    const Bytes& coded = drawn.coded;
    Bytes out(bytes);
    ASSERT_TRUE(snappy_decompress(coded, bytes, out)) << round;
    ASSERT_EQ(out, drawn.plain) << round;
    Bytes begin(bytes / 2);  // a caller may want no more
    ASSERT_TRUE(snappy_decompress(coded, bytes, begin)) << round;
    ASSERT_TRUE(std::equal(begin.begin(), begin.end(), drawn.plain.begin())) << round;
    ASSERT_FALSE(snappy_decompress(std::span(coded).first(coded.size() - 1), bytes, out)) << round;
  }
}

// Of a block that is cut or changed: what decoding it alone says and, where it is sound, writes.
void expect_as_alone(std::span<const uint8_t> coded, bool good, const Bytes& out, int round) {
  Bytes alone(out.size());
  ASSERT_EQ(snappy_decompress(coded, std::ssize(alone), alone), good) << round;
  if (good) {
    ASSERT_EQ(out, alone) << round;
  }
}

TEST(Snappy, ReadsBlocksInTurnsAsEachAlone) {
  std::mt19937 random(6);
  for (int round = 0; round < 600; ++round) {
    const size_t count = 1 + random() % kSnappyBlocksMost;
    std::vector<Drawn> drawn;
    std::vector<Bytes> out(count);
    std::vector<SnappyBlock> blocks;
    for (size_t b = 0; b < count; ++b) drawn.push_back(drawn_block(random));
    for (size_t b = 0; b < count; ++b) {
      Bytes& coded = drawn[b].coded;
      out[b].resize(drawn[b].plain.size());
      const uint32_t fault = random() % 12;
      if (fault == 0) coded.resize(random() % coded.size());
      if (fault == 1) coded[random() % coded.size()] = static_cast<uint8_t>(random());
      if (fault == 2) out[b].resize(out[b].size() + 1);
      blocks.push_back({coded, out[b]});
    }
    const auto good = snappy_decompress(blocks);
    for (size_t b = 0; b < count; ++b) expect_as_alone(drawn[b].coded, good[b], out[b], round);
  }
  const Bytes coded = {3, 2 << 2, 'a', 'b', 'c'};
  Bytes out(3);
  const auto good = snappy_decompress(std::vector<SnappyBlock>{{{}, {}}, {coded, out}});
  EXPECT_FALSE(good[0]);
  EXPECT_TRUE(good[1]);
  EXPECT_EQ(as_string(out), "abc");
}

TEST(Snappy, RefusesCopiesFromBeforeTheBeginWhereverTheyStand) {
  for (const uint8_t back : {0, 201}) {
    Bytes coded = {0x90, 0x03, 60 << 2, 199};  // 400 bytes; a literal of 200
    coded.insert(coded.end(), 200, 'x');
    coded.insert(coded.end(), {7 << 2 | 2, back, 0});
    for (int i = 0; i < 3; ++i) coded.insert(coded.end(), {63 << 2 | 2, 8, 0});
    coded.insert(coded.end(), 100, 0);
    Bytes out(400);
    EXPECT_FALSE(snappy_decompress(coded, 400, out)) << int{back};
  }
}

TEST(Lz4, CopiesOverlap) {
  const Bytes coded = {3 << 4 | 3, 'a', 'b', 'c', 3, 0, 1 << 4, 'd'};
  Bytes out(11);
  ASSERT_TRUE(lz4_decompress(coded, out));
  EXPECT_EQ(as_string(out), "abcabcabcad");
  for (size_t bytes = 0; bytes < coded.size(); ++bytes) {
    EXPECT_FALSE(lz4_decompress(std::span(coded).first(bytes), out)) << bytes;
  }
  Bytes shorter(10);
  EXPECT_FALSE(lz4_decompress(coded, shorter));
}

TEST(Lz4, ReadsFramesOfHadoop) {
  const Bytes block = {3 << 4 | 3, 'a', 'b', 'c', 3, 0, 1 << 4, 'd'};
  Bytes framed;
  for (int frame = 0; frame < 2; ++frame) {
    framed.insert(framed.end(), {0, 0, 0, 11, 0, 0, 0, 8});
    framed.insert(framed.end(), block.begin(), block.end());
  }
  Bytes out(22);
  ASSERT_TRUE(hadoop_lz4_decompress(framed, out));
  EXPECT_EQ(as_string(out), "abcabcabcadabcabcabcad");
  for (size_t bytes = 0; bytes < framed.size(); ++bytes) {
    EXPECT_FALSE(hadoop_lz4_decompress(std::span(framed).first(bytes), out)) << bytes;
  }
  Bytes of_one(11);
  EXPECT_TRUE(hadoop_lz4_decompress(block, of_one));
  EXPECT_FALSE(hadoop_lz4_decompress(framed, of_one));
}

TEST(PageChecksum, IsThatOfGzip) {
  const std::string nine = "123456789";
  const auto* bytes = reinterpret_cast<const uint8_t*>(nine.data());
  EXPECT_EQ(page_checksum({bytes, 9}), 0xCBF43926U);  // the check value of CRC-32
  EXPECT_EQ(page_checksum({bytes, 0}), 0U);
}

TEST(CsvCells, AreThoseOfRecords) {
  const std::string text = "a,\"b,\"\"c\n\"\r\n\n\"\",d\"e\nf,g";
  const auto bytes = std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  CsvCells cells(CsvFormat(), Memory::create(int64_t{1} << 20));
  std::vector<uint32_t> signs(bytes.size() + 1);
  const CsvText whole = text_of_signs(bytes, CsvFormat(), signs.data());
  ASSERT_TRUE(cells.find(whole, 2, {1, 0}).ok());
  ASSERT_EQ(cells.fault(), nullptr);
  ASSERT_EQ(cells.rows(), 3);
  const auto value = [&](size_t column, int64_t row) {
    const CsvCell& cell = cells.cells(column)[row];
    return text.substr(cell.begin, cell.bytes());
  };
  EXPECT_EQ(value(1, 0) + "|" + value(0, 0), "a|b,\"\"c\n");
  EXPECT_TRUE(cells.cells(0)[0].is_doubled());
  EXPECT_EQ(value(1, 1) + "|" + value(0, 1), "|d\"e");
  EXPECT_EQ(value(1, 2) + "|" + value(0, 2), "f|g");
  ASSERT_TRUE(cells.find(whole, 3, {}).ok());
  ASSERT_NE(cells.fault(), nullptr);
  EXPECT_EQ(cells.fault()->values, 2);
}

TEST(DeltaReader, ReadsWhatTheFormatDescribes) {
  // 7, 5, 3, 1, 2, 3, 4, 5: differences -2 -2 -2 1 1 1 1, of which -2 is the least, in two bits each.
  Bytes coded = {0x80, 0x01, 4, 8, 14, 3, 2, 0, 0, 0};
  const Bytes differences = packed({0, 0, 0, 3, 3, 3, 3, 0}, 2);
  coded.insert(coded.end(), differences.begin(), differences.end());
  coded.resize(coded.size() + 6);
  const auto deltas = read_deltas(coded, 8);
  ASSERT_TRUE(deltas.ok());
  EXPECT_EQ(deltas.value().values, (std::vector<int64_t>{7, 5, 3, 1, 2, 3, 4, 5}));
  EXPECT_EQ(deltas.value().bytes, coded.size());
  EXPECT_FALSE(read_deltas(coded, 7).ok());
  for (size_t bytes = 0; bytes < 11; ++bytes) {
    EXPECT_FALSE(read_deltas(std::span(coded).first(bytes), 8).ok()) << bytes;
  }
}

TEST(ThriftReader, SkipsWhatNobodyReads) {
  // 1: a struct of a list of structs and a map; 2: 7.
  const Bytes bytes = {
      0x1C, 0x19, 0x2C, 0x15, 2, 0, 0, 0x1B, 1, 0x88, 1, 'k', 1, 'v', 0, 0x15, 14, 0};
  ThriftReader reader(bytes);
  int32_t value = 0;
  reader.each_field([&](int id, ThriftType type) { return id == 2 && reader.read(type, &value); });
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(value, 7);
  EXPECT_EQ(reader.position(), static_cast<int64_t>(bytes.size()));
}

TEST(ThriftReader, RefusesDepthAndLengths) {
  const Bytes deep(1000, 0x1C);
  ThriftReader nested(deep);
  nested.each_field([](int, ThriftType) { return false; });
  EXPECT_TRUE(nested.failed());
  const Bytes list = {0x19, 0xF5, 0xFF, 0xFF, 0xFF, 0x7F};
  ThriftReader long_list(list);
  long_list.each_field([](int, ThriftType) { return false; });
  EXPECT_TRUE(long_list.failed());
}

}  // namespace
}  // namespace crossdock::scan
