// Morsels are checked on their own, and their ends against each other.
#include "operators/merge_join/order_check.hpp"

#include <algorithm>

#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

// What one morsel tells. Rows are counted within it.
struct MorselOrder {
  bool is_sorted = true;
  bool is_unique = true;
  bool has_nulls_between = false;
  int32_t live_begin = 0;  // live rows are [live_begin, live_end)
  int32_t live_end = 0;
  uint64_t first_word = 0;
  uint64_t last_word = 0;
  RowRef first_ref = 0;
  RowRef last_ref = 0;
};

class OrderChecker {
 public:
  OrderChecker(JoinRun& run, const MergeKeys& keys, const KeyPlan& plan, Side side)
      : run_(run),
        keys_(keys),
        plan_(plan),
        side_(side),
        comparer_(*keys.order(), index_of(side), index_of(side)),
        morsel_orders_(morsels().size()) {}

  Result<SideOrder> check() {
    std::atomic<bool> broken{false};
    CD_TRY(run_.for_side("check order", side_, [&](int, const Morsel& morsel) -> Status {
      if (broken.load(std::memory_order_relaxed)) return {};
      MorselOrder& morsel_order = morsel_orders_[&morsel - morsels().data()];
      check_morsel(morsel, morsel_order);
      if (!morsel_order.is_sorted) broken.store(true, std::memory_order_relaxed);
      return {};
    }));
    if (!broken.load()) return join_morsels();
    SideOrder all;
    for (const MorselOrder& morsel_order : morsel_orders_)
      all.has_nulls_between |= morsel_order.has_nulls_between;
    return all;
  }

 private:
  const std::vector<Morsel>& morsels() const { return run_.morsels[index_of(side_)]; }

  bool in_order(uint64_t word, RowRef ref, uint64_t next_word, RowRef next_ref) const {
    if (word != next_word || keys_.is_exact()) return word <= next_word;
    return comparer_.compare(ref, next_ref) <= 0;
  }

  void check_morsel(const Morsel& morsel, MorselOrder& morsel_order) const {
    MergeEncoder encoder(keys_, plan_, *run_.schema_of(side_), side_);
    uint64_t words[kSorterRows];
    uint8_t live[kSorterRows];
    for (int32_t at = 0; at < morsel.rows && morsel_order.is_sorted; at += kSorterRows) {
      const int32_t rows = std::min(kSorterRows, morsel.rows - at);
      const int32_t count = encoder.encode(*morsel.batch, morsel.begin + at, rows, words, live);
      if (count == 0) continue;
      const int32_t skipped =
          count == rows ? 0 : static_cast<int32_t>(std::find(live, live + rows, 1) - live);
      const bool is_gapless =
          count == rows || std::count(live + skipped, live + skipped + count, 1) == count;
      const RowRef first_ref = morsel.first_ref + static_cast<RowRef>(at + skipped);
      morsel_order.has_nulls_between = !is_gapless;
      morsel_order.is_sorted =
          is_gapless && append(morsel_order, at + skipped, count, words + skipped, first_ref);
    }
  }

  // Adds live rows [begin, begin + count) of the morsel; answers whether they go on in order.
  bool append(MorselOrder& morsel_order,
              int32_t begin,
              int32_t count,
              const uint64_t* words,
              RowRef first_ref) const {
    const bool is_first = morsel_order.live_end == 0;
    if (is_first) {
      morsel_order.live_begin = begin;
      morsel_order.first_word = words[0];
      morsel_order.first_ref = first_ref;
    } else if (begin != morsel_order.live_end) {
      morsel_order.has_nulls_between = true;
      return false;
    } else if (!in_order(morsel_order.last_word, morsel_order.last_ref, words[0], first_ref)) {
      return false;
    }
    int32_t descents = 0;
    int32_t repeats = 0;
    for (int32_t i = 1; i < count; ++i) {
      descents += words[i] < words[i - 1] ? 1 : 0;
      repeats += words[i] == words[i - 1] ? 1 : 0;
    }
    if (descents > 0) return false;
    const bool goes_on_equal = !is_first && morsel_order.last_word == words[0];
    morsel_order.is_unique = morsel_order.is_unique && repeats == 0 && !goes_on_equal;
    for (int32_t i = 1; i < count && repeats > 0 && !keys_.is_exact(); ++i) {
      if (!in_order(words[i - 1], first_ref + i - 1, words[i], first_ref + i)) return false;
    }
    morsel_order.live_end = begin + count;
    morsel_order.last_word = words[count - 1];
    morsel_order.last_ref = first_ref + static_cast<RowRef>(count - 1);
    return true;
  }

  SideOrder join_morsels() const {
    SideOrder all;
    all.is_unique = true;
    const MorselOrder* last = nullptr;
    int64_t row = 0;
    for (size_t m = 0; m < morsel_orders_.size(); ++m) {
      const MorselOrder& morsel_order = morsel_orders_[m];
      if (morsel_order.live_end > 0) {
        if (last == nullptr) {
          all.begin = row + morsel_order.live_begin;
        } else if (row + morsel_order.live_begin != all.end) {
          SideOrder interrupted;
          interrupted.has_nulls_between = true;
          return interrupted;
        } else if (!in_order(last->last_word,
                             last->last_ref,
                             morsel_order.first_word,
                             morsel_order.first_ref)) {
          return {};
        }
        all.is_unique = all.is_unique && morsel_order.is_unique &&
                        (last == nullptr || last->last_word != morsel_order.first_word);
        all.end = row + morsel_order.live_end;
        last = &morsel_order;
      }
      row += morsels()[m].rows;
    }
    all.is_sorted = true;
    return all;
  }

  JoinRun& run_;
  const MergeKeys& keys_;
  const KeyPlan& plan_;
  const Side side_;
  const OrderComparer comparer_;
  std::vector<MorselOrder> morsel_orders_;  // by morsel
};

}  // namespace

Result<SideOrder> find_order(JoinRun& run, const MergeKeys& keys, const KeyPlan& plan, Side side) {
  return OrderChecker(run, keys, plan, side).check();
}

}  // namespace crossdock::operators
