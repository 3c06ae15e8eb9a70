#include "data/bulk/bulk_plan.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "base/check.hpp"
#include "data/bulk/word_lanes.hpp"
#include "table/copy_rows.hpp"

namespace crossdock::bulk {
namespace {

constexpr int64_t kAlignment = 64;
constexpr int kWordBits = 64;

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int32_t lane_width(const DataType& type) {
  switch (layout(type)) {
    case Layout::kBits:
      return 0;
    case Layout::kFixed:
      return fixed_bytes(type);
    case Layout::kOffsets32:
      return 4;
    case Layout::kOffsets64:
      return 8;
    case Layout::kViews:
      return 16;
  }
  return 0;
}

bool is_text(const DataType& type) { return is_string(type.id) || is_binary(type.id); }

// Whatever the order of signed values is for the type, so that all compare alike.
template <class T>
int64_t as_signed(T value) {
  if constexpr (std::is_same_v<T, uint64_t>) {
    return static_cast<int64_t>(value ^ (uint64_t{1} << 63));
  } else {
    return static_cast<int64_t>(value);
  }
}

template <class T>
void widen_as(const ColumnView& column, int64_t begin, int64_t count, ValueRange& range) {
  const T* values = column.data<T>() + begin;
  T min = values[0];
  T max = values[0];
  if (column.validity == nullptr) {
    for (int64_t i = 0; i < count; ++i) {
      min = std::min(min, values[i]);
      max = std::max(max, values[i]);
    }
  } else {
    bool any = false;
    for (int64_t i = 0; i < count; ++i) {
      if (!column.is_valid(begin + i)) continue;
      min = any ? std::min(min, values[i]) : values[i];
      max = any ? std::max(max, values[i]) : values[i];
      any = true;
    }
    if (!any) return;
  }
  range.min = std::min(range.min, as_signed(min));
  range.max = std::max(range.max, as_signed(max));
}

// Adds lanes to a plan.
class Lanes {
 public:
  explicit Lanes(BulkPlan& plan) : plan_(plan) {}

  int rows(int32_t width_bytes) { return add(LaneKind::kRows, width_bytes, plan_.row_lanes); }
  int heap() { return add(LaneKind::kHeap, 0, plan_.heap_lanes); }
  int bits() { return add(LaneKind::kBits, 0, plan_.bit_lanes); }

 private:
  int add(LaneKind kind, int32_t width_bytes, std::vector<int>& of_kind) {
    const int lane = static_cast<int>(plan_.lanes.size());
    plan_.lanes.push_back({kind, width_bytes, static_cast<int>(of_kind.size())});
    of_kind.push_back(lane);
    return lane;
  }

  BulkPlan& plan_;
};

// Puts columns of few bits together into words: each into the first word that has room, widest first. A word is kept
// if it travels in fewer bytes than its columns.
void plan_words(std::span<const SeenColumn> seen, BulkPlan& plan) {
  std::vector<int> candidates;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].packs) candidates.push_back(static_cast<int>(i));
  }
  const auto bits_of = [&](int column) { return seen[static_cast<size_t>(column)].range.bits(); };
  std::ranges::stable_sort(candidates, [&](int a, int b) { return bits_of(a) > bits_of(b); });
  std::vector<int> used;  // bits, by word
  std::vector<BulkWord> words;
  for (const int column : candidates) {
    const int bits = bits_of(column);
    size_t at = 0;
    while (at < words.size() && used[at] + bits > kWordBits) ++at;
    if (at == words.size()) {
      words.emplace_back();
      used.push_back(0);
    }
    words[at].columns.push_back(column);
    used[at] += bits;
  }
  for (size_t at = 0; at < words.size(); ++at) {
    int plain_bytes = 0;
    for (const int column : words[at].columns) {
      plain_bytes += plan.columns[static_cast<size_t>(column)].width_bytes;
    }
    words[at].bytes = (used[at] + 7) / 8;
    if (words[at].bytes >= plain_bytes) continue;
    int shift = 0;
    for (const int column : words[at].columns) {
      BulkColumn& packed = plan.columns[static_cast<size_t>(column)];
      const ValueRange& range = seen[static_cast<size_t>(column)].range;
      packed.bits = range.bits();
      packed.shift = packed.bits == 0 ? 0 : shift;  // 64 bits may be used already
      packed.base = range.is_empty() ? 0 : range.min;
      shift += packed.bits;
    }
    plan.words.push_back(std::move(words[at]));
  }
}

}  // namespace

int ValueRange::bits() const {
  if (is_empty()) return 0;
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(max) - static_cast<uint64_t>(min)));
}

int64_t BulkPlan::plain_row_bytes() const {
  int64_t bits = 0;
  for (const BulkColumn& column : columns) {
    bits += column.layout == Layout::kBits ? 1 : int64_t{column.width_bytes} * 8;
    bits += column.validity >= 0;
  }
  return (bits + 7) / 8;
}

int64_t BulkPlan::sent_row_bytes() const {
  int64_t bits = static_cast<int64_t>(bit_lanes.size());
  for (const int lane : row_lanes)
    bits += int64_t{lanes[static_cast<size_t>(lane)].width_bytes} * 8;
  return (bits + 7) / 8;
}

bool can_pack(const DataType& type) {
  return is_signed_integer(type.id) || is_unsigned_integer(type.id) ||
         (type.id >= TypeId::kDate32 && type.id <= TypeId::kDuration);
}

void widen(const DataType& type,
           const ColumnView& column,
           int64_t begin,
           int64_t count,
           ValueRange& range) {
  if (count == 0) return;
  with_integer_of(type,
                  [&](auto value) { widen_as<decltype(value)>(column, begin, count, range); });
}

BulkPlan plan_bulk(SchemaPtr sent, std::span<const SeenColumn> seen, bool packs) {
  BulkPlan plan;
  plan.received = without_dictionaries(*sent);
  plan.sent = std::move(sent);
  for (const Field& field : plan.received->fields) {
    BulkColumn column;
    column.layout = layout(field.type);
    column.width_bytes = lane_width(field.type);
    plan.columns.push_back(column);
  }
  CD_CHECK(seen.size() == plan.columns.size(), "{} of {}", seen.size(), plan.columns.size());
  if (packs) plan_words(seen, plan);
  std::vector<bool> is_packed(seen.size());
  Lanes lanes(plan);
  for (BulkWord& word : plan.words) {
    word.lane = lanes.rows(word.bytes);
    for (const int column : word.columns) is_packed[static_cast<size_t>(column)] = true;
  }
  for (size_t i = 0; i < plan.columns.size(); ++i) {
    BulkColumn& column = plan.columns[i];
    if (seen[i].has_nulls) column.validity = lanes.bits();
    if (is_packed[i]) continue;
    column.lane = column.layout == Layout::kBits ? lanes.bits() : lanes.rows(column.width_bytes);
    if (is_text(value_type(plan.received->fields[i].type))) column.heap = lanes.heap();
  }
  return plan;
}

WindowLayout lay_out(const BulkPlan& plan, const WindowShape& shape) {
  WindowLayout windows;
  for (const BulkLane& lane : plan.lanes) {
    windows.begin.push_back(windows.bytes);
    int64_t bytes = shape.rows * lane.width_bytes;
    if (lane.kind == LaneKind::kHeap) bytes = shape.heap_bytes[static_cast<size_t>(lane.ordinal)];
    if (lane.kind == LaneKind::kBits) bytes = shape.bit_words * 8;
    windows.bytes += padded(bytes);
  }
  return windows;
}

}  // namespace crossdock::bulk
