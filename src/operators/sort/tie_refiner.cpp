#include "operators/sort/tie_refiner.hpp"

#include "data/sorters/word_sort.hpp"
#include "table/row_order.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kPairwiseRows = 6;  // runs up to this are compared in pairs
constexpr int64_t kSkipRows = 16;     // runs from this on look for shared bytes first
constexpr int64_t kBatchRows = 4096;  // rows whose next words are read together
constexpr int64_t kBytesPerRow = 2 * (sizeof(uint64_t) + sizeof(uint32_t)) + sizeof(RowRef);

}  // namespace

Status TieRefiner::reserve(int64_t rows) {
  if (rows <= capacity_) return {};
  block_.reset();
  capacity_ = 0;
  CD_ASSIGN(block_, memory_->get(rows * kBytesPerRow, "sort: rows with equal key words"));
  capacity_ = rows;
  return {};
}

Status TieRefiner::refine(
    const uint64_t* words, uint32_t* rows, int64_t n, const RowRef* refs, int64_t* tied_rows) {
  const int parts = keys_->part_count();
  runs_.clear();
  for (int64_t begin = 0; begin < n;) {
    int64_t end = begin + 1;
    while (end < n && words[end] == words[begin]) ++end;
    if (end - begin > 1) {
      const OrderKeyPlan::Ties ties = keys_->ties_of(words[begin]);
      if (ties.part < parts) {
        runs_.push_back({begin, end - begin, ties});
        *tied_rows += end - begin;
      }
    }
    begin = end;
  }
  while (!runs_.empty()) {
    CD_TRY(refine_level(rows, refs));
    std::swap(runs_, next_);
    next_.clear();
  }
  return {};
}

// Batches of neighbouring runs that are read on at the same place.
Status TieRefiner::refine_level(uint32_t* rows, const RowRef* refs) {
  for (size_t first = 0; first < runs_.size();) {
    int64_t batch_rows = runs_[first].rows;
    size_t end = first + 1;
    while (end < runs_.size() && runs_[end].ties == runs_[first].ties &&
           batch_rows + runs_[end].rows <= kBatchRows && runs_[end].rows < kSkipRows &&
           runs_[first].rows < kSkipRows) {
      batch_rows += runs_[end].rows;
      ++end;
    }
    CD_TRY(reserve(batch_rows));
    refine_batch(&runs_[first], end - first, rows, refs);
    first = end;
  }
  return {};
}

void TieRefiner::refine_batch(const Run* runs, size_t count, uint32_t* rows, const RowRef* refs) {
  auto* words = block_.as<uint64_t>();
  auto* scratch_words = words + capacity_;
  auto* row_refs = reinterpret_cast<RowRef*>(scratch_words + capacity_);
  auto* scratch_rows = row_refs + capacity_;
  int64_t n = 0;
  for (size_t r = 0; r < count; ++r) {
    const uint32_t* from = rows + runs[r].begin;
    for (int64_t i = 0; i < runs[r].rows; ++i) {
      row_refs[n++] = refs == nullptr ? from[i] : refs[from[i]];
    }
  }
  OrderKeyPlan::Ties ties = runs[0].ties;
  if (count == 1 && n >= kSkipRows) ties.depth += keys_->shared_bytes(0, ties, row_refs, n);
  keys_->encode_ties(0, ties, row_refs, n, words);
  for (size_t r = 0; r < count; ++r) {
    const Run run{runs[r].begin, runs[r].rows, ties};
    sorters::sort_pairs(sorters::RefLanes{words, rows + run.begin},
                        run.rows,
                        sorters::RefLanes{scratch_words, scratch_rows});
    if (run.rows <= kPairwiseRows) {
      sort_pairwise(run, rows, refs);
    } else {
      split(run, words);
    }
    words += run.rows;
  }
}

// Rows are in the order of `words` now; the runs among them are for the next level.
void TieRefiner::split(const Run& run, const uint64_t* words) {
  for (int64_t begin = 0; begin < run.rows;) {
    int64_t end = begin + 1;
    while (end < run.rows && words[end] == words[begin]) ++end;
    if (end - begin > 1) {
      const OrderKeyPlan::Ties ties = keys_->ties_after(run.ties, words[begin]);
      if (ties.part < keys_->part_count()) {
        next_.push_back({run.begin + begin, end - begin, ties});
      }
    }
    begin = end;
  }
}

// Their bytes are in the cache since their words were read.
void TieRefiner::sort_pairwise(const Run& run, uint32_t* rows, const RowRef* refs) const {
  const OrderComparer comparer(*keys_, 0, 0);
  const auto ref_of = [&](uint32_t row) { return refs == nullptr ? row : refs[row]; };
  uint32_t* const first = rows + run.begin;
  for (int64_t i = 1; i < run.rows; ++i) {
    const uint32_t row = first[i];
    int64_t at = i;
    while (at > 0 && comparer.compare(ref_of(row), ref_of(first[at - 1]), run.ties.part) < 0) {
      first[at] = first[at - 1];
      --at;
    }
    first[at] = row;
  }
}

}  // namespace crossdock::operators
