// Sorts the words of values, and the values themselves where words do not tell them apart.
#include "operators/window/ordered_values.hpp"

#include <algorithm>
#include <optional>

#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kSortedRows = int64_t{1}
                             << 16;  // partitions that begin in so many rows are one worker's turn

struct WordAt {
  uint64_t word;
  uint32_t position;
};

}  // namespace

struct OrderedValues::Sorting {
  const RowsInOrder* rows = nullptr;
  const WindowValues* values = nullptr;
  const OrderComparer* comparer = nullptr;  // where equal words may be different values
  WordAt* words = nullptr;                  // by position, before a partition is sorted

  // Below 0 where the value of `a` comes first.
  int compare(const WordAt& a, const WordAt& b) const {
    if (a.word != b.word) return a.word < b.word ? -1 : 1;
    if (comparer == nullptr) return 0;
    return comparer->compare(ref(a.position), ref(b.position));
  }
  RowRef ref(uint32_t position) const {
    const int64_t batch = rows->batch_at(position);
    return rows->first_ref(batch) + static_cast<RowRef>(position - rows->start_of(batch));
  }
};

Result<OrderedValues> OrderedValues::load(const WindowContext& context, int column) {
  OperatorRun& run = *context.run;
  const RowsInOrder& rows = *context.rows;
  OrderedValues ordered;
  for (Block* block : {&ordered.places_, &ordered.first_places_, &ordered.positions_}) {
    CD_ASSIGN(*block, run.memory->get(rows.rows() * int64_t{sizeof(uint32_t)}, "window"));
  }
  CD_ASSIGN(const WindowValues values, WindowValues::load_validity(run, rows, column));
  CD_ASSIGN(const std::optional<OrderKeyPlan> plan,
            settled_keys(run, rows, {{column, false, false}}));
  CD_ASSIGN(Block block, run.memory->get(rows.rows() * int64_t{sizeof(WordAt)}, "window"));
  auto* const words = block.as<WordAt>();
  CD_TRY(run.for_indices("load", rows.batch_count(), 0, [&](int, int64_t index) {
    const Batch& batch = rows.batch(index);
    uint64_t encoded[kMaxValueRows];
    for (int64_t at = 0; at < batch.rows; at += kMaxValueRows) {
      const int64_t count = std::min<int64_t>(kMaxValueRows, batch.rows - at);
      plan->encode(0, batch, at, count, encoded);
      const int64_t to = rows.start_of(index) + at;
      for (int64_t i = 0; i < count; ++i) {
        words[to + i] = {encoded[i], static_cast<uint32_t>(to + i)};
      }
    }
    return Status();
  }));
  std::optional<OrderComparer> comparer;
  if (!plan->is_exact()) comparer.emplace(*plan, 0, 0);
  const Sorting sorting{&rows, &values, comparer.has_value() ? &*comparer : nullptr, words};
  const std::vector<uint32_t>& starts = context.starts->partitions;
  const int64_t turns = (rows.rows() + kSortedRows - 1) / kSortedRows;
  CD_TRY(run.for_indices("sort values", turns, kSortedRows, [&](int, int64_t turn) {
    const auto first = std::lower_bound(starts.begin(), starts.end(), turn * kSortedRows);
    const auto last = std::lower_bound(first, starts.end() - 1, (turn + 1) * kSortedRows);
    for (auto at = first; at < last; ++at) ordered.sort_partition(sorting, at[0], at[1]);
    return Status();
  }));
  return ordered;
}

void OrderedValues::sort_partition(const Sorting& sorting, uint32_t begin, uint32_t end) {
  auto* const places = places_.as<uint32_t>();
  WordAt* const first = sorting.words + begin;
  WordAt* const valid_end = std::partition(first, sorting.words + end, [&](const WordAt& each) {
    return sorting.values->is_valid(each.position);
  });
  for (WordAt* null = valid_end; null < sorting.words + end; ++null) {
    places[null->position] = kNoPosition;
  }
  std::sort(first, valid_end, [&](const WordAt& a, const WordAt& b) {
    const int order = sorting.compare(a, b);
    return order != 0 ? order < 0 : a.position < b.position;
  });
  uint32_t first_place = 0;
  for (const WordAt* at = first; at < valid_end; ++at) {
    const auto place = static_cast<uint32_t>(at - first);
    if (place > 0 && sorting.compare(at[-1], *at) != 0) first_place = place;
    places[at->position] = place;
    first_places_.as<uint32_t>()[at->position] = first_place;
    positions_.as<uint32_t>()[begin + place] = at->position;
  }
}

}  // namespace crossdock::operators
