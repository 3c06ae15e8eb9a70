// The radix sort that goes from the lowest digit to the highest, over all rows at a time.
//
// Follows the distributed sort of Arkouda (RadixSortLSD, as of its pull request 1635) with workers for
// tasks and one address space for the network: per digit, every worker counts its own rows by bucket,
// the counts are exchanged once, combined by bucket and then by worker, and every worker moves its rows
// to where its counts say, in order. Digits in which all rows are in one bucket are not moved. What is
// counted here is what the pull request is about: passes, and the counts that are exchanged.
//
// Bound: per pass a row is read twice and written once, 12 or 8 bytes of it.
#include <algorithm>
#include <cstring>

#include "data/sorters/range_scatter.hpp"
#include "operators/sort/sorted_output.hpp"
#include "operators/sort/tie_refiner.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kPartRows = 1 << 18;
constexpr int32_t kBlockRows = kLaneBlockRows;

struct Lanes {
  Block words;
  Block refs;
};

class LsdSort {
 public:
  LsdSort(SortRun& sort, bool has_refs)
      : sort_(&sort), has_refs_(has_refs), buckets_(1 << sort.spec->digit_bits) {}

  Status open();
  Status fill();
  Status sort_digits();
  // Ends of parts of some kPartRows rows, never between rows with equal words.
  std::vector<int64_t> part_ends() const;

  uint64_t* words() const { return from_.words.as<uint64_t>(); }
  RowRef* refs() const { return has_refs_ ? from_.refs.as<RowRef>() : nullptr; }
  void free_scratch() { to_ = {}; }
  void note() const;

 private:
  int64_t begin_of(int worker) const { return rows() * worker / sort_->workers(); }
  int64_t rows() const { return sort_->store->rows(); }
  uint32_t* counts_of(int worker) const {
    return counts_.as<uint32_t>() + int64_t{worker} * buckets_;
  }
  Status count_digit(int worker, int shift);
  bool exchange_counts();
  Status move_digit(int worker, int shift);
  void digits_of(int64_t begin, int32_t count, int shift, uint16_t* digits) const;

  SortRun* sort_;
  bool has_refs_;
  int buckets_;
  Lanes from_;
  Lanes to_;
  Block counts_;  // by worker and bucket
  int64_t passes_ = 0;
  int64_t skipped_ = 0;
};

Status LsdSort::open() {
  const char* who = "sort: rows of the LSD radix sort";
  for (Lanes* lanes : {&from_, &to_}) {
    CD_ASSIGN(lanes->words, sort_->memory->get(rows() * int64_t{sizeof(uint64_t)}, who));
    if (has_refs_) {
      CD_ASSIGN(lanes->refs, sort_->memory->get(rows() * int64_t{sizeof(RowRef)}, who));
    }
  }
  const int64_t counts = int64_t{sort_->workers()} * buckets_;
  CD_ASSIGN(counts_, sort_->memory->get(counts * int64_t{sizeof(uint32_t)}, who));
  return {};
}

Status LsdSort::fill() {
  const std::vector<Morsel>& morsels = *sort_->morsels;
  std::vector<int64_t> first_row;
  int64_t row = 0;
  for (const Morsel& morsel : morsels) {
    first_row.push_back(row);
    row += morsel.rows;
  }
  return sort_->run->for_indices("make words",
                                 static_cast<int64_t>(morsels.size()),
                                 morsels.empty() ? 0 : morsels[0].rows,
                                 [&](int, int64_t index) -> Status {
                                   const Morsel& morsel = morsels[index];
                                   const int64_t at = first_row[index];
                                   sort_->keys.encode(
                                       0, *morsel.batch, morsel.begin, morsel.rows, words() + at);
                                   for (int32_t i = 0; has_refs_ && i < morsel.rows; ++i) {
                                     refs()[at + i] = morsel.first_ref + static_cast<RowRef>(i);
                                   }
                                   return {};
                                 });
}

void LsdSort::digits_of(int64_t begin, int32_t count, int shift, uint16_t* digits) const {
  const uint64_t mask = static_cast<uint64_t>(buckets_) - 1;
  const uint64_t* const from = words() + begin;
  for (int32_t i = 0; i < count; ++i) digits[i] = static_cast<uint16_t>(from[i] >> shift & mask);
}

Status LsdSort::count_digit(int worker, int shift) {
  uint32_t* const counts = counts_of(worker);
  std::memset(counts, 0, static_cast<size_t>(buckets_) * sizeof(uint32_t));
  const uint64_t mask = static_cast<uint64_t>(buckets_) - 1;
  const uint64_t* const from = words();
  const int64_t end = begin_of(worker + 1);
  for (int64_t i = begin_of(worker); i < end; ++i) ++counts[from[i] >> shift & mask];
  return {};
}

// Counts become places: bucket after bucket, in each one worker after the other. Answers false if one
// bucket has all rows.
bool LsdSort::exchange_counts() {
  uint32_t place = 0;
  bool one_bucket = false;
  for (int bucket = 0; bucket < buckets_; ++bucket) {
    const uint32_t before = place;
    for (int worker = 0; worker < sort_->workers(); ++worker) {
      place += std::exchange(counts_of(worker)[bucket], place);
    }
    one_bucket |= place - before == rows();
  }
  return !one_bucket;
}

