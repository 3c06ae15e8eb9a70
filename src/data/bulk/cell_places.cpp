// Slices, two all-to-alls, and the layout between them.
#include "data/bulk/cell_places.hpp"

#include <algorithm>

namespace crossdock::bulk {
namespace {

constexpr int64_t kBatchUnitRows = 64;

int64_t words_of(int64_t rows) { return (rows + 63) / 64; }

std::vector<char> narrow_strings(const BulkPlan& plan) {
  std::vector<char> narrow;
  for (const BulkColumn& column : plan.columns) {
    if (column.heap >= 0) narrow.push_back(column.layout != Layout::kOffsets64);
  }
  return narrow;
}

// Chunks follow each other in a slice as long as no destination gets more than a batch can hold.
class Slices {
 public:
  Slices(RowCounts& counts, const std::vector<char>& is_narrow, const BatchLimits& limits)
      : stride_(static_cast<size_t>(counts.per_destination())) {
    for (RowChunk& chunk : counts.chunks) {
      if (!totals_.empty() && fits(chunk.counts, is_narrow, limits)) {
        before_.push_back(totals_.back());
      } else {
        totals_.emplace_back(chunk.counts.size());
        before_.emplace_back(chunk.counts.size());
      }
      std::vector<int64_t>& total = totals_.back();
      for (size_t i = 0; i < total.size(); ++i) total[i] += chunk.counts[i];
      slice_of_.push_back(static_cast<int>(totals_.size()) - 1);
    }
  }

  // By slice, as RowChunk::counts.
  const std::vector<std::vector<int64_t>>& totals() const { return totals_; }
  std::vector<int>& slice_of() { return slice_of_; }
  std::vector<std::vector<int64_t>>& before() { return before_; }

 private:
  bool fits(const std::vector<int64_t>& more,
            const std::vector<char>& is_narrow,
            const BatchLimits& limits) const {
    const std::vector<int64_t>& total = totals_.back();
    for (size_t i = 0; i < total.size(); ++i) {
      const size_t what = i % stride_;
      if (what == 0 && total[i] + more[i] > limits.rows) return false;
      if (what > 0 && is_narrow[what - 1] != 0 && total[i] + more[i] > limits.text_bytes) {
        return false;
      }
    }
    return true;
  }

  size_t stride_;
  std::vector<std::vector<int64_t>> totals_;
  std::vector<int> slice_of_;
  std::vector<std::vector<int64_t>> before_;
};

// Puts cells one behind the other.
class Placer {
 public:
  Placer(Arrivals& arrivals, int strings)
      : arrivals_(arrivals), strings_(static_cast<size_t>(strings)) {
    arrivals.shape.heap_bytes.assign(strings_, 0);
  }

  void place(const int64_t* cell, bool begins_batch, CellPlace& place) {
    if (begins_batch) open_batch();
    WindowShape& shape = arrivals_.shape;
    place.row = row_;
    place.bit_word = shape.bit_words;
    for (size_t t = 0; t < strings_; ++t) {
      const int64_t begin = arrivals_.batches.empty() ? 0 : arrivals_.batches.back().heap_at[t];
      place.offsets.push_back(shape.heap_bytes[t] - begin);
      place.heap_at.push_back(shape.heap_bytes[t]);
    }
    if (cell[0] == 0) return;
    ArrivingBatch& batch = arrivals_.batches.back();
    batch.cells.push_back({row_, cell[0], shape.bit_words});
    batch.rows += cell[0];
    for (size_t t = 0; t < strings_; ++t) {
      batch.heap_bytes[t] += cell[1 + t];
      shape.heap_bytes[t] += cell[1 + t];
    }
    row_ += cell[0];
    shape.bit_words += words_of(cell[0]);
    arrivals_.rows += cell[0];
  }

  bool has_batch() const { return !arrivals_.batches.empty(); }
  const ArrivingBatch& batch() const { return arrivals_.batches.back(); }
  void finish() {
    if (has_batch()) close_batch();
    arrivals_.shape.rows = row_;
  }

 private:
  void close_batch() { row_ = (row_ / kBatchUnitRows + 1) * kBatchUnitRows; }
  void open_batch() {
    if (has_batch()) close_batch();
    ArrivingBatch batch;
    batch.row = row_;
    batch.heap_at = arrivals_.shape.heap_bytes;
    batch.heap_bytes.assign(strings_, 0);
    arrivals_.batches.push_back(std::move(batch));
  }

