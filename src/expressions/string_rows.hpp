// Walks over the strings of a step's first argument, row by row or, of a small dictionary, value by value. Internal to
// the room.
#pragma once

#include <cstdint>
#include <string_view>

#include "expressions/string_lanes.hpp"
#include "expressions/string_memo.hpp"

namespace crossdock::expressions::steps {

// Dictionaries of at most so many values are computed value by value, where blocks have more rows.
constexpr int64_t kMappedEntries = 256;

inline bool has_few_entries(const Frame& frame, const Expression& subject) {
  if (subject.op != ExpressionOp::kColumn || subject.type.id != TypeId::kDictionary) return false;
  const int64_t entries = frame.batch->columns[subject.column].dictionary->length;
  return entries <= kMappedEntries && entries <= frame.count / 2;
}

// Maps the values of a dictionary, and copies what they become to the rows that name them.
template <class To, class Map>
void map_entries(const Frame& frame, int32_t index, const Map& map, To* to) {
  const Expression& subject = *frame.step(index).expression->arguments[0];
  const ColumnView& column = frame.batch->columns[subject.column];
  const auto entries = static_cast<int32_t>(column.dictionary->length);
  std::string_view slices[kMappedEntries];
  To mapped[kMappedEntries];
  for (int32_t i = 0; i < entries; ++i) {
    if (!column.dictionary->is_valid(i)) continue;
    load_slices({*column.dictionary, *subject.type.dictionary, i, 1, nullptr}, slices + i);
  }
  for (int32_t i = 0; i < entries; ++i) mapped[i] = map(slices[i]);
  const TypeId index_type = dictionary_index(subject.type);
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; i < frame.count; ++i) {
    const bool has_value = valid == nullptr || valid[i] != 0;
    to[i] = has_value ? mapped[dictionary_index_at(column, index_type, frame.begin + i)] : To{};
  }
}

// Writes what `map` makes of each string. Rows that are not valid become To{}.
template <class To, class Map>
void map_rows(const Frame& frame, int32_t index, const Map& map, To* to) {
  if (has_few_entries(frame, *frame.step(index).expression->arguments[0])) {
    return map_entries(frame, index, map, to);
  }
  const std::string_view* strings = known_strings(frame, frame.step(index).arguments[0]);
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; i < frame.count; ++i) {
    to[i] = valid == nullptr || valid[i] != 0 ? map(strings[i]) : To{};
  }
}

template <class Map>
void map_strings(const Frame& frame, int32_t index, const Map& map) {
  map_rows<std::string_view>(frame, index, map, frame.slot(index).strings());
}

// The same of a function that costs more than to look its result up.
template <class Map>
void map_costly_strings(const Frame& frame, int32_t index, const Map& map) {
  StringMemo& memo = *frame.memos[index];
  memo.begin_block();
  if (!memo.is_worth_it()) return map_strings(frame, index, map);
  map_strings(frame, index, [&](std::string_view string) { return memo.of(string, map); });
}

// Calls `make` with each row that is valid; the others become empty, since what their arguments hold may be anything.
template <class Make>
void make_rows(const Frame& frame, int32_t index, const Make& make) {
  std::string_view* to = frame.slot(index).strings();
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; i < frame.count; ++i) {
    to[i] = valid == nullptr || valid[i] != 0 ? make(i) : std::string_view();
  }
}

inline std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace crossdock::expressions::steps
