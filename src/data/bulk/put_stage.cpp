#include "data/bulk/put_stage.hpp"

#include <algorithm>

namespace crossdock::bulk {
namespace {

constexpr int64_t kStageRowsMin = 64;
constexpr int64_t kStageRowsMax = kWriterRows;
constexpr int64_t kHeapBytesMin = 4096;
constexpr int64_t kStageAlignment = 64;
constexpr int64_t kStagesMax = 1 << 16;

WindowShape shape_of(const StageOptions& options, int64_t rows) {
  WindowShape shape;
  shape.rows = rows;
  for (const double bytes : options.text_bytes) {
    // A quarter more than the average, so that rows and strings are full at about the same time.
    const auto ample_bytes = static_cast<int64_t>(bytes * 1.25 * static_cast<double>(rows));
    shape.heap_bytes.push_back(std::max(kHeapBytesMin, ample_bytes));
  }
  return shape;
}

int64_t widest_lane(const BulkPlan& plan, const StageOptions& options) {
  int64_t widest = 1;
  for (const int lane : plan.row_lanes) {
    widest = std::max<int64_t>(widest, plan.lanes[static_cast<size_t>(lane)].width_bytes);
  }
  for (const double bytes : options.text_bytes) {
    widest = std::max(widest, static_cast<int64_t>(bytes));
  }
  return widest;
}

}  // namespace

Result<std::unique_ptr<StagePool>> StagePool::make(const BulkPlan& plan,
                                                   const StageOptions& options,
                                                   Memory& memory) {
  std::unique_ptr<StagePool> pool(new StagePool(plan, memory));
  const int64_t least = std::max<int64_t>(2, int64_t{2} * options.stages_open);
  int64_t rows =
      std::clamp(options.message_bytes / widest_lane(plan, options), kStageRowsMin, kStageRowsMax);
  while (rows > kStageRowsMin &&
         lay_out(plan, shape_of(options, rows)).bytes * least > options.pool_bytes) {
    rows = std::max(kStageRowsMin, rows / 2);
  }
  pool->shape_ = shape_of(options, rows);
  pool->layout_ = lay_out(plan, pool->shape_);
  const int64_t stage_bytes = std::max(pool->layout_.bytes, kStageAlignment);
  // So much may wait and be under way before threads wait for stages.
  const int64_t stages_in_use = int64_t{options.stages_per_open} * options.stages_open;
  const int64_t stages =
      std::max(least, std::min({options.pool_bytes / stage_bytes, stages_in_use, kStagesMax}));
  CD_ASSIGN(pool->block_, memory.get(stages * stage_bytes, "the put buffers of a bulk exchange"));
  for (int64_t i = 0; i < stages; ++i) {
    auto stage = std::make_unique<PutStage>();
    stage->memory = reinterpret_cast<std::byte*>(pool->block_.data() + i * stage_bytes);
    stage->layout = &pool->layout_;
    pool->free_.push_back(stage.get());
    pool->stages_.push_back(std::move(stage));
  }
  return pool;
}

PutStage* StagePool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return nullptr;
  PutStage* stage = free_.back();
  free_.pop_back();
  return stage;
}

Result<PutStage*> StagePool::make_own(std::span<const int64_t> heap_bytes) {
  WindowShape shape;
  shape.rows = 1;
  shape.heap_bytes.assign(heap_bytes.begin(), heap_bytes.end());
  auto stage = std::make_unique<PutStage>();
  stage->own_layout = lay_out(*plan_, shape);
  CD_ASSIGN(stage->own_memory,
            memory_->get(stage->own_layout.bytes, "a long text of a bulk exchange"));
  stage->memory = reinterpret_cast<std::byte*>(stage->own_memory.data());
  stage->layout = &stage->own_layout;
  const std::lock_guard lock(mutex_);
  single_.push_back(std::move(stage));
  return single_.back().get();
}

void StagePool::give_back(PutStage* stage) {
  const std::lock_guard lock(mutex_);
  if (stage->own_memory.bytes() == 0) {
    free_.push_back(stage);
    return;
  }
  std::erase_if(single_, [stage](const auto& staged) { return staged.get() == stage; });
}

Status put_stage(const BulkPlan& plan,
                 const PutStage& stage,
                 const WindowLayout& target,
                 int rank,
                 ranks::Window& window) {
  for (size_t i = 0; i < plan.lanes.size(); ++i) {
    const BulkLane& lane = plan.lanes[i];
    if (lane.kind == LaneKind::kBits) continue;
    const bool is_heap = lane.kind == LaneKind::kHeap;
    const auto text = static_cast<size_t>(lane.ordinal);
    const int64_t bytes = is_heap ? stage.heap_bytes[text] : stage.rows * lane.width_bytes;
    if (bytes == 0) continue;
    const int64_t at =
        target.begin[i] + (is_heap ? stage.window_heap[text] : stage.window_row * lane.width_bytes);
    const std::byte* from = stage.memory + stage.layout->begin[i];
    CD_TRY(window.put(rank, at, std::span(from, static_cast<size_t>(bytes))));
  }
  return {};
}

}  // namespace crossdock::bulk