  Arrivals& arrivals_;
  size_t strings_;
  int64_t row_ = 0;
};

// What a rank tells another of one of its cells, and of its window.
size_t reply_values(int slices, int strings) {
  return static_cast<size_t>(slices * (2 + 2 * strings) + 2 + strings);
}

void write_reply(const Arrivals& arrivals, std::span<const CellPlace> cells, int64_t* out) {
  for (const CellPlace& cell : cells) {
    *out++ = cell.row;
    *out++ = cell.bit_word;
    for (size_t t = 0; t < cell.offsets.size(); ++t) {
      *out++ = cell.offsets[t];
      *out++ = cell.heap_at[t];
    }
  }
  *out++ = arrivals.shape.rows;
  *out++ = arrivals.shape.bit_words;
  for (const int64_t bytes : arrivals.shape.heap_bytes) *out++ = bytes;
}

void read_reply(const int64_t* in, int slices, int strings, TargetPlaces& target) {
  for (int k = 0; k < slices; ++k) {
    CellPlace cell;
    cell.row = *in++;
    cell.bit_word = *in++;
    for (int t = 0; t < strings; ++t) {
      cell.offsets.push_back(*in++);
      cell.heap_at.push_back(*in++);
    }
    target.cells.push_back(std::move(cell));
  }
  target.shape.rows = *in++;
  target.shape.bit_words = *in++;
  for (int t = 0; t < strings; ++t) target.shape.heap_bytes.push_back(*in++);
}

}  // namespace

Arrivals lay_out_arrivals(const CellCounts& cells,
                          std::span<const char> is_narrow,
                          const BatchLimits& limits,
                          std::vector<CellPlace>& places) {
  Arrivals arrivals;
  Placer placer(arrivals, cells.strings);
  const size_t stride = 1 + static_cast<size_t>(cells.strings);
  for (size_t at = 0; at < cells.counts.size(); at += stride) {
    const int64_t* cell = cells.counts.data() + at;
    bool begins = cell[0] > 0 && !placer.has_batch();
    if (cell[0] > 0 && placer.has_batch()) {
      const ArrivingBatch& batch = placer.batch();
      begins = batch.rows + cell[0] > limits.rows;
      for (size_t t = 0; t + 1 < stride; ++t) {
        begins |= is_narrow[t] != 0 && batch.heap_bytes[t] + cell[1 + t] > limits.text_bytes;
      }
    }
    places.emplace_back();
    placer.place(cell, begins, places.back());
  }
  placer.finish();
  return arrivals;
}

Result<Places> agree_on_places(ranks::Communicator& ranks,
                               const BulkPlan& plan,
                               RowCounts& counts,
                               std::span<const int> destination_ranks,
                               const BatchLimits& limits) {
  const std::vector<char> narrow = narrow_strings(plan);
  Slices local_slices(counts, narrow, limits);
  CD_ASSIGN(const int64_t most,
            ranks.fold(static_cast<int64_t>(local_slices.totals().size()), ranks::Fold::kMax));
  const int slices = std::max(1, static_cast<int>(most));
  const int strings = counts.strings;
  const size_t stride = static_cast<size_t>(counts.per_destination());
  const size_t ask_values = static_cast<size_t>(slices) * stride;
  const auto size = static_cast<size_t>(ranks.size());

  std::vector<int64_t> asked(size * ask_values);
  for (size_t d = 0; d < destination_ranks.size(); ++d) {
    int64_t* out = asked.data() + static_cast<size_t>(destination_ranks[d]) * ask_values;
    const size_t from = counts.counted_destinations == 1 ? 0 : d * stride;
    for (const auto& total : local_slices.totals())
      out = std::copy_n(total.data() + from, stride, out);
  }
  CD_ASSIGN(const std::vector<int64_t> coming, ranks.all_to_all(asked));

  Places places;
  std::vector<CellPlace> cells;
  places.arrivals = lay_out_arrivals({coming, slices, strings}, narrow, limits, cells);
  const size_t reply = reply_values(slices, strings);
  std::vector<int64_t> replies(size * reply);
  for (size_t source = 0; source < size; ++source) {
    const auto of_source =
        std::span(cells).subspan(source * static_cast<size_t>(slices), static_cast<size_t>(slices));
    write_reply(places.arrivals, of_source, replies.data() + source * reply);
  }
  CD_ASSIGN(const std::vector<int64_t> heard, ranks.all_to_all(replies));

  for (size_t d = 0; d < destination_ranks.size(); ++d) {
    TargetPlaces target;
    const auto rank = static_cast<size_t>(destination_ranks[d]);
    read_reply(heard.data() + rank * reply, slices, strings, target);
    int64_t words = 0;
    for (int k = 0; k < slices; ++k) {
      const int64_t rows = asked[rank * ask_values + static_cast<size_t>(k) * stride];
      target.cell_bit_word.push_back(words);
      words += words_of(rows);
    }
    target.cell_bit_word.push_back(words);
    places.targets.push_back(std::move(target));
  }
  places.slice_of = std::move(local_slices.slice_of());
  places.before = std::move(local_slices.before());
  return places;
}

}  // namespace crossdock::bulk
