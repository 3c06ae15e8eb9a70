// Rows that are in order already, or in the opposite one: found out, checked, and handed out as they
// lie.
#include <algorithm>
#include <atomic>
#include <functional>

#include "operators/sort/sorted_output.hpp"
#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

constexpr int kPlaces = 64;  // looked at before anything is read in full
constexpr int32_t kPlaceRows = 16;
constexpr int32_t kCheckRows = 1024;

// The last row of the morsel before `index`.
RowRef row_before(const std::vector<Morsel>& morsels, size_t index) {
  const Morsel& before = morsels[index - 1];
  return before.first_ref + static_cast<RowRef>(before.rows) - 1;
}

// Checks neighbours within blocks by their words, and by the comparer where words are equal.
class OrderCheck {
 public:
  OrderCheck(const SortRun& sort, SortStrategy order)
      : sort_(&sort),
        comparer_(sort.keys, 0, 0),
        reversed_(order == SortStrategy::kReversed),
        strict_(reversed_ && sort.spec->stable) {}

  bool holds(size_t index, std::atomic<bool>& failed) const {
    const Morsel& morsel = (*sort_->morsels)[index];
    if (index > 0 && !is_pair(row_before(*sort_->morsels, index), morsel.first_ref)) return false;
    uint64_t words[kCheckRows];
    for (int32_t at = 0; at < morsel.rows && !failed.load(std::memory_order_relaxed);
         at += kCheckRows - 1) {  // blocks share a row, so that no pair is left out
      const int32_t rows = std::min(kCheckRows, morsel.rows - at);
      sort_->keys.encode(0, *morsel.batch, morsel.begin + at, rows, words);
      if (!holds(words, morsel.first_ref + static_cast<RowRef>(at), rows)) return false;
    }
    return true;
  }

 private:
  bool is_pair(RowRef a, RowRef b) const {
    const int order = comparer_.compare(a, b);
    if (strict_) return order > 0;
    return reversed_ ? order >= 0 : order <= 0;
  }

  bool holds(const uint64_t* words, RowRef first, int32_t rows) const {
    uint64_t wrong = 0;
    uint64_t equal = 0;
    for (int32_t i = 1; i < rows; ++i) {
      const bool up = words[i - 1] < words[i];
      const bool down = words[i - 1] > words[i];
      wrong |= (reversed_ ? up : down) ? 1 : 0;
      equal |= !up && !down ? 1 : 0;
    }
    if (wrong != 0) return false;
    if (equal == 0) return true;
    if (sort_->keys.is_exact()) return !strict_;
    for (int32_t i = 1; i < rows; ++i) {
      if (words[i - 1] != words[i]) continue;
      const RowRef row = first + static_cast<RowRef>(i);
      if (!is_pair(row - 1, row)) return false;
    }
    return true;
  }

  const SortRun* sort_;
  OrderComparer comparer_;
  bool reversed_;
  bool strict_;
};

}  // namespace

SortStrategy sampled_order(const OrderKeyPlan& keys,
                           const std::vector<Morsel>& morsels,
                           bool may_reverse) {
  const OrderComparer comparer(keys, 0, 0);
  int ups = 0;
  int downs = 0;
  const size_t step = std::max<size_t>(1, morsels.size() / kPlaces);
  for (size_t m = 0; m < morsels.size(); m += step) {
    const Morsel& morsel = morsels[m];
    const auto look = [&](RowRef a, RowRef b) {
      const int order = comparer.compare(a, b);
      ups += order < 0 ? 1 : 0;
      downs += order > 0 ? 1 : 0;
    };
    if (m > 0) look(row_before(morsels, m), morsel.first_ref);
    const int32_t rows = std::min(kPlaceRows, morsel.rows);
    for (int32_t i = 1; i < rows; ++i) {
      look(morsel.first_ref + static_cast<RowRef>(i) - 1,
           morsel.first_ref + static_cast<RowRef>(i));
    }
    if (ups > 0 && downs > 0) return SortStrategy::kAuto;
  }
  if (downs == 0) return SortStrategy::kPresorted;
  return may_reverse ? SortStrategy::kReversed : SortStrategy::kAuto;
}

