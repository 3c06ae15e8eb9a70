#include "expressions/string_search.hpp"

#include <algorithm>
#include <cstring>

#include "expressions/utf8.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "expressions/string_search.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace crossdock::expressions::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE size_t find_in_short(std::string_view text, std::string_view part) {
  const char* at = text.data();
  const char* const last = text.data() + (text.size() - part.size());
  for (; at <= last; ++at) {
    at = static_cast<const char*>(std::memchr(at, part[0], static_cast<size_t>(last - at) + 1));
    if (at == nullptr) return std::string_view::npos;
    if (std::memcmp(at + 1, part.data() + 1, part.size() - 1) == 0) {
      return static_cast<size_t>(at - text.data());
    }
  }
  return std::string_view::npos;
}

// Of the set bits, which are places of the first and the last byte of the part, the first where it stands.
HWY_INLINE size_t first_of(uint64_t hits, const char* begin, std::string_view part) {
  for (; hits != 0; hits &= hits - 1) {
    const auto place = static_cast<size_t>(__builtin_ctzll(hits));
    if (std::memcmp(begin + place + 1, part.data() + 1, part.size() - 2) == 0) return place;
  }
  return std::string_view::npos;
}

template <class D>
HWY_INLINE uint64_t bits_where(D lanes, const char* from, hn::Vec<D> byte) {
  uint8_t bits[8] = {};
  const auto* at = reinterpret_cast<const uint8_t*>(from);
  hn::StoreMaskBits(lanes, hn::Eq(hn::LoadU(lanes, at), byte), bits);
  uint64_t word;
  std::memcpy(&word, bits, sizeof(word));
  return word;
}

HWY_INLINE size_t find_in(std::string_view text, std::string_view part) {
  if (part.empty()) return 0;
  if (text.size() < part.size()) return std::string_view::npos;
  const hn::CappedTag<uint8_t, 16> lanes;
  const size_t width = hn::Lanes(lanes);
  const size_t places = text.size() - part.size() + 1;
  if (part.size() == 1 || text.size() < width) return find_in_short(text, part);
  const char* const begin = text.data();
  const auto first = hn::Set(lanes, static_cast<uint8_t>(part.front()));
  const auto last = hn::Set(lanes, static_cast<uint8_t>(part.back()));
  if (places < width) {
    // The last bytes are looked for among those that end the text: their bits move to the places that they belong to.
    if (part.size() > width) return find_in_short(text, part);
    const uint64_t firsts = bits_where(lanes, begin, first) & ((uint64_t{1} << places) - 1);
    const uint64_t ends = bits_where(lanes, text.data() + text.size() - width, last);
    const size_t ahead = part.size() - 1;
    const size_t before = text.size() - width;
    const uint64_t lasts = before >= ahead ? ends << (before - ahead) : ends >> (ahead - before);
    return first_of(firsts & lasts, begin, part);
  }
  for (size_t at = 0; at < places; at += width) {
    // The last places are looked at with some of those before them.
    at = std::min(at, places - width);
    const uint64_t hits = bits_where(lanes, begin + at, first) &
                          bits_where(lanes, begin + at + part.size() - 1, last);
    const size_t place = first_of(hits, begin + at, part);
    if (place != std::string_view::npos) return at + place;
  }
  return std::string_view::npos;
}

size_t find_string(std::string_view text, std::string_view part) { return find_in(text, part); }

void have_part(const std::string_view* strings,
               const uint8_t* valid,
               int32_t count,
               std::string_view part,
               uint8_t* out) {
  for (int32_t i = 0; i < count; ++i) {
    const bool is_valid = valid == nullptr || valid[i] != 0;
    out[i] = is_valid && find_in(strings[i], part) != std::string_view::npos ? 1 : 0;
  }
}

}  // namespace crossdock::expressions::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace crossdock::expressions {

HWY_EXPORT(find_string);

size_t find_string(std::string_view text, std::string_view part) {
  return HWY_DYNAMIC_DISPATCH(find_string)(text, part);
}

