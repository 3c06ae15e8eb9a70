// Functions of strings by regular expressions, by separators, and by code points; and numbers that strings have.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>

#include "expressions/letter_case.hpp"
#include "expressions/regular_expression.hpp"
#include "expressions/string_arena.hpp"
#include "expressions/string_rows.hpp"
#include "expressions/string_search.hpp"
#include "expressions/utf8.hpp"

namespace crossdock::expressions::steps {
namespace {

void replace_matches(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  const std::string_view by = step.expression->values[1].text;
  const bool all = step.expression->arguments[1]->values[0].integer != 0;
  std::string changed;
  map_costly_strings(frame, index, [&](std::string_view string) {
    changed.assign(string);
    if (!step.regular->replace(by, all, &changed)) return string;
    return frame.strings->put(changed.size(), [&](char* to) {
      changed.copy(to, changed.size());
      return changed.size();
    });
  });
}

void extract_groups(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  const auto group = static_cast<int32_t>(step.expression->arguments[1]->values[0].integer);
  map_costly_strings(
      frame, index, [&](std::string_view string) { return step.regular->group(string, group); });
}

void reverse_strings(const Frame& frame, int32_t index) {
  map_strings(frame, index, [&](std::string_view string) {
    return frame.strings->put(string.size(), [&](char* to) {
      const char* const begin = string.data();
      for (const char* end = begin + string.size(); end > begin;) {
        uint64_t word = 0;
        if (end - begin >= 8 && load_ascii(end - 8, end, word)) {
          word = __builtin_bswap64(word);
          std::memcpy(to, &word, sizeof(word));
          to += sizeof(word);
          end -= sizeof(word);
          continue;
        }
        const char* const last = previous_character(end, begin);
        to = std::copy(last, end, to);
        end = last;
      }
      return string.size();
    });
  });
}

void repeat_strings(const Frame& frame, int32_t index) {
  const std::string_view* strings = known_strings(frame, frame.step(index).arguments[0]);
  const uint64_t* counts = frame.argument(index, 1).low;
  constexpr int64_t kMostTimes = StringArena::kMaxBytes + 1;  // more is an error anyway
  make_rows(frame, index, [&](int32_t i) {
    const std::string_view string = strings[i];
    const auto times = std::clamp<int64_t>(static_cast<int64_t>(counts[i]), 0, kMostTimes);
    if (string.empty() || times == 0) return std::string_view();
    const size_t bytes = string.size() * static_cast<size_t>(times);
    return frame.strings->put(bytes, [&](char* to) {
      for (int64_t k = 0; k < times; ++k) to = std::copy(string.begin(), string.end(), to);
      return bytes;
    });
  });
}

// The part number `number` >= 1; empty: there are fewer. Without a separator, parts are characters.
std::string_view part_of(std::string_view string, std::string_view separator, int64_t number) {
  const char* const end = string.data() + string.size();
  if (separator.empty()) {
    const char* const at = skip_characters(string.data(), end, number - 1);
    return at == end ? std::string_view() : between(at, next_character(at, end));
  }
  for (;; --number) {
    const size_t separator_at = find_string(string, separator);
    if (number == 1) return string.substr(0, separator_at);
    if (separator_at == std::string_view::npos) return {};
    string.remove_prefix(separator_at + separator.size());
  }
}

int64_t count_parts(std::string_view string, std::string_view separator) {
  if (separator.empty()) return count_characters(string);
  int64_t count = 1;
  for (size_t at = find_string(string, separator); at != std::string_view::npos; ++count) {
    string.remove_prefix(at + separator.size());
    at = find_string(string, separator);
  }
  return count;
}

void split_strings(const Frame& frame, int32_t index) {
  const std::string_view* strings = known_strings(frame, frame.step(index).arguments[0]);
  const std::string_view* separators = known_strings(frame, frame.step(index).arguments[1]);
  const uint64_t* places = frame.argument(index, 2).low;
  make_rows(frame, index, [&](int32_t i) {
    auto number = static_cast<int64_t>(places[i]);
    if (number < 0) number += count_parts(strings[i], separators[i]) + 1;
    return number < 1 ? std::string_view() : part_of(strings[i], separators[i], number);
  });
}

// Whether a character is a part of a word: what is not ASCII is taken for a letter.
bool is_of_word(std::string_view character) {
  const auto byte = static_cast<uint8_t>(character[0]);
  return byte >= 0x80 || (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z');
}

size_t write_capitalised(std::string_view string, char* to) {
  char* const begin = to;
  bool in_word = false;
  const char* const end = string.data() + string.size();
  for (const char* at = string.data(); at < end;) {
    const std::string_view character = between(at, next_character(at, end));
    const bool is_letter = is_of_word(character);
    const bool is_first = is_letter && !in_word;
    to += write_in_case(is_first ? LetterCase::kUpper : LetterCase::kLower, character, to);
    in_word = is_letter;
    at += character.size();
  }
  return static_cast<size_t>(to - begin);
}

void capitalise_strings(const Frame& frame, int32_t index) {
  map_strings(frame, index, [&](std::string_view string) {
    return frame.strings->put(most_bytes_in_case(string.size()),
                              [&](char* to) { return write_capitalised(string, to); });
  });
}

bool is_code_point(int64_t value) {
  const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  return value >= 0 && value <= 0x10FFFF && !is_surrogate;
}

void make_characters(const Frame& frame, int32_t index) {
  constexpr size_t kMostBytes = 4;
  Value& out = frame.values[index];
  const uint64_t* points = frame.argument(index, 0).low;
  make_rows(frame, index, [&](int32_t i) {
    const auto point = static_cast<int64_t>(points[i]);
    if (!is_code_point(point)) {
      frame.poison(index, out, i);
      return std::string_view();
    }
    return frame.strings->put(kMostBytes, [&](char* to) {
      return static_cast<size_t>(put_code_point(static_cast<uint32_t>(point), to) - to);
    });
  });
}

void make_hexadecimals(const Frame& frame, int32_t index) {
  constexpr size_t kMostDigits = 16;
  const Value& a = frame.argument(index, 0);
  make_rows(frame, index, [&](int32_t i) {
    return frame.strings->put(kMostDigits, [&](char* to) {
      char* const end = std::to_chars(to, to + kMostDigits, a.low[i], 16).ptr;
      std::transform(to, end, to, [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
      return static_cast<size_t>(end - to);
    });
  });
}

void make_further_strings(const Frame& frame, int32_t index) {
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kReplaceMatches:
      return replace_matches(frame, index);
    case ExpressionOp::kExtract:
      return extract_groups(frame, index);
    case ExpressionOp::kReverse:
      return reverse_strings(frame, index);
    case ExpressionOp::kRepeat:
      return repeat_strings(frame, index);
    case ExpressionOp::kSplitPart:
      return split_strings(frame, index);
    case ExpressionOp::kInitcap:
      return capitalise_strings(frame, index);
    case ExpressionOp::kCharacter:
      return make_characters(frame, index);
    default:
      return make_hexadecimals(frame, index);
  }
}

uint64_t first_code_point(std::string_view string) {
  if (string.empty()) return 0;
  const CodePoint point = code_point_at(string.data(), string.size());
  return point.bytes == 0 ? static_cast<uint8_t>(string[0]) : point.value;
}

int64_t place_of(std::string_view string, std::string_view part) {
  const size_t at = part.empty() ? 0 : find_string(string, part);
  return at == std::string_view::npos ? -1 : count_characters(string.substr(0, at));
}

void find_strings(const Frame& frame, int32_t index, uint64_t* to) {
  const ProgramStep& step = frame.step(index);
  if (step.expression->arguments[1]->op == ExpressionOp::kLiteral) {
    const std::string_view part = step.expression->arguments[1]->values[0].text;
    return map_rows<uint64_t>(
        frame,
        index,
        [=](std::string_view string) { return static_cast<uint64_t>(place_of(string, part)); },
        to);
  }
  const std::string_view* strings = known_strings(frame, step.arguments[0]);
  const std::string_view* parts = known_strings(frame, step.arguments[1]);
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; i < frame.count; ++i) {
    const bool has_value = valid == nullptr || valid[i] != 0;
    to[i] = has_value ? static_cast<uint64_t>(place_of(strings[i], parts[i])) : 0;
  }
}

}  // namespace

void run_further_string(const Frame& frame, int32_t index) {
  Value& out = frame.open_value(index);
  make_further_strings(frame, index);
  out.strings = frame.slot(index).strings();
}

void run_string_number(const Frame& frame, int32_t index) {
  uint64_t* to = frame.slot(index).low;
  Value& out = frame.open_value(index);
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kLength:
      map_rows<uint64_t>(
          frame,
          index,
          [](std::string_view s) { return static_cast<uint64_t>(count_characters(s)); },
          to);
      break;
    case ExpressionOp::kFind:
      find_strings(frame, index, to);
      break;
    default:
      map_rows<uint64_t>(frame, index, first_code_point, to);
  }
  out.low = to;
  out.bits_known = false;
}

}  // namespace crossdock::expressions::steps