Status LsdSort::move_digit(int worker, int shift) {
  sorters::LaneScatter words_out;
  sorters::LaneScatter refs_out;
  const char* who = "sort: buffers of the LSD radix sort";
  CD_TRY(words_out.open(*sort_->memory, buckets_, sizeof(uint64_t), true, who));
  if (has_refs_) CD_TRY(refs_out.open(*sort_->memory, buckets_, sizeof(RowRef), true, who));
  const uint32_t* const starts = counts_of(worker);
  for (int bucket = 0; bucket < buckets_; ++bucket) {
    words_out.start(bucket, to_.words.data() + starts[bucket] * sizeof(uint64_t));
    if (has_refs_) refs_out.start(bucket, to_.refs.data() + starts[bucket] * sizeof(RowRef));
  }
  uint16_t digits[kBlockRows];
  const int64_t end = begin_of(worker + 1);
  for (int64_t at = begin_of(worker); at < end; at += kBlockRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kBlockRows, end - at));
    digits_of(at, count, shift, digits);
    words_out.put(from_.words.data() + at * int64_t{sizeof(uint64_t)}, digits, count);
    if (has_refs_) refs_out.put(from_.refs.data() + at * int64_t{sizeof(RowRef)}, digits, count);
  }
  words_out.finish();
  if (has_refs_) refs_out.finish();
  return {};
}

Status LsdSort::sort_digits() {
  for (int shift = 0; shift < sort_->keys.word_bits(); shift += sort_->spec->digit_bits) {
    CD_TRY(sort_->run->check_cancelled());
    CD_TRY(sort_->run->phase(
        "count digits", rows(), [&](int worker) { return count_digit(worker, shift); }));
    if (!exchange_counts()) {
      ++skipped_;
      continue;
    }
    ++passes_;
    CD_TRY(sort_->run->phase(
        "move digits", rows(), [&](int worker) { return move_digit(worker, shift); }));
    std::swap(from_, to_);
  }
  return {};
}

std::vector<int64_t> LsdSort::part_ends() const {
  std::vector<int64_t> ends;
  const uint64_t* const all = words();
  for (int64_t begin = 0; begin < rows();) {
    int64_t end = std::min(begin + kPartRows, rows());
    while (has_refs_ && end < rows() && all[end] == all[end - 1]) ++end;
    ends.push_back(end);
    begin = end;
  }
  return ends;
}

void LsdSort::note() const {
  sort_->note("passes", passes_);
  sort_->note("passes_skipped", skipped_);
  sort_->note("digit_bits", int64_t{sort_->spec->digit_bits});
  sort_->note("buckets", int64_t{buckets_});
  sort_->note("counts_exchanged", (passes_ + skipped_) * buckets_ * sort_->workers());
}

}  // namespace

Status run_lsd(SortRun& sort) {
  const SortLayout layout =
      plan_layout({sort.spec, sort.store.get(), &sort.keys, true, true}, sort.schema);
  const bool only_words =
      sort.keys.is_exact() &&
      std::all_of(layout.columns.begin(), layout.columns.end(), [](const SortColumn& column) {
        return column.source == SortColumn::Source::kWord;
      });
  LsdSort lsd(sort, !only_words);
  CD_TRY(lsd.open());
  CD_TRY(lsd.fill());
  CD_TRY(lsd.sort_digits());
  lsd.free_scratch();
  const SortedOutput output(sort, layout);
  const std::vector<int64_t> ends = lsd.part_ends();
  std::vector<TieRefiner> refiners;
  for (int worker = 0; worker < sort.workers(); ++worker) {
    refiners.emplace_back(sort.keys, *sort.memory);
  }
  OrderedEmitter emitter(*sort.run->sink, *sort.run->cancel, sort.workers() * kHeldPerWorker);
  std::vector<int64_t> tied_rows(static_cast<size_t>(sort.workers()));
  CD_TRY(for_ordered_parts(*sort.run,
                           "hand out rows",
                           static_cast<int64_t>(ends.size()),
                           emitter,
                           [&](int worker, int64_t part, OrderedEmitter& out) -> Status {
                             const int64_t first = part == 0 ? 0 : ends[part - 1];
                             SortedRows rows;
                             rows.rows = ends[part] - first;
                             rows.words = lsd.words() + first;
                             const WantedRows emitted = sort.wanted_of(first, rows.rows);
                             if (emitted.is_empty()) return {};
                             if (!only_words) {
                               RowRef* const refs = lsd.refs() + first;
                               if (!sort.keys.is_exact()) {
                                 CD_TRY(refiners[worker].refine(
                                     rows.words, refs, rows.rows, nullptr, &tied_rows[worker]));
                               }
                               rows.refs = refs;
                             }
                             return output.emit(rows, emitted.begin, emitted.end, part, out);
                           }));
  sort.run->profile->result_rows = emitter.rows();
  lsd.note();
  int64_t tied = 0;
  for (const int64_t rows : tied_rows) tied += rows;
  sort.note("tied_rows", tied);
  return {};
}

}  // namespace crossdock::operators
