// The first rows of the order, without sorting the others.
//
// Every worker keeps the best rows it has seen, twice as many as are wanted, and a bound: the word of
// the last wanted one among them. A row that is not below it is dropped with one comparison; when the
// room is full, a selection halves it and lowers the bound. With rows in random order, a worker keeps
// about k (1 + ln(n / k)) of its n rows.
#include <algorithm>

#include "operators/sort/sorted_output.hpp"
#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

constexpr int32_t kTopKBlockRows = 1024;
constexpr int64_t kRoomMin = 4096;
constexpr int64_t kTopKPartRows = 1 << 16;

struct Candidate {
  uint64_t word;
  RowRef ref;
};

// By word, then by what the word leaves open, then by position: a total order, hence stable.
class CandidateOrder {
 public:
  explicit CandidateOrder(const OrderKeyPlan& keys) : keys_(&keys), comparer_(keys, 0, 0) {}
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.word != b.word) return a.word < b.word;
    if (!keys_->is_exact()) {
      const int order = comparer_.compare(a.ref, b.ref);
      if (order != 0) return order < 0;
    }
    return a.ref < b.ref;
  }

 private:
  const OrderKeyPlan* keys_;
  OrderComparer comparer_;
};

// One worker's best rows.
class BestRows {
 public:
  BestRows(const OrderKeyPlan& keys, int64_t best_rows)
      : keys_(&keys), best_rows_(best_rows), room_(std::max(2 * best_rows, kRoomMin)) {}

  Status put(Memory& memory, const Morsel& morsel) {
    if (block_.bytes() == 0) {
      CD_ASSIGN(block_,
                memory.get(room_ * int64_t{sizeof(Candidate)}, "sort: best rows of a worker"));
    }
    uint64_t words[kTopKBlockRows];
    for (int32_t at = 0; at < morsel.rows; at += kTopKBlockRows) {
      const int32_t rows = std::min(kTopKBlockRows, morsel.rows - at);
      keys_->encode(0, *morsel.batch, morsel.begin + at, rows, words);
      put_words(words, rows, morsel.first_ref + static_cast<RowRef>(at));
    }
    return {};
  }

  const Candidate* begin() const { return block_.as<const Candidate>(); }
  const Candidate* end() const { return begin() + count_; }

 private:
  // Rows come in ascending order of position, so with an exact word one that equals the bound is
  // behind the wanted ones.
  void put_words(const uint64_t* words, int32_t rows, RowRef first) {
    const uint64_t slack = keys_->is_exact() ? 0 : 1;
    auto* const best = block_.as<Candidate>();
    for (int32_t i = 0; i < rows; ++i) {
      if (bounded_ && words[i] >= bound_ && (slack == 0 || words[i] > bound_)) continue;
      best[count_++] = {words[i], first + static_cast<RowRef>(i)};
      if (count_ == room_) select();
    }
  }

  void select() {
    auto* const best = block_.as<Candidate>();
    std::nth_element(best, best + best_rows_ - 1, best + count_, CandidateOrder(*keys_));
    count_ = best_rows_;
    bounded_ = true;
    bound_ = best[best_rows_ - 1].word;
  }

  const OrderKeyPlan* keys_;
  int64_t best_rows_;
  int64_t room_;
  Block block_;
  int64_t count_ = 0;
  bool bounded_ = false;
  uint64_t bound_ = 0;
};

}  // namespace

Status run_topk(SortRun& sort) {
  const int64_t best_rows = sort.end_row;
  std::vector<BestRows> best;
  for (int worker = 0; worker < sort.workers(); ++worker) best.emplace_back(sort.keys, best_rows);
  if (best_rows > 0) {
    CD_TRY(
        sort.run->for_morsels("select rows", *sort.morsels, [&](int worker, const Morsel& morsel) {
          return best[worker].put(*sort.memory, morsel);
        }));
  }
  int64_t kept = 0;
  for (const BestRows& rows : best) kept += rows.end() - rows.begin();
  const SortLayout layout =
      plan_layout({sort.spec, sort.store.get(), &sort.keys, true, true}, sort.schema);
  const SortedOutput output(sort, layout);
  CD_ASSIGN(Block all, sort.memory->get(kept * int64_t{sizeof(Candidate)}, "sort: best rows"));
  CD_ASSIGN(Block words, sort.memory->get(kept * int64_t{sizeof(uint64_t)}, "sort: best rows"));
  CD_ASSIGN(Block refs, sort.memory->get(kept * int64_t{sizeof(RowRef)}, "sort: best rows"));
  OrderedEmitter emitter(*sort.run->sink, *sort.run->cancel, sort.workers());
  CD_TRY(sort.run->phase("sort selected rows", kept, [&](int worker) -> Status {
    if (worker != 0) return {};
    auto* const first = all.as<Candidate>();
    auto* last = first;
    for (const BestRows& rows : best) last = std::copy(rows.begin(), rows.end(), last);
    const int64_t end = std::min(best_rows, kept);
    // Not a heap over all: 0.27 s for a million of three million rows.
    if (end < kept) std::nth_element(first, first + end, last, CandidateOrder(sort.keys));
    std::sort(first, first + end, CandidateOrder(sort.keys));
    for (int64_t i = 0; i < end; ++i) {
      words.as<uint64_t>()[i] = first[i].word;
      refs.as<RowRef>()[i] = first[i].ref;
    }
    return {};
  }));
  best.clear();
  all.reset();
  const int64_t end = std::min(best_rows, kept);
  const int64_t parts = (end - std::min(end, sort.first_row) + kTopKPartRows - 1) / kTopKPartRows;
  CD_TRY(for_ordered_parts(
      *sort.run, "hand out rows", parts, emitter, [&](int, int64_t part, OrderedEmitter& out) {
        const int64_t begin = sort.first_row + part * kTopKPartRows;
        SortedRows rows;
        rows.rows = std::min(kTopKPartRows, end - begin);
        rows.words = words.as<uint64_t>() + begin;
        rows.refs = refs.as<const RowRef>() + begin;
        return output.emit(rows, 0, rows.rows, part, out);
      }));
  sort.run->profile->result_rows = emitter.rows();
  sort.note("passes", int64_t{0});
  sort.note("selected_rows", kept);
  return {};
}

}  // namespace crossdock::operators
