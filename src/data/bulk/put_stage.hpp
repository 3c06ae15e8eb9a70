// Where rows for a rank on another host wait until enough of them are together, and the pool that stages come from.
//
// A stage has the lanes of the window that its rows go to, so one put per lane moves it. Barthels et al. keep two
// buffers per partition and wait for the first when the second is full; here full stages of all destinations share one
// bounded pool, so that a thread waits only when everything is under way.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/bulk/bulk_plan.hpp"
#include "data/bulk/lane_writer.hpp"
#include "data/ranks/window.hpp"
#include "memory/budget.hpp"

namespace crossdock::bulk {

struct PutStage {
  std::byte* memory = nullptr;
  const WindowLayout* layout = nullptr;  // of the stage
  int destination = 0;
  int64_t window_row = 0;            // where its first row goes
  std::vector<int64_t> window_heap;  // by text: where its first byte goes, in the heap
  int64_t rows = 0;
  std::vector<int64_t> heap_bytes;  // by text
  // A row whose strings are longer than a stage gets one of its own.
  Block own_memory;
  WindowLayout own_layout;
};

struct StageOptions {
  int64_t message_bytes = int64_t{1} << 20;  // of a put of the widest lane
  int64_t pool_bytes = int64_t{256} << 20;   // of all stages of a rank
  int stages_open = 1;                       // at least that many stages are needed at once
  int stages_per_open = 4;                   // as many as that of each, if pool_bytes allow
  std::vector<double> text_bytes;            // of a row, on average, by text
};

// Stages of one size. Thread-safe.
class StagePool {
 public:
  // stages_per_open of each that is open, if pool_bytes allow, and never fewer than twice those open; they are made
  // smaller for that, down to some rows. CD-201 if the budget has no room.
  static Result<std::unique_ptr<StagePool>> make(const BulkPlan& plan,
                                                 const StageOptions& options,
                                                 Memory& memory);

  PutStage* take();  // nullptr: all are in use
  // For one row whose strings take so many bytes; given back like others.
  Result<PutStage*> make_own(std::span<const int64_t> heap_bytes);
  void give_back(PutStage* stage);

  int64_t stage_rows() const { return shape_.rows; }
  const std::vector<int64_t>& heap_bytes() const { return shape_.heap_bytes; }
  int64_t stages() const { return static_cast<int64_t>(stages_.size()); }

 private:
  StagePool(const BulkPlan& plan, Memory& memory) : plan_(&plan), memory_(&memory) {}

  const BulkPlan* plan_;
  Memory* memory_;
  WindowShape shape_;
  WindowLayout layout_;
  Block block_;
  std::vector<std::unique_ptr<PutStage>> stages_;
  std::mutex mutex_;
  std::vector<PutStage*> free_;
  std::vector<std::unique_ptr<PutStage>> single_;  // stages of one long row
};

// One put per lane that has bytes, to `rank`, whose window has the layout `target`.
Status put_stage(const BulkPlan& plan,
                 const PutStage& stage,
                 const WindowLayout& target,
                 int rank,
                 ranks::Window& window);

}  // namespace crossdock::bulk
