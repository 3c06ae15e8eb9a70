// One thread's part of the second pass: its rows into windows, or into stages that go there.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/bulk/bulk_rows.hpp"
#include "data/bulk/cell_places.hpp"
#include "data/bulk/lane_writer.hpp"
#include "data/bulk/put_order.hpp"
#include "data/bulk/put_stage.hpp"
#include "data/bulk/row_counts.hpp"
#include "data/ranks/window.hpp"
#include "data/sorters/list_rows.hpp"

namespace crossdock::bulk {

// What the workers of a rank share in the second pass.
struct ExchangePass {
  const BulkPlan* plan = nullptr;
  const TableRows* rows = nullptr;
  const RowCounts* counts = nullptr;
  const Places* places = nullptr;
  std::span<const int> destination_ranks;
  ranks::Window* window = nullptr;
  std::vector<WindowLayout> targets;  // by destination
  std::vector<char> is_near;          // by destination: written to directly
  // Bitmaps of this rank, zeroed: of destination d from word bits_at[d] on, lane by lane.
  uint64_t* bits = nullptr;
  std::vector<int64_t> bits_at;
  StagePool* pool = nullptr;      // null: all destinations are near
  PutOrder* order = nullptr;      // the same
  std::atomic<bool> ends{false};  // a worker has an error, so that none needs to go on
};

class ExchangeWorker {
 public:
  ExchangeWorker(ExchangePass& pass, int worker);
  ~ExchangeWorker();

  // Its chunks; then drains what it submitted.
  Status run();
  // Bytes that this worker wrote to other ranks' memory, by destination.
  const std::vector<int64_t>& stored_bytes() const { return stored_bytes_; }

 private:
  struct Outlet;

  Status send_chunk(size_t chunk);
  Status send_block(const RowBlock& block);
  template <class Rows>
  Status send(size_t destination, const Rows& rows, uint32_t count);
  template <class Rows>
  Status send_staged(size_t destination, const Rows& rows, uint32_t count);
  void begin(size_t chunk, size_t destination);
  Status open_stage(size_t destination, std::span<const int64_t> own_heap_bytes);
  Status close_stage(size_t destination);

  ExchangePass& pass_;
  const int worker_;
  LaneWriter writer_;
  sorters::RowLists lists_;
  std::vector<Outlet> outlets_;
  std::vector<int64_t> stored_bytes_;
};

// After all workers: the bitmaps of destinations d with d % workers == worker.
Status send_bits(ExchangePass& pass, int worker, int workers);

}  // namespace crossdock::bulk
