#include "operators/sort/range_partitions.hpp"

#include <algorithm>
#include <cstring>

namespace crossdock::operators {
namespace {

// Rows a worker moves at a time. Every task writes the ends of its part of every range by themselves,
// two lines shared with its neighbours: 1,000 rows of each of 2,048 ranges make that little.
constexpr int64_t kTaskRows = 1 << 21;

}  // namespace

struct RangePartitions::Scratch {
  alignas(64) uint64_t words[kLaneBlockRows];
  alignas(64) uint8_t values[kLaneBlockRows * 16];
  Block ranges;  // uint16_t of each row of a task
};

Leaf RangePartitions::leaf(const RangeGroup& group, int range) const {
  Leaf leaf;
  leaf.rows = range_begin_[range + 1] - range_begin_[range];
  leaf.is_equal = map_.splitter(range).is_heavy;
  const int64_t offset = range_begin_[range] - group.first_row;
  for (size_t lane = 0; lane < layout_->lanes.size(); ++lane) {
    leaf.lanes.push_back(group.lanes[lane].data() + offset * layout_->lanes[lane].width);
  }
  return leaf;
}

int64_t RangePartitions::largest_range() const {
  int64_t rows = 0;
  for (int range = 0; range < range_count(); ++range) {
    if (!map_.splitter(range).is_heavy) {
      rows = std::max(rows, range_begin_[range + 1] - range_begin_[range]);
    }
  }
  return rows;
}

Status RangePartitions::fill(OperatorRun& run) {
  cut_tasks();
  streams_ = sort_->store->rows() * layout_->row_bytes() > sort_->machine.l3_bytes / 2;
  CD_TRY(count(run));
  CD_TRY(lay_out());
  only_counted_ = layout_->lanes.size() == 1 && sort_->keys.is_exact() && all_equal_in_ranges();
  if (!only_counted_) return move(run);
  return run.for_indices("repeat words",
                         static_cast<int64_t>(groups_.size()),
                         group_rows_max(*sort_),
                         [&](int, int64_t index) -> Status {
                           fill_group(groups_[index]);
                           return {};
                         });
}

bool RangePartitions::all_equal_in_ranges() const {
  for (int range = 0; range < range_count(); ++range) {
    const bool is_empty = range_begin_[range + 1] == range_begin_[range];
    if (!is_empty && !map_.splitter(range).is_heavy) return false;
  }
  return true;
}

void RangePartitions::fill_group(const RangeGroup& group) {
  auto* words = group.lanes[0].as<uint64_t>();
  for (int range = group.first_range; range < group.end_range; ++range) {
    const int64_t rows = range_begin_[range + 1] - range_begin_[range];
    std::fill_n(words, rows, map_.splitter(range).word);
    words += rows;
  }
}

int64_t RangePartitions::rows_of_task() const {
  return sort_->store->rows() / std::max<int64_t>(1, static_cast<int64_t>(tasks_.size()));
}

void RangePartitions::cut_tasks() {
  const std::vector<Morsel>& morsels = *sort_->morsels;
  const int64_t fair = sort_->store->rows() / (sort_->workers() * 4) + 1;
  const int64_t rows_max = std::min(kTaskRows, fair);
  for (size_t m = 0; m < morsels.size(); ++m) {
    if (tasks_.empty() || tasks_.back().rows + morsels[m].rows > rows_max) {
      tasks_.push_back({m, m, 0});
    }
    tasks_.back().end_morsel = m + 1;
    tasks_.back().rows += morsels[m].rows;
  }
}

Status RangePartitions::count(OperatorRun& run) {
  const auto ranges = static_cast<size_t>(range_count());
  const auto bytes = static_cast<int64_t>(tasks_.size() * ranges * sizeof(uint32_t));
  CD_ASSIGN(counts_, sort_->memory->get(bytes, "sort: counts of ranges"));
  std::memset(counts_.data(), 0, static_cast<size_t>(bytes));
  if (ranges == 1) {
    for (size_t t = 0; t < tasks_.size(); ++t)
      *counts_of(t) = static_cast<uint32_t>(tasks_[t].rows);
    return {};
  }
  return run.for_indices("count ranges",
                         static_cast<int64_t>(tasks_.size()),
                         rows_of_task(),
                         [&](int, int64_t task) -> Status {
                           count_task(static_cast<size_t>(task));
                           return {};
                         });
}

// Into two arrays in turns: a frequent range would otherwise wait for its own last count.
void RangePartitions::count_task(size_t task) {
  uint32_t* const counts = counts_of(task);
  std::vector<uint32_t> others(static_cast<size_t>(range_count()));
  uint64_t words[kLaneBlockRows];
  uint16_t range_of[kLaneBlockRows];
  for (size_t m = tasks_[task].first_morsel; m < tasks_[task].end_morsel; ++m) {
    const Morsel& morsel = (*sort_->morsels)[m];
    for (int32_t at = 0; at < morsel.rows; at += kLaneBlockRows) {
      const int32_t rows = std::min(kLaneBlockRows, morsel.rows - at);
      sort_->keys.encode(0, *morsel.batch, morsel.begin + at, rows, words);
      map_.find(words, rows, range_of);
      int32_t i = 0;
      for (; i + 2 <= rows; i += 2) {
        ++counts[range_of[i]];
        ++others[range_of[i + 1]];
      }
      if (i < rows) ++counts[range_of[i]];
    }
  }
  for (size_t range = 0; range < others.size(); ++range) counts[range] += others[range];
}

// Counts become places; groups get their memory.
Status RangePartitions::lay_out() {
  const int ranges = range_count();
  range_begin_.assign(static_cast<size_t>(ranges) + 1, 0);
  for (int range = 0; range < ranges; ++range) {
    uint32_t sum = 0;
    for (size_t task = 0; task < tasks_.size(); ++task) {
      uint32_t& count = counts_of(task)[range];
      sum += std::exchange(count, sum);
    }
    range_begin_[range + 1] = range_begin_[range] + sum;
  }
  const int64_t rows_max = group_rows_max(*sort_);
  group_of_.resize(ranges);
  for (int range = 0; range < ranges; ++range) {
    if (groups_.empty() || range_begin_[range + 1] - groups_.back().first_row > rows_max) {
      groups_.push_back({range, range, range_begin_[range], 0, {}});
    }
    RangeGroup& group = groups_.back();
    group.end_range = range + 1;
    group.rows = range_begin_[range + 1] - group.first_row;
    group_of_[range] = static_cast<int>(groups_.size()) - 1;
  }
  for (RangeGroup& group : groups_) {
    for (const SortLane& lane : layout_->lanes) {
      CD_ASSIGN(Block block, sort_->memory->get(group.rows * lane.width, "sort: ranges of rows"));
      group.lanes.push_back(std::move(block));
    }
  }
  return {};
}

Status RangePartitions::move(OperatorRun& run) {
  std::vector<std::unique_ptr<Scratch>> scratch(sort_->workers());
  return run.for_indices("move to ranges",
                         static_cast<int64_t>(tasks_.size()),
                         rows_of_task(),
                         [&](int worker, int64_t task) -> Status {
                           if (scratch[worker] == nullptr) {
                             scratch[worker] = std::make_unique<Scratch>();
                           }
                           return move_task(static_cast<size_t>(task), *scratch[worker]);
                         });
}

// Lanes whose buffers fit the cache together move together; the others follow with the ranges known.
Status RangePartitions::move_task(size_t task, Scratch& scratch) {
  const auto bytes = static_cast<int64_t>(tasks_[task].rows * sizeof(uint16_t));
  if (scratch.ranges.bytes() < bytes) {
    CD_ASSIGN(scratch.ranges, sort_->memory->get(bytes, "sort: ranges of a task's rows"));
  }
  const auto lanes = static_cast<int>(layout_->lanes.size());
  const int at_once = sorters::lanes_at_once(range_count(), sort_->machine.l2_bytes);
  for (int lane = 0; lane < lanes; lane += at_once) {
    CD_TRY(move_lanes(task, lane, std::min(lanes, lane + at_once), scratch));
  }
  return {};
}

void RangePartitions::start_lane(size_t task, int lane, sorters::LaneScatter& scatter) const {
  const uint32_t* const starts = counts_of(task);
  const int width = layout_->lanes[lane].width;
  for (int range = 0; range < range_count(); ++range) {
    const RangeGroup& group = groups_[group_of_[range]];
    const int64_t row = range_begin_[range] - group.first_row + starts[range];
    scatter.start(range, group.lanes[lane].data() + row * width);
  }
}

Status RangePartitions::move_lanes(size_t task, int first_lane, int end_lane, Scratch& scratch) {
  std::vector<sorters::LaneScatter> scatters(end_lane - first_lane);
  for (int lane = first_lane; lane < end_lane; ++lane) {
    sorters::LaneScatter& scatter = scatters[lane - first_lane];
    const int width = layout_->lanes[lane].width;
    CD_TRY(scatter.open(*sort_->memory, range_count(), width, streams_, "sort: buffers of ranges"));
    start_lane(task, lane, scatter);
  }
  auto* ranges = scratch.ranges.as<uint16_t>();
  for (size_t m = tasks_[task].first_morsel; m < tasks_[task].end_morsel; ++m) {
    const Morsel& morsel = (*sort_->morsels)[m];
    for (int32_t at = 0; at < morsel.rows; at += kLaneBlockRows) {
      const int32_t rows = std::min(kLaneBlockRows, morsel.rows - at);
      for (int lane = first_lane; lane < end_lane; ++lane) {
        const uint8_t* values = reinterpret_cast<const uint8_t*>(scratch.words);
        if (lane == 0) {
          sort_->keys.encode(0, *morsel.batch, morsel.begin + at, rows, scratch.words);
          map_.find(scratch.words, rows, ranges);
        } else {
          values = lane_values(layout_->lanes[lane], morsel, at, rows, scratch.values);
        }
        scatters[lane - first_lane].put(values, ranges, rows);
      }
      ranges += rows;
    }
  }
  for (sorters::LaneScatter& scatter : scatters) scatter.finish();
  return {};
}

}  // namespace crossdock::operators
