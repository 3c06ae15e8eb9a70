// Coded columns of random bytes, and good ones with a few bytes changed: each is refused or decoded, and a good one
// gives back its values. The device's coders do the same with them, as one CPU thread.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "data/codecs/column_coder.hpp"
#include "data/codecs/device/column_decoder.hpp"
#include "data/codecs/device/column_encoder.hpp"
#include "data/codecs/device/device_columns.hpp"
#include "data/rings/cpu_ring_traits.hpp"

namespace crossdock {
namespace {

using CodedWords = std::vector<uint64_t>;

struct NoPatience {
  void restart() {}
  bool goes_on() { return false; }
};

// What a device makes of `count` values of a width.
Status decode_as_device(const CodedWords& words, uint8_t width, std::vector<std::byte>& values) {
  codecs::DecodeColumn columns[] = {
      {words.data(), words.size(), values.data(), values.size() / width, 0, width}};
  uint64_t fault = 0;
  const codecs::DecodeWork work{columns, 1, codecs::number_tiles(columns), &fault};
  codecs::CodecScratch scratch;
  const rings::SoloCoop coop;
  codecs::ColumnDecoder<rings::CpuMemory, rings::SoloCoop>(work, scratch, coop).run(0, 1);
  return codecs::fault_status(fault, columns);
}

void try_decode(const CodedWords& changed) {
  const CodedWords words(changed.begin(), changed.end());  // no byte of room behind
  const auto coded = std::as_bytes(std::span(words));
  const Result<codecs::CodedColumn> column = codecs::read_coded_column(coded);
  // A head may say more than anyone would give room for.
  constexpr int64_t kRoomMax = 1 << 20;
  if (!column.ok() || codecs::coded_values_bytes(column.value()) > kRoomMax) {
    std::vector<std::byte> one(sizeof(uint64_t));
    CD_CHECK(!decode_as_device(words, 8, one).ok(), "the device takes {} words", words.size());
    return;
  }
  std::vector<std::byte> values(static_cast<size_t>(codecs::coded_values_bytes(column.value())));
  std::vector<std::byte> on_device = values;
  codecs::ColumnCoder coder;
  const Status decoded = coder.decode(coded, values);
  CD_CHECK(decoded.ok() || decoded.error().code == ErrorCode::kMalformedMessage,
           "{}",
           decoded.error().message);
  const Status as_device = decode_as_device(words, column.value().width, on_device);
  CD_CHECK(decoded.ok() == as_device.ok(),
           "the device answers: {}",
           as_device.ok() ? "well" : as_device.error().message);
  CD_CHECK(!decoded.ok() || on_device == values, "the device decodes other values");
}

void encode_as_device(const codecs::CodecScheme& scheme,
                      const codecs::CodedValues& kind,
                      std::span<const std::byte> values,
                      const CodedWords& expected) {
  // Values lie as their type wants it.
  std::vector<uint64_t> aligned(values.size() / sizeof(uint64_t) + 1);
  std::ranges::copy(values, std::as_writable_bytes(std::span(aligned)).begin());
  const auto count = static_cast<int64_t>(values.size()) / kind.width;
  CodedWords words(static_cast<size_t>(codecs::coded_bytes_max(count, kind.width)) /
                   sizeof(uint64_t));
  codecs::EncodeColumn columns[1];
  columns[0].values = reinterpret_cast<const std::byte*>(aligned.data());
  columns[0].count = static_cast<uint64_t>(count);
  columns[0].out = words.data();
  columns[0].scheme = scheme;
  columns[0].width = static_cast<uint8_t>(kind.width);
  columns[0].is_signed = kind.is_signed;
  codecs::EncodeWork work;
  work.columns = columns;
  work.column_count = 1;
  work.tiles = codecs::number_tiles(columns);
  std::vector<uint64_t> memory(codecs::encode_work_words(1, work.tiles));
  work.words = memory.data();
  codecs::EncodeScratch scratch;
  const rings::SoloCoop coop;
  using Team = codecs::OneMember<rings::SoloCoop>;
  const Team team(coop);
  NoPatience patience;
  codecs::ColumnEncoder<rings::CpuMemory, Team>(work, scratch, team).run(patience);
  CD_CHECK(work.fault() == 0, "{}", work.fault());
  words.resize(work.coded_words(0));
  CD_CHECK(words == expected, "the device codes {} values otherwise", count);
}

CodedWords coded(const codecs::CodecScheme& scheme,
                 const codecs::CodedValues& kind,
                 std::span<const std::byte> values) {
  const auto count = static_cast<int64_t>(values.size()) / kind.width;
  CodedWords words(static_cast<size_t>(codecs::coded_bytes_max(count, kind.width)) /
                   sizeof(uint64_t));
  codecs::ColumnCoder coder;
  const int64_t bytes =
      coder.encode(scheme, kind, values, std::as_writable_bytes(std::span(words)));
  words.resize(static_cast<size_t>(bytes) / sizeof(uint64_t));
  std::vector<std::byte> decoded(values.size());
  CD_CHECK(coder.decode(std::as_bytes(std::span(words)), decoded).ok(),
           "{} values cannot be decoded",
           count);
  CD_CHECK(std::ranges::equal(decoded, values), "{} values changed", count);
  encode_as_device(scheme, kind, values, words);
  return words;
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size < 4 + sizeof(codecs::CodedColumn)) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(4);
  const codecs::CodedValues kind{1 << data[0] % 4, data[0] < 128};
  const codecs::CodecScheme scheme{static_cast<uint8_t>(data[1] % 3),
                                   static_cast<uint8_t>(data[1] / 3 % 3)};
  if (data[2] % 4 == 0) {
    CodedWords words(bytes.size() / sizeof(uint64_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
    if (data[3] % 2 == 0) {  // past the first checks
      const codecs::CodedColumn column{
          codecs::kCodedMagic, static_cast<uint8_t>(kind.width), scheme, 0, words[1] % 5000};
      std::memcpy(words.data(), &column, sizeof(column));
    }
    try_decode(words);
    return 0;
  }
  const size_t whole =
      bytes.size() / static_cast<size_t>(kind.width) * static_cast<size_t>(kind.width);
  CodedWords words = coded(scheme, kind, bytes.first(whole));
  for (int change = 0; change < data[3] % 8; ++change) {
    const auto choice = static_cast<size_t>(bytes[static_cast<size_t>(change) % bytes.size()]);
    const size_t at = (choice * 977 + data[2]) % (words.size() * sizeof(uint64_t));
    reinterpret_cast<uint8_t*>(words.data())[at] ^= static_cast<uint8_t>(1 << change);
  }
  try_decode(words);
  return 0;
}
