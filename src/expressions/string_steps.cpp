// Functions of strings. What is a part of its argument stays where that lies; other strings are written
// to the arena of the block.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "expressions/letter_case.hpp"
#include "expressions/string_arena.hpp"
#include "expressions/string_rows.hpp"
#include "expressions/string_search.hpp"
#include "expressions/utf8.hpp"

namespace crossdock::expressions::steps {
namespace {

// `length` characters from `start` on, which counts from the end if it is negative; what of it lies before the first
// character counts, too, as in a slice of Python.
std::string_view substring(std::string_view string, int64_t start, int64_t length) {
  const char* at = string.data();
  const char* const end = at + string.size();
  if (start >= 0) {
    at = skip_characters(at, end, start);
  } else {
    int64_t back = start;
    for (at = end; back < 0 && at > string.data(); ++back)
      at = previous_character(at, string.data());
    length = length < -back ? 0 : length + back;
  }
  if (length <= 0) return {};
  if (length >= end - at) return between(at, end);
  return between(at, skip_characters(at, end, length));
}

void make_substrings(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  const std::string_view* strings = known_strings(frame, step.arguments[0]);
  const uint64_t* starts = frame.argument(index, 1).low;
  const uint64_t* lengths = step.arguments.size() > 2 ? frame.argument(index, 2).low : nullptr;
  make_rows(frame, index, [&](int32_t i) {
    const int64_t length = lengths == nullptr ? INT64_MAX : static_cast<int64_t>(lengths[i]);
    return substring(strings[i], static_cast<int64_t>(starts[i]), length);
  });
}

// As Unicode has it: separators, and what ends lines, paragraphs and fields.
bool is_white_space(std::string_view character) {
  const uint32_t value = code_point_at(character.data(), character.size()).value;
  if (value <= 0x20)
    return value == 0x20 || (value >= 9 && value <= 13) || (value >= 28 && value <= 31);
  constexpr uint32_t kOthers[] = {0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
  if (value >= 0x2000 && value <= 0x200A) return true;
  return std::find(std::begin(kOthers), std::end(kOthers), value) != std::end(kOthers);
}

bool is_one_of(std::string_view character, std::string_view characters) {
  const char* const end = characters.data() + characters.size();
  for (const char* at = characters.data(); at < end;) {
    const char* next = next_character(at, end);
    if (between(at, next) == character) return true;
    at = next;
  }
  return false;
}

// Which ends of a string are stripped.
struct Ends {
  bool left;
  bool right;
};

template <class Drops>
std::string_view strip(std::string_view string, Ends ends, const Drops& drops) {
  const char* begin = string.data();
  const char* end = begin + string.size();
  while (ends.left && begin < end) {
    const char* next = next_character(begin, end);
    if (!drops(between(begin, next))) break;
    begin = next;
  }
  while (ends.right && begin < end) {
    const char* last = previous_character(end, begin);
    if (!drops(between(last, end))) break;
    end = last;
  }
  return between(begin, end);
}

void make_stripped(const Frame& frame, int32_t index) {
  const Expression& expression = *frame.step(index).expression;
  const Ends ends{expression.op != ExpressionOp::kStripRight,
                  expression.op != ExpressionOp::kStripLeft};
  if (expression.values.empty()) {
    return map_strings(
        frame, index, [=](std::string_view s) { return strip(s, ends, is_white_space); });
  }
  const std::string_view characters = expression.values[0].text;
  map_strings(frame, index, [=](std::string_view string) {
    return strip(string, ends, [=](std::string_view one) { return is_one_of(one, characters); });
  });
}

void make_in_case(const Frame& frame, int32_t index) {
  const LetterCase letter_case = frame.step(index).expression->op == ExpressionOp::kLower
                                   ? LetterCase::kLower
                                   : LetterCase::kUpper;
  map_strings(frame, index, [&](std::string_view string) {
    return frame.strings->put(most_bytes_in_case(string.size()),
                              [&](char* to) { return write_in_case(letter_case, string, to); });
  });
}

char* append(std::string_view string, char* to) {
  if (!string.empty()) std::memcpy(to, string.data(), string.size());
  return to + string.size();
}

void make_concatenated(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  std::vector<const std::string_view*> parts;
  for (const int32_t argument : step.arguments) parts.push_back(known_strings(frame, argument));
  make_rows(frame, index, [&](int32_t i) {
    size_t bytes = 0;
    for (const std::string_view* part : parts) bytes += part[i].size();
    return frame.strings->put(bytes, [&](char* to) {
      for (const std::string_view* part : parts) to = append(part[i], to);
      return bytes;
    });
  });
}

std::string_view replaced(StringArena& arena,
                          std::string_view string,
                          std::string_view part,
                          std::string_view by) {
  size_t count = 0;
  std::string_view rest = string;
  for (size_t at = find_string(rest, part); !part.empty() && at != std::string_view::npos;) {
    ++count;
    rest.remove_prefix(at + part.size());
    at = find_string(rest, part);
  }
  if (count == 0) return string;
  return arena.put(string.size() - count * part.size() + count * by.size(), [&](char* to) {
    char* const begin = to;
    std::string_view left = string;
    for (size_t i = 0; i < count; ++i) {
      const size_t at = find_string(left, part);
      to = append(by, append(left.substr(0, at), to));
      left.remove_prefix(at + part.size());
    }
    return static_cast<size_t>(append(left, to) - begin);
  });
}

void make_replaced(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  if (step.expression->values.empty()) {
    const std::string_view* strings = known_strings(frame, step.arguments[0]);
    const std::string_view* parts = known_strings(frame, step.arguments[1]);
    const std::string_view* others = known_strings(frame, step.arguments[2]);
    return make_rows(frame, index, [&](int32_t i) {
      return replaced(*frame.strings, strings[i], parts[i], others[i]);
    });
  }
  const std::string_view part = step.expression->values[0].text;
  const std::string_view by = step.expression->values[1].text;
  map_strings(frame, index, [&](std::string_view string) {
    return replaced(*frame.strings, string, part, by);
  });
}

// `count` characters of `with`, which is gone through again and again.
size_t padding_bytes(std::string_view with, int64_t characters, int64_t count) {
  const char* const end = with.data() + with.size();
  const char* const part_end = skip_characters(with.data(), end, count % characters);
  return static_cast<size_t>(count / characters) * with.size() +
         static_cast<size_t>(part_end - with.data());
}

void make_padded(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  const std::string_view* strings = known_strings(frame, step.arguments[0]);
  const uint64_t* widths = frame.argument(index, 1).low;
  const std::string_view with = step.expression->values[0].text;
  const int64_t characters = count_characters(with);
  const bool at_left = step.expression->op == ExpressionOp::kPadLeft;
  constexpr int64_t kMostMissing = StringArena::kMaxBytes + 1;  // more is an error anyway
  make_rows(frame, index, [&](int32_t i) {
    const std::string_view string = strings[i];
    const auto width = static_cast<int64_t>(widths[i]);
    const int64_t missing = width - count_characters(string);
    if (missing <= 0 || characters == 0) return substring(string, 0, width);
    const size_t padding = padding_bytes(with, characters, std::min(missing, kMostMissing));
    return frame.strings->put(padding + string.size(), [&](char* to) {
      char* at = append(at_left ? std::string_view() : string, to);
      for (size_t done = 0; done < padding;) {
        const size_t some = std::min(with.size(), padding - done);
        at = append(with.substr(0, some), at);
        done += some;
      }
      append(at_left ? string : std::string_view(), at);
      return padding + string.size();
    });
  });
}

void make_strings(const Frame& frame, int32_t index) {
  switch (frame.step(index).expression->op) {
    case ExpressionOp::kSubstring:
      return make_substrings(frame, index);
    case ExpressionOp::kStrip:
    case ExpressionOp::kStripLeft:
    case ExpressionOp::kStripRight:
      return make_stripped(frame, index);
    case ExpressionOp::kConcat:
      return make_concatenated(frame, index);
    case ExpressionOp::kReplace:
      return make_replaced(frame, index);
    case ExpressionOp::kPadLeft:
    case ExpressionOp::kPadRight:
      return make_padded(frame, index);
    default:
      return make_in_case(frame, index);
  }
}

}  // namespace

void run_string(const Frame& frame, int32_t index) {
  Value& out = frame.open_value(index);
  make_strings(frame, index);
  out.strings = frame.slot(index).strings();
}

}  // namespace crossdock::expressions::steps
