// Ranges of the leading bits, then each range in cache.
//
// One pass over memory splits the rows into ranges that fit a core's second-level cache; every range is
// sorted there, by counting passes over the bits that still differ. Bound: a row is read twice and
// written once by the pass, and read and written once more in its range.
#include <algorithm>

#include "operators/sort/range_partitions.hpp"
#include "operators/sort/sorted_output.hpp"

namespace crossdock {
namespace {

constexpr int kHeldPerWorker = 64;  // batches that wait for their turn

// Takes the lanes that the result may be made of, sorts them, and hands them out.
class GroupFinisher {
 public:
  GroupFinisher(SortRun& sort, const SortLayout& layout, RangePartitions& partitions)
      : sort_(&sort), layout_(&layout), partitions_(&partitions), output_(sort, layout) {
    for (int worker = 0; worker < sort.workers(); ++worker) leaves_.emplace_back(sort, layout);
  }

  Status finish(int worker, int64_t part, OrderedEmitter& out) {
    RangeGroup& group = partitions_->groups()[part];
    const int64_t begin = std::max(sort_->first_row, group.first_row) - group.first_row;
    const int64_t end = std::min(sort_->end_row, group.first_row + group.rows) - group.first_row;
    if (begin >= end) {
      group.lanes.clear();
      return {};
    }
    for (int range = group.first_range; range < group.end_range; ++range) {
      CD_TRY(sort_->run->check_cancelled());
      CD_TRY(leaves_[worker].sort(partitions_->leaf(group, range)));
    }
    SortedRows rows;
    rows.rows = group.rows;
    rows.blocks = std::make_shared<std::vector<Block>>(std::move(group.lanes));
    for (const Block& lane : *rows.blocks) rows.lanes.push_back(lane.data());
    rows.words = reinterpret_cast<uint64_t*>(rows.lanes[0]);
    if (layout_->needs_refs()) {
      rows.refs = reinterpret_cast<const RowRef*>(rows.lanes[layout_->ref_lane]);
    }
    return output_.emit(rows, begin, end, part, out);
  }

  int64_t tied_rows() const {
    int64_t rows = 0;
    for (const LeafSorter& leaf : leaves_) rows += leaf.tied_rows();
    return rows;
  }

 private:
  SortRun* sort_;
  const SortLayout* layout_;
  RangePartitions* partitions_;
  SortedOutput output_;
  std::vector<LeafSorter> leaves_;  // by worker
};

}  // namespace

Status run_msd(SortRun& sort) {
  const SortLayout layout = plan_layout({sort.spec, sort.store.get(), &sort.keys}, sort.schema);
  RangePartitions partitions(sort, layout);
  CD_TRY(partitions.fill(*sort.run));
  GroupFinisher finisher(sort, layout, partitions);
  OrderedEmitter emitter(*sort.run->sink, *sort.run->cancel, sort.workers() * kHeldPerWorker);
  const auto groups = static_cast<int64_t>(partitions.groups().size());
  CD_TRY(for_ordered_parts(*sort.run,
                           "sort ranges",
                           groups,
                           emitter,
                           [&](int worker, int64_t part, OrderedEmitter& out) {
                             return finisher.finish(worker, part, out);
                           }));
  sort.run->profile->result_rows = emitter.rows();
  sort.note("lanes", static_cast<int64_t>(layout.lanes.size()));
  sort.note("ranges", int64_t{partitions.range_count()});
  sort.note("largest_range_rows", partitions.largest_range());
  sort.note("groups", groups);
  sort.note("passes", int64_t{partitions.only_counted() ? 0 : 1});
  sort.note("tied_rows", finisher.tied_rows());
  return {};
}

}  // namespace crossdock
