#include "data/bulk/arrived_table.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "data/bulk/word_lanes.hpp"

namespace crossdock::bulk {
namespace {

constexpr int64_t kArrivedAlignment = 64;

// What the batches of an exchange keep alive.
struct ArrivedRows {
  std::shared_ptr<ranks::Window> window;  // null: nothing of it is used
  Block block;
  std::vector<const uint8_t*> heaps;  // of views, by batch and text
  std::vector<int64_t> heap_bytes;
};

class Arriver {
 public:
  Arriver(const BulkPlan& plan, const Arrivals& arrivals, std::shared_ptr<ranks::Window> window)
      : plan_(plan), arrivals_(arrivals), layout_(lay_out(plan, arrivals.shape)) {
    rows_->window = std::move(window);
    bitmaps_.assign(plan.lanes.size(), -1);
    unpacked_.assign(plan.columns.size(), -1);
  }

  Status open(Memory& memory) {
    int64_t bytes = 0;
    const auto reserve = [&bytes](int64_t more) {
      return std::exchange(
          bytes, bytes + (more + kArrivedAlignment - 1) / kArrivedAlignment * kArrivedAlignment);
    };
    for (const int lane : plan_.bit_lanes) {
      bitmaps_[static_cast<size_t>(lane)] = reserve(arrivals_.shape.rows / 8);
    }
    for (const BulkWord& word : plan_.words) {
      for (const int column : word.columns) {
        const auto at = static_cast<size_t>(column);
        unpacked_[at] = reserve(arrivals_.shape.rows * plan_.columns[at].width_bytes);
      }
    }
    if (bytes != 0) {
      CD_ASSIGN(rows_->block, memory.get(bytes, "rows that arrived in a bulk exchange"));
    }
    const size_t strings = plan_.heap_lanes.size() * arrivals_.batches.size();
    rows_->heaps.resize(strings);
    rows_->heap_bytes.resize(strings);
    return {};
  }

  // Work of one of several threads.
  void fill(int worker, int workers) {
    size_t turn = 0;
    for (const ArrivingBatch& batch : arrivals_.batches) {
      for (const int lane : plan_.bit_lanes) {
        if (turn++ % static_cast<size_t>(workers) == static_cast<size_t>(worker)) {
          merge_bits(batch, static_cast<size_t>(lane));
        }
      }
      const int64_t units = (batch.rows + kWordRows - 1) / kWordRows;
      const int64_t begin = units * worker / workers * kWordRows;
      const int64_t end = std::min(batch.rows, units * (worker + 1) / workers * kWordRows);
      for (const BulkWord& word : plan_.words) unpack(word, batch.row + begin, batch.row + end);
    }
  }

  TablePtr table() {
    auto arrived = std::make_shared<Table>();
    arrived->schema = plan_.received;
    arrived->rows = arrivals_.rows;
    if (plan_.words.size() != 0 && uses_no_lane()) rows_->window = nullptr;
    for (size_t b = 0; b < arrivals_.batches.size(); ++b) {
      const ArrivingBatch& from = arrivals_.batches[b];
      Batch batch{plan_.received, from.rows, {}, rows_};
      size_t text = 0;
      for (size_t i = 0; i < plan_.columns.size(); ++i) {
        batch.columns.push_back(view(from, i));
        if (plan_.columns[i].heap >= 0) {
          add_strings(from, i, {b, text++}, batch.columns.back());
        }
      }
      arrived->batches.push_back(std::move(batch));
    }
    return arrived;
  }

 private:
  struct TextPlace {
    size_t batch;
    size_t text;
  };

  uint8_t* window_at(int lane) const {
    return reinterpret_cast<uint8_t*>(rows_->window->data() +
                                      layout_.begin[static_cast<size_t>(lane)]);
  }

  bool uses_no_lane() const {
    return std::all_of(plan_.columns.begin(), plan_.columns.end(), [](const BulkColumn& column) {
      return column.lane < 0 || column.layout == Layout::kBits;
    });
  }

