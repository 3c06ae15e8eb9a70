// Blocks by destination; each destination's rows to its memory, or to its open stage.
#include "data/bulk/exchange_worker.hpp"

#include <algorithm>
#include <cstring>

namespace crossdock::bulk {
namespace {

// Rows of a block: enough that a destination gets a run of them that is worth its loops, few enough for the cache.
constexpr int64_t kBlockRowsMin = 4096;
constexpr int64_t kRowsPerDestination = 64;

int64_t block_rows(size_t destinations) {
  return std::clamp(static_cast<int64_t>(destinations) * kRowsPerDestination,
                    kBlockRowsMin,
                    int64_t{kWriterRows});
}

// Rows by number, or a run, under one name.
struct Listed {
  std::span<const uint32_t> rows;
  Listed from(uint32_t i) const { return {rows.subspan(i)}; }
  uint32_t operator[](uint32_t i) const { return rows[i]; }
  void write(const LaneWriter& writer, uint32_t count, RowPlace& place) const {
    writer.write(rows.first(count), place);
  }
  uint32_t fitting(const LaneWriter& writer, uint32_t count, std::span<const int64_t> room) const {
    return writer.fitting(rows.first(count), room);
  }
};
struct Run {
  uint32_t first;
  Run from(uint32_t i) const { return {first + i}; }
  uint32_t operator[](uint32_t i) const { return first + i; }
  void write(const LaneWriter& writer, uint32_t count, RowPlace& place) const {
    writer.write_run(first, count, place);
  }
  uint32_t fitting(const LaneWriter& writer, uint32_t count, std::span<const int64_t> room) const {
    return writer.fitting_run(first, count, room);
  }
};

}  // namespace

// Where a destination's next rows go.
struct ExchangeWorker::Outlet {
  RowPlace place;  // near: in the window; else in the open stage
  PutStage* stage = nullptr;
  int64_t window_row = 0;  // of the next row
  std::vector<int64_t> window_heap;
};

ExchangeWorker::ExchangeWorker(ExchangePass& pass, int worker)
    : pass_(pass),
      worker_(worker),
      writer_(*pass.plan),
      lists_(static_cast<uint32_t>(block_rows(pass.destination_ranks.size())),
             static_cast<int>(pass.destination_ranks.size())),
      outlets_(pass.destination_ranks.size()),
      stored_bytes_(pass.destination_ranks.size()) {}

ExchangeWorker::~ExchangeWorker() {
  for (Outlet& outlet : outlets_) {  // after an error
    if (outlet.stage != nullptr) pass_.pool->give_back(outlet.stage);
  }
}

Status ExchangeWorker::run() {
  for (size_t chunk = 0; chunk < pass_.counts->chunks.size(); ++chunk) {
    if (pass_.counts->chunks[chunk].worker == worker_) CD_TRY(send_chunk(chunk));
  }
  return pass_.order == nullptr ? Status() : pass_.order->drain(worker_);
}

Status ExchangeWorker::send_chunk(size_t chunk) {
  for (size_t d = 0; d < outlets_.size(); ++d) begin(chunk, d);
  CD_TRY(pass_.rows->for_blocks(pass_.counts->chunks[chunk].span,
                                block_rows(outlets_.size()),
                                [this](const RowBlock& block) { return send_block(block); }));
  for (size_t d = 0; d < outlets_.size(); ++d) CD_TRY(close_stage(d));
  return {};
}

// A chunk's places: those of its cell, behind the chunks before it.
void ExchangeWorker::begin(size_t chunk, size_t destination) {
  const Places& places = *pass_.places;
  const auto slice = static_cast<size_t>(places.slice_of[chunk]);
  const TargetPlaces& target = places.targets[destination];
  const CellPlace& cell = target.cells[slice];
  const auto stride = static_cast<size_t>(pass_.counts->per_destination());
  const size_t counted = pass_.counts->counted_destinations == 1 ? 0 : destination * stride;
  const int64_t* before = places.before[chunk].data() + counted;

  Outlet& outlet = outlets_[destination];
  RowPlace& place = outlet.place;
  place.offsets.clear();
  outlet.window_heap.clear();
  for (size_t t = 0; t < cell.offsets.size(); ++t) {
    place.offsets.push_back(cell.offsets[t] + before[1 + t]);
    outlet.window_heap.push_back(cell.heap_at[t] + before[1 + t]);
  }
  outlet.window_row = cell.row + before[0];
  place.bits = pass_.bits + pass_.bits_at[destination];
  place.bit_words = target.cell_bit_word.back();
  place.bit = target.cell_bit_word[slice] * 64 + before[0];
  if (pass_.is_near[destination] == 0) return;
  place.memory = pass_.window->direct(pass_.destination_ranks[destination]);
  place.layout = &pass_.targets[destination];
  place.row = outlet.window_row;
  place.heap_at = outlet.window_heap;
}

Status ExchangeWorker::send_block(const RowBlock& block) {
  if (pass_.ends.load(std::memory_order_relaxed)) return {};
  writer_.set_block(block.rows);
  const auto rows = static_cast<uint32_t>(block.rows.rows);
  const uint16_t* to = pass_.counts->destinations;
  if (to == nullptr || outlets_.size() == 1) {
    for (size_t d = 0; d < outlets_.size(); ++d) CD_TRY(send(d, Run{0}, rows));
  } else {
    lists_.list(std::span(to + block.first_row, rows), 0);
    for (size_t d = 0; d < outlets_.size(); ++d) {
      const auto listed = lists_.rows_of(static_cast<uint16_t>(d));
      CD_TRY(send(d, Listed{listed}, static_cast<uint32_t>(listed.size())));
    }
  }
  return pass_.order == nullptr ? Status() : pass_.order->step(worker_, false);
}

template <class Rows>
Status ExchangeWorker::send(size_t destination, const Rows& rows, uint32_t count) {
  if (count == 0) return {};
  if (pass_.is_near[destination] == 0) return send_staged(destination, rows, count);
  RowPlace& place = outlets_[destination].place;
  int64_t bytes = 0;
  for (const int64_t at : place.heap_at) bytes -= at;
  rows.write(writer_, count, place);
  for (const int64_t at : place.heap_at) bytes += at;
  for (const int lane : pass_.plan->row_lanes) {
    bytes += int64_t{count} * pass_.plan->lanes[static_cast<size_t>(lane)].width_bytes;
  }
  stored_bytes_[destination] += bytes;
  return {};
}

template <class Rows>
Status ExchangeWorker::send_staged(size_t destination, const Rows& rows, uint32_t count) {
  Outlet& outlet = outlets_[destination];
  const bool has_strings = !pass_.plan->heap_lanes.empty();
  uint32_t done = 0;
  while (done < count) {
    if (outlet.stage == nullptr) CD_TRY(open_stage(destination, {}));
    if (outlet.stage == nullptr) return {};  // another worker has failed
    const PutStage& stage = *outlet.stage;
    const Rows rest = rows.from(done);
    auto some = static_cast<uint32_t>(
        std::min<int64_t>(count - done, pass_.pool->stage_rows() - stage.rows));
    if (has_strings && some > 0) {
      std::vector<int64_t> room;
      for (size_t t = 0; t < stage.heap_bytes.size(); ++t) {
        room.push_back(pass_.pool->heap_bytes()[t] - stage.heap_bytes[t]);
      }
      some = rest.fitting(writer_, some, room);
      if (some == 0 && stage.rows == 0) {  // no stage is large enough for this row
        pass_.pool->give_back(outlet.stage);
        outlet.stage = nullptr;
        CD_TRY(open_stage(destination, writer_.heap_bytes_of(rest[0])));
        some = 1;
      }
    }
    rest.write(writer_, some, outlet.place);
    outlet.stage->rows += some;
    outlet.stage->heap_bytes = outlet.place.heap_at;
    done += some;
    const bool is_full = outlet.stage->rows == pass_.pool->stage_rows();
    if (done < count || is_full || outlet.stage->own_memory.bytes() != 0) {
      CD_TRY(close_stage(destination));
    }
  }
  return {};
}

Status ExchangeWorker::open_stage(size_t destination, std::span<const int64_t> own_heap_bytes) {
  Outlet& outlet = outlets_[destination];
  PutStage* stage = nullptr;
  if (!own_heap_bytes.empty()) {
    CD_ASSIGN(stage, pass_.pool->make_own(own_heap_bytes));
  }
  while (stage == nullptr) {
    stage = pass_.pool->take();
    if (stage == nullptr) CD_TRY(pass_.order->step(worker_, true));
    if (stage == nullptr && pass_.ends.load(std::memory_order_relaxed)) return {};
  }
  const size_t strings = outlet.window_heap.size();
  stage->destination = static_cast<int>(destination);
  stage->window_row = outlet.window_row;
  stage->window_heap = outlet.window_heap;
  stage->rows = 0;
  stage->heap_bytes.assign(strings, 0);
  outlet.stage = stage;
  outlet.place.memory = stage->memory;
  outlet.place.layout = stage->layout;
  outlet.place.row = 0;
  outlet.place.heap_at.assign(strings, 0);
  return {};
}

Status ExchangeWorker::close_stage(size_t destination) {
  Outlet& outlet = outlets_[destination];
  if (outlet.stage == nullptr) return {};
  PutStage* stage = std::exchange(outlet.stage, nullptr);
  outlet.window_row += stage->rows;
  for (size_t t = 0; t < outlet.window_heap.size(); ++t) {
    outlet.window_heap[t] += stage->heap_bytes[t];
  }
  if (stage->rows == 0) {
    pass_.pool->give_back(stage);
    return {};
  }
  return pass_.order->submit(worker_, stage);
}

Status send_bits(ExchangePass& pass, int worker, int workers) {
  const BulkPlan& plan = *pass.plan;
  for (size_t d = static_cast<size_t>(worker); d < pass.targets.size();
       d += static_cast<size_t>(workers)) {
    const TargetPlaces& target = pass.places->targets[d];
    const int rank = pass.destination_ranks[d];
    for (const int lane : plan.bit_lanes) {
      const int64_t ordinal = plan.lanes[static_cast<size_t>(lane)].ordinal;
      const uint64_t* words = pass.bits + pass.bits_at[d] + ordinal * target.cell_bit_word.back();
      for (size_t k = 0; k < target.cells.size(); ++k) {
        const int64_t first = target.cell_bit_word[k];
        const int64_t bytes = (target.cell_bit_word[k + 1] - first) * 8;
        const int64_t at =
            pass.targets[d].begin[static_cast<size_t>(lane)] + target.cells[k].bit_word * 8;
        if (bytes == 0) continue;
        const auto* from = reinterpret_cast<const std::byte*>(words + first);
        if (pass.is_near[d] != 0) {
          std::memcpy(pass.window->direct(rank) + at, from, static_cast<size_t>(bytes));
          pass.window->note_stored(rank, bytes);
        } else {
          CD_TRY(pass.window->put(rank, at, std::span(from, static_cast<size_t>(bytes))));
        }
      }
    }
    if (pass.is_near[d] == 0) CD_TRY(pass.window->flush_local(rank));
  }
  return {};
}

}  // namespace crossdock::bulk