Result<bool> check_order(SortRun& sort, SortStrategy order) {
  const OrderCheck check(sort, order);
  std::atomic<bool> failed{false};
  CD_TRY(sort.run->for_indices("check order",
                               static_cast<int64_t>(sort.morsels->size()),
                               sort.morsels->empty() ? 0 : (*sort.morsels)[0].rows,
                               [&](int, int64_t index) -> Status {
                                 if (failed.load(std::memory_order_relaxed)) return {};
                                 if (!check.holds(static_cast<size_t>(index), failed)) {
                                   failed.store(true, std::memory_order_relaxed);
                                 }
                                 return {};
                               }));
  return !failed.load();
}

namespace {

// The wanted rows of a morsel as slices of the input.
Status pass_through(const SortRun& sort,
                    const Morsel& morsel,
                    WantedRows emitted,
                    const std::function<Status(Batch)>& put) {
  for (int64_t at = emitted.begin; at < emitted.end; at += sort.batch_rows) {
    Batch batch;
    batch.schema = sort.schema;
    batch.rows = std::min(sort.batch_rows, emitted.end - at);
    batch.owner = sort.store;
    for (const SortOutput& output : sort.spec->output) {
      const ColumnView& column = morsel.batch->columns[output.column];
      batch.columns.push_back(slice(column, morsel.begin + at, batch.rows));
    }
    CD_TRY(put(std::move(batch)));
  }
  return {};
}

}  // namespace

// Morsel after morsel; of the opposite order, from the last one on, its rows by reference.
Status run_in_order(SortRun& sort, SortStrategy order) {
  const bool reversed = order == SortStrategy::kReversed;
  const bool passes = !reversed && sort.spec->row_index.empty();
  const SortLayout layout =
      plan_layout({sort.spec, sort.store.get(), &sort.keys, true, false}, sort.schema);
  const SortedOutput output(sort, layout);
  const std::vector<Morsel>& morsels = *sort.morsels;
  std::vector<int64_t> first_row;  // in the order, by morsel
  const int64_t rows_all = sort.store->rows();
  int64_t row = 0;
  for (const Morsel& morsel : morsels) {
    first_row.push_back(reversed ? rows_all - row - morsel.rows : row);
    row += morsel.rows;
  }
  OrderedEmitter emitter(*sort.run->sink, *sort.run->cancel, sort.workers() * kHeldPerWorker);
  const auto count = static_cast<int64_t>(morsels.size());
  CD_TRY(for_ordered_parts(
      *sort.run,
      "hand out rows",
      count,
      emitter,
      [&](int, int64_t part, OrderedEmitter& out) -> Status {
        const auto index = static_cast<size_t>(reversed ? count - 1 - part : part);
        const Morsel& morsel = morsels[index];
        const WantedRows emitted = sort.wanted_of(first_row[index], morsel.rows);
        if (emitted.is_empty()) return {};
        if (passes) {
          return pass_through(
              sort, morsel, emitted, [&](Batch batch) { return out.put(part, std::move(batch)); });
        }
        std::vector<RowRef> refs(static_cast<size_t>(morsel.rows));
        for (int32_t i = 0; i < morsel.rows; ++i) {
          refs[i] = morsel.first_ref + static_cast<RowRef>(reversed ? morsel.rows - 1 - i : i);
        }
        SortedRows rows;
        rows.rows = morsel.rows;
        rows.refs = refs.data();
        return output.emit(rows, emitted.begin, emitted.end, part, out);
      }));
  sort.run->profile->result_rows = emitter.rows();
  sort.note("passes", int64_t{0});
  return {};
}

}  // namespace crossdock::operators
