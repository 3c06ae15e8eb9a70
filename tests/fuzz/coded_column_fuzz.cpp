// Coded columns of random bytes, and good ones with a few bytes changed: each is refused or decoded, and a good one
// gives back its values.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "data/codecs/column_coder.hpp"

namespace crossdock {
namespace {

using CodedWords = std::vector<uint64_t>;

void try_decode(const CodedWords& words) {
  const auto coded = std::as_bytes(std::span(words));
  const Result<CodedColumn> column = read_coded_column(coded);
  // A head may say more than anyone would give room for.
  constexpr int64_t kRoomMax = 1 << 20;
  if (!column.ok() || coded_values_bytes(column.value()) > kRoomMax) return;
  std::vector<std::byte> values(static_cast<size_t>(coded_values_bytes(column.value())));
  ColumnCoder coder;
  const Status decoded = coder.decode(coded, values);
  CD_CHECK(decoded.ok() || decoded.error().code == ErrorCode::kMalformedMessage,
           "{}",
           decoded.error().message);
}

CodedWords coded(const CodecScheme& scheme,
                 const CodedValues& kind,
                 std::span<const std::byte> values) {
  const auto count = static_cast<int64_t>(values.size()) / kind.width;
  CodedWords words(static_cast<size_t>(coded_bytes_max(count, kind.width)) / sizeof(uint64_t));
  ColumnCoder coder;
  const int64_t bytes =
      coder.encode(scheme, kind, values, std::as_writable_bytes(std::span(words)));
  words.resize(static_cast<size_t>(bytes) / sizeof(uint64_t));
  std::vector<std::byte> found(values.size());
  CD_CHECK(coder.decode(std::as_bytes(std::span(words)), found).ok(),
           "{} values cannot be decoded",
           count);
  CD_CHECK(std::ranges::equal(found, values), "{} values changed", count);
  return words;
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size < 4 + sizeof(CodedColumn)) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(4);
  const CodedValues kind{1 << data[0] % 4, data[0] < 128};
  const CodecScheme scheme{static_cast<uint8_t>(data[1] % 3),
                           static_cast<uint8_t>(data[1] / 3 % 3)};
  if (data[2] % 4 == 0) {
    CodedWords words(bytes.size() / sizeof(uint64_t));
    std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
    if (data[3] % 2 == 0) {  // past the first checks
      const CodedColumn column{
          kCodedMagic, static_cast<uint8_t>(kind.width), scheme, 0, words[1] % 5000};
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
