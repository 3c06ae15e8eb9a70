// Ranges of the leading bits, then each range in cache.
//
// One pass over memory splits the rows into ranges that fit a core's second-level cache; every range is
// sorted there, by counting passes over the bits that still differ. Bound: a row is read twice and
// written once by the pass, and read and written once more in its range.

#include "operators/sort/range_partitions.hpp"
#include "operators/sort/sampled_ranges.hpp"
#include "operators/sort/sorted_output.hpp"
#include "operators/sort/uncounted_ranges.hpp"

namespace crossdock::operators {
namespace {

// Sorts a group's ranges and hands them out together: its lanes become the result's columns.
class GroupFinisher {
 public:
  GroupFinisher(SortRun& sort, const SortLayout& layout, RangePartitions& partitions)
      : sort_(&sort), layout_(&layout), partitions_(&partitions), output_(sort, layout) {}

  Status finish(LeafSorter& sorter, int64_t part, OrderedEmitter& out) {
    RangeGroup& group = partitions_->groups()[part];
    const WantedRows emitted = sort_->wanted_of(group.first_row, group.rows);
    if (emitted.is_empty()) {
      group.lanes.clear();
      return {};
    }
    for (int range = group.first_range; range < group.end_range; ++range) {
      CD_TRY(sort_->run->check_cancelled());
      CD_TRY(sorter.sort(partitions_->leaf(group, range)));
    }
    SortedRows rows;
    rows.rows = group.rows;
    rows.blocks = std::make_shared<std::vector<Block>>(std::move(group.lanes));
    for (const Block& lane : *rows.blocks) rows.lanes.push_back(lane.data());
    rows.words = reinterpret_cast<uint64_t*>(rows.lanes[0]);
    if (layout_->needs_refs()) {
      rows.refs = reinterpret_cast<const RowRef*>(rows.lanes[layout_->ref_lane]);
    }
    return output_.emit(rows, emitted.begin, emitted.end, part, out);
  }

 private:
  SortRun* sort_;
  const SortLayout* layout_;
  RangePartitions* partitions_;
  SortedOutput output_;
};

// Sorts ranges of words and hands each out by itself, while it is in cache: its words become the
// result's column where they lie.
class UncountedFinisher {
 public:
  UncountedFinisher(SortRun& sort, const SortLayout& layout, UncountedRanges& ranges)
      : sort_(&sort), ranges_(&ranges), output_(sort, layout) {}

  Status finish(LeafSorter& sorter, int64_t part, OrderedEmitter& out) {
    RangeGroup& group = ranges_->groups()[part];
    const auto blocks = std::make_shared<std::vector<Block>>(std::move(group.lanes));
    int64_t first_row = group.first_row;
    for (int range = group.first_range; range < group.end_range; ++range) {
      CD_TRY(sort_->run->check_cancelled());
      const int64_t count = ranges_->rows(range);
      const WantedRows emitted = sort_->wanted_of(first_row, count);
      first_row += count;
      if (emitted.is_empty()) continue;
      const Leaf leaf = ranges_->leaf(range);
      CD_TRY(sorter.sort(leaf));
      SortedRows rows;
      rows.rows = count;
      rows.lanes = leaf.lanes;
      rows.words = reinterpret_cast<uint64_t*>(leaf.lanes[0]);
      // The other ranges still need a block that no column takes over.
      if (output_.takes_words()) rows.blocks = blocks;
      CD_TRY(output_.emit(rows, emitted.begin, emitted.end, part, out));
    }
    return {};
  }

 private:
  SortRun* sort_;
  UncountedRanges* ranges_;
  SortedOutput output_;
};

template <class Finisher, class Ranges>
Status sort_ranges(SortRun& sort, const SortLayout& layout, Ranges& ranges) {
  Finisher finisher(sort, layout, ranges);
  std::vector<LeafSorter> sorters;  // by worker
  for (int worker = 0; worker < sort.workers(); ++worker) sorters.emplace_back(sort, layout);
  OrderedEmitter emitter(*sort.run->sink, *sort.run->cancel, sort.workers() * kHeldPerWorker);
  const auto groups = static_cast<int64_t>(ranges.groups().size());
  CD_TRY(for_ordered_parts(*sort.run,
                           "sort ranges",
                           groups,
                           emitter,
                           [&](int worker, int64_t part, OrderedEmitter& out) {
                             return finisher.finish(sorters[worker], part, out);
                           }));
  sort.run->profile->result_rows = emitter.rows();
  int64_t tied_rows = 0;
  for (const LeafSorter& sorter : sorters) tied_rows += sorter.tied_rows();
  sort.note("lanes", static_cast<int64_t>(layout.lanes.size()));
  sort.note("ranges", int64_t{ranges.range_count()});
  sort.note("largest_range_rows", ranges.largest_range());
  sort.note("groups", groups);
  sort.note("tied_rows", tied_rows);
  return {};
}

}  // namespace

Status run_msd(SortRun& sort) {
  const SortLayout layout = plan_layout({sort.spec, sort.store.get(), &sort.keys}, sort.schema);
  sorters::RangeMap map = sampled_ranges(sort);
  if (UncountedRanges::suit(layout, sort.keys, sort.store->rows(), sort.workers()) &&
      UncountedRanges::suit(map)) {
    UncountedRanges ranges(sort, map);
    CD_ASSIGN(const bool fits, ranges.fill(*sort.run));
    sort.note("ranges_sized", std::string(fits ? "by a sample" : "by counting: a sample deceived"));
    if (fits) {
      sort.note("passes", int64_t{1});
      return sort_ranges<UncountedFinisher>(sort, layout, ranges);
    }
  } else {
    sort.note("ranges_sized", std::string("by counting"));
  }
  RangePartitions partitions(sort, layout, std::move(map));
  CD_TRY(partitions.fill(*sort.run));
  sort.note("passes", int64_t{partitions.only_counted() ? 0 : 1});
  return sort_ranges<GroupFinisher>(sort, layout, partitions);
}

}  // namespace crossdock::operators
