#include "scan/csv_signs.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "scan/csv_signs.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::scan::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

CsvSigns find_csv_signs(std::span<const uint8_t> text, char delimiter, char quote, uint32_t* out) {
  const hn::CappedTag<uint8_t, 64> lanes;
  const size_t width = hn::Lanes(lanes);
  const auto delimiters = hn::Set(lanes, static_cast<uint8_t>(delimiter));
  const auto quotes = hn::Set(lanes, static_cast<uint8_t>(quote));
  const auto line_ends = hn::Set(lanes, uint8_t{'\n'});
  auto all = hn::Zero(lanes);
  auto any_quote = hn::Zero(lanes);
  CsvSigns result;
  size_t at = 0;
  for (; at + width <= text.size(); at += width) {
    const auto bytes = hn::LoadU(lanes, text.data() + at);
    all = hn::Or(all, bytes);
    const auto ends = hn::Eq(bytes, line_ends);
    const auto of_quotes = hn::Eq(bytes, quotes);
    any_quote = hn::Or(any_quote, hn::VecFromMask(lanes, of_quotes));
    const auto signs = hn::Or(ends, hn::Or(hn::Eq(bytes, delimiters), of_quotes));
    uint8_t bits[8] = {};
    hn::StoreMaskBits(lanes, signs, bits);
    uint64_t hits = 0;
    std::memcpy(&hits, bits, sizeof(hits));
    result.lines += hn::CountTrue(lanes, ends);
    for (; hits != 0; hits &= hits - 1) {
      out[result.count++] =
          static_cast<uint32_t>(at) + static_cast<uint32_t>(__builtin_ctzll(hits));
    }
  }
  const auto high_bits = hn::And(all, hn::Set(lanes, uint8_t{0x80}));
  result.is_ascii = hn::AllTrue(lanes, hn::Eq(high_bits, hn::Zero(lanes)));
  result.has_quotes = !hn::AllTrue(lanes, hn::Eq(any_quote, hn::Zero(lanes)));
  for (; at < text.size(); ++at) {
    const auto byte = static_cast<char>(text[at]);
    result.is_ascii = result.is_ascii && text[at] < 0x80;
    result.lines += byte == '\n' ? 1 : 0;
    result.has_quotes = result.has_quotes || byte == quote;
    if (byte == delimiter || byte == quote || byte == '\n') {
      out[result.count++] = static_cast<uint32_t>(at);
    }
  }
  result.has_quotes = result.has_quotes && quote != delimiter;
  return result;
}

}  // namespace crossdock::scan::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::scan {

HWY_EXPORT(find_csv_signs);

bool walk_csv_signs(CsvBytes bytes, std::span<uint32_t> signs, uint32_t target, CsvWalk& walk) {
  const auto quote = static_cast<uint8_t>(bytes.quote);
  const size_t count = signs.size();
  size_t read = walk.read;
  size_t kept = walk.kept;
  uint32_t value = walk.value;
  bool is_done = false;
  while (read < count && !is_done) {
    const uint32_t at = signs[read];
    const uint8_t byte = bytes.data[at];
    if (walk.is_quoted) {
      if (byte != quote) {
        ++read;
        continue;
      }
      if (at + 1 == bytes.count && !bytes.all) break;  // what follows tells
      const bool is_doubled =
          read + 1 < count && signs[read + 1] == at + 1 && bytes.data[at + 1] == quote;
      walk.has_doubled = walk.has_doubled || is_doubled;
      walk.is_quoted = is_doubled;
      read += is_doubled ? 2 : 1;
      continue;
    }
    ++read;
    if (byte == quote) {
      walk.is_quoted = at == value;  // else it is one within a value
      continue;
    }
    signs[kept++] = at;
    value = at + 1;
    if (byte == '\n') {
      ++walk.lines;
      walk.record = value;
      is_done = value >= target;
    }
  }
  walk.read = read;
  walk.kept = kept;
  walk.value = value;
  return is_done;
}

CsvSigns find_csv_signs(std::span<const uint8_t> text, char delimiter, char quote, uint32_t* out) {
  return HWY_DYNAMIC_DISPATCH(find_csv_signs)(text, delimiter, quote, out);
}

}  // namespace crossdock::scan
#endif  // HWY_ONCE