HWY_EXPORT(have_part);

void have_part(const std::string_view* strings,
               const uint8_t* valid,
               int32_t count,
               std::string_view part,
               uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(have_part)(strings, valid, count, part, out);
}

StringPattern StringPattern::like(std::string_view pattern) {
  StringPattern compiled;
  Piece piece;
  bool open = true;  // the next byte of the pattern begins a run
  const auto add_byte = [&](char byte) {
    if (open) piece.runs.push_back({0, ""});
    open = false;
    piece.runs.back().bytes += byte;
    piece.characters += is_continuation(byte) ? 0 : 1;
  };
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%') {
      if (i == 0) compiled.begins_open_ = true;
      compiled.end_piece(std::move(piece));
      piece = {};
      open = true;
      compiled.ends_open_ = true;
      continue;
    }
    compiled.ends_open_ = false;
    if (pattern[i] == '_') {
      if (open || !piece.runs.back().bytes.empty()) piece.runs.push_back({0, ""});
      open = false;
      ++piece.runs.back().skipped;
      ++piece.characters;
    } else if (pattern[i] != '\\') {
      add_byte(pattern[i]);
    } else if (i + 1 < pattern.size()) {
      add_byte(pattern[++i]);
    }
  }
  compiled.end_piece(std::move(piece));
  return compiled;
}

void StringPattern::end_piece(Piece&& piece) {
  if (piece.runs.size() == 1 && piece.runs[0].skipped == 0 && piece.runs[0].bytes.empty()) return;
  if (!piece.runs.empty()) pieces_.push_back(std::move(piece));
}

const char* StringPattern::match_at(const Piece& piece, const char* at, const char* end) {
  for (const Run& run : piece.runs) {
    for (int32_t i = 0; i < run.skipped; ++i) {
      if (at == end) return nullptr;
      at = next_character(at, end);
    }
    if (static_cast<size_t>(end - at) < run.bytes.size()) return nullptr;
    if (std::memcmp(at, run.bytes.data(), run.bytes.size()) != 0) return nullptr;
    at += run.bytes.size();
  }
  return at;
}

const char* StringPattern::find_piece(const Piece& piece, const char* at, const char* end) {
  const Run& first = piece.runs[0];
  const bool begins_with_bytes = first.skipped == 0;
  while (true) {
    if (begins_with_bytes) {
      const size_t place = find_string({at, static_cast<size_t>(end - at)}, first.bytes);
      if (place == std::string_view::npos) return nullptr;
      at += place;
      if (piece.runs.size() == 1) return at + first.bytes.size();
    }
    if (const char* behind = match_at(piece, at, end)) return behind;
    if (at == end) return nullptr;
    at = next_character(at, end);
  }
}

bool StringPattern::match_last(const Piece& piece, const char* at, const char* end) const {
  if (piece.runs.size() == 1 && piece.runs[0].skipped == 0) {
    const std::string& bytes = piece.runs[0].bytes;
    return static_cast<size_t>(end - at) >= bytes.size() &&
           std::memcmp(end - bytes.size(), bytes.data(), bytes.size()) == 0;
  }
  const char* begin = end;
  for (int32_t i = 0; i < piece.characters; ++i) {
    if (begin == at) return false;
    begin = previous_character(begin, at);
  }
  return match_at(piece, begin, end) == end;
}

bool StringPattern::matches(std::string_view text) const {
  const char* at = text.data();
  const char* const end = at + text.size();
  size_t first = 0;
  size_t last = pieces_.size();
  if (last == 0) return begins_open_ || ends_open_ || text.empty();
  if (!begins_open_) {
    at = match_at(pieces_[first++], at, end);
    if (at == nullptr) return false;
    if (first == last) return ends_open_ || at == end;
  }
  if (!ends_open_) --last;
  for (; first < last; ++first) {
    at = find_piece(pieces_[first], at, end);
    if (at == nullptr) return false;
  }
  return ends_open_ || match_last(pieces_[last], at, end);
}

}  // namespace crossdock::expressions
#endif