  // The words of each cell begin with its first row; in the bitmap they follow each other bit by bit.
  void merge_bits(const ArrivingBatch& batch, size_t lane) {
    auto* bitmap = reinterpret_cast<uint64_t*>(rows_->block.data() + bitmaps_[lane]);
    std::fill_n(bitmap + batch.row / 64, (batch.rows + 63) / 64, uint64_t{0});
    const auto* words = reinterpret_cast<const uint64_t*>(window_at(static_cast<int>(lane)));
    for (const ArrivingCell& cell : batch.cells) {
      const int64_t count = (cell.rows + 63) / 64;
      const int shift = static_cast<int>(cell.row % 64);
      uint64_t* to = bitmap + cell.row / 64;
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t word = words[cell.bit_word + i];
        to[i] |= word << shift;
        const uint64_t rest = shift == 0 ? 0 : word >> (64 - shift);
        if (rest != 0) to[i + 1] |= rest;
      }
    }
  }

  void unpack(const BulkWord& word, int64_t begin, int64_t end) {
    uint64_t words[kWordRows];
    for (int64_t row = begin; row < end; row += kWordRows) {
      const auto count = static_cast<uint32_t>(std::min<int64_t>(kWordRows, end - row));
      if (word.bytes == 0) {
        std::memset(words, 0, size_t{count} * 8);
      } else {
        const auto* from =
            reinterpret_cast<const std::byte*>(window_at(word.lane)) + row * word.bytes;
        with_word_bytes(word.bytes, [&](auto bytes) {
          load_words<decltype(bytes)::value>(from, count, words);
        });
      }
      for (const int i : word.columns) {
        const auto at = static_cast<size_t>(i);
        const BulkColumn& column = plan_.columns[at];
        auto* to = reinterpret_cast<std::byte*>(rows_->block.data() + unpacked_[at]) +
                   row * column.width_bytes;
        read_column(plan_.received->fields[at].type, column, words, count, to);
      }
    }
  }

  ColumnView view(const ArrivingBatch& batch, size_t i) const {
    const BulkColumn& column = plan_.columns[i];
    ColumnView column_view;
    column_view.length = batch.rows;
    if (column.validity >= 0) {
      column_view.null_count = -1;
      column_view.validity =
          rows_->block.data() + bitmaps_[static_cast<size_t>(column.validity)] + batch.row / 8;
    }
    if (column.lane < 0) {
      column_view.values = rows_->block.data() + unpacked_[i] + batch.row * column.width_bytes;
    } else if (column.layout == Layout::kBits) {
      column_view.values =
          rows_->block.data() + bitmaps_[static_cast<size_t>(column.lane)] + batch.row / 8;
    } else {
      column_view.values = window_at(column.lane) + batch.row * column.width_bytes;
    }
    return column_view;
  }

  void add_strings(const ArrivingBatch& batch, size_t i, TextPlace at, ColumnView& column_view) {
    const BulkColumn& column = plan_.columns[i];
    const uint8_t* heap = window_at(column.heap) + batch.heap_at[at.text];
    const int64_t bytes = batch.heap_bytes[at.text];
    if (column.layout == Layout::kViews) {
      const size_t place = at.batch * plan_.heap_lanes.size() + at.text;
      rows_->heaps[place] = heap;
      rows_->heap_bytes[place] = bytes;
      column_view.heaps = &rows_->heaps[place];
      column_view.heap_bytes = &rows_->heap_bytes[place];
      column_view.heap_count = 1;
      return;
    }
    uint8_t* offsets = window_at(column.lane) + batch.row * column.width_bytes;
    if (column.layout == Layout::kOffsets32) {
      reinterpret_cast<int32_t*>(offsets)[batch.rows] = static_cast<int32_t>(bytes);
    } else {
      reinterpret_cast<int64_t*>(offsets)[batch.rows] = bytes;
    }
    column_view.offsets = offsets;
    column_view.values = heap;
  }

  const BulkPlan& plan_;
  const Arrivals& arrivals_;
  const WindowLayout layout_;
  std::shared_ptr<ArrivedRows> rows_ = std::make_shared<ArrivedRows>();
  std::vector<int64_t> bitmaps_;   // by lane: where in the block; -1: no bits
  std::vector<int64_t> unpacked_;  // by column; -1: it lies in the window
};

}  // namespace

Result<TablePtr> arrived_table(const BulkPlan& plan,
                               const Arrivals& arrivals,
                               std::shared_ptr<ranks::Window> window,
                               Team& team,
                               Memory& memory) {
  Arriver arriver(plan, arrivals, std::move(window));
  CD_TRY(arriver.open(memory));
  const int workers = team.worker_count();
  CD_TRY(team.run([&](int worker) -> Status {
    arriver.fill(worker, workers);
    return {};
  }));
  return arriver.table();
}

}  // namespace crossdock::bulk
