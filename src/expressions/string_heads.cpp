// Heads by layout, without a branch per row where eight bytes can be read.
#include "expressions/string_heads.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "expressions/string_lanes.hpp"

namespace crossdock::expressions::steps {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kWordBytes = sizeof(uint64_t);

uint64_t head(uint64_t first_bytes, uint64_t length) {
  const uint64_t bytes = std::min<uint64_t>(length, kHeadBytes);
  const uint64_t counted = std::min<uint64_t>(length, UINT8_MAX);
  return (first_bytes & ((uint64_t{1} << (8 * bytes)) - 1)) | counted << (8 * kHeadBytes);
}

uint64_t word_at(const void* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

template <class Offset>
void heads_of_offsets(const ColumnView& column, int64_t begin, int32_t count, uint64_t* heads) {
  const auto* all = static_cast<const Offset*>(column.offsets) + column.offset;
  const Offset* offsets = all + begin;
  const auto* bytes = reinterpret_cast<const char*>(column.values);
  // No word is read behind the last string of the column.
  const int64_t last_word = static_cast<int64_t>(all[column.length]) - int64_t{kWordBytes};
  int32_t words = count;
  while (words > 0 && offsets[words - 1] > last_word) --words;
  for (int32_t i = 0; i < words; ++i) {
    heads[i] =
        head(word_at(bytes + offsets[i]), static_cast<uint64_t>(offsets[i + 1] - offsets[i]));
  }
  for (int32_t i = words; i < count; ++i) {
    heads[i] = head_of({bytes + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])});
  }
}

void heads_of_views(const StringRows& rows, size_t longest, uint64_t* heads) {
  const ColumnView& column = rows.column;
  const uint8_t* views = column.values + (column.offset + rows.begin) * 16;
  for (int32_t i = 0; i < rows.count; ++i) {
    heads[i] = 0;
    if (rows.valid != nullptr && rows.valid[i] == 0) continue;
    const uint8_t* view = views + int64_t{i} * 16;
    const uint64_t second = word_at(view + 8);
    const auto length = static_cast<uint32_t>(word_at(view));
    const uint8_t* from = length <= kInlineBytes || longest <= kInlineBytes
                            ? view + 4
                            : column.heaps[static_cast<uint32_t>(second)] + (second >> 32);
    heads[i] = head(word_at(from), length);
  }
}

}  // namespace

uint64_t head_of(std::string_view string) {
  uint64_t word = 0;
  if (!string.empty()) std::memcpy(&word, string.data(), std::min(string.size(), kHeadBytes));
  return head(word, string.size());
}

void load_heads(const Frame& frame, int32_t index, size_t longest, uint64_t* heads) {
  const Expression& expression = *frame.step(index).expression;
  if (expression.op == ExpressionOp::kColumn && expression.type.id != TypeId::kDictionary) {
    const ColumnView& column = frame.batch->columns[expression.column];
    switch (layout(expression.type)) {
      case Layout::kOffsets32:
        return heads_of_offsets<int32_t>(column, frame.begin, frame.count, heads);
      case Layout::kOffsets64:
        return heads_of_offsets<int64_t>(column, frame.begin, frame.count, heads);
      default:
        return heads_of_views(
            {column, expression.type, frame.begin, frame.count, frame.values[index].valid},
            longest,
            heads);
    }
  }
  const std::string_view* strings = known_strings(frame, index);
  const uint8_t* valid = frame.values[index].valid;
  for (int32_t i = 0; i < frame.count; ++i) {
    heads[i] = valid == nullptr || valid[i] != 0 ? head_of(strings[i]) : 0;
  }
}

}  // namespace crossdock::expressions::steps
