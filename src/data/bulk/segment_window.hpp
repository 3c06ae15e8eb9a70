// Segments of a radix scatter in the memory of the rank that will read them.
//
// The network pass of the radix hash join of Barthels et al. (PVLDB 10(5), 2017, section 4.1) sends rows to other ranks
// by few bits of their words, and every rank partitions what it received once more. Here the network pass has the
// fan-out of the last one: ranks agree which of them owns which partition, count what they have of each, and then their
// scatters have segments (data/sorters/segment.hpp) that lie in the owner's window, where no other rank writes. After
// the fence the owner finds every partition as lists of segments, as if its own workers had sorted them.
//
// Segments are cut alike wherever they go: full ones, and a last one of as many rows as are left, rounded up to what a
// scatter flushes at once. Of ranks on one host a scatter writes into the owner's memory itself; for others segments
// are filled here and put when they are full.
//
// The paper counts all rows before it moves them, which reads all of them once more. Where partitions have many
// segments a sample is enough: what one worker sends to one owner is a good part of its rows, whose number a sample
// tells within a percent, and takes as many whole segments as its partitions need, one behind the other. Room is given
// for more than that makes likely; if it does not suffice all the same, all ranks know, and count.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"
#include "data/sorters/segment.hpp"
#include "memory/budget.hpp"

namespace crossdock::bulk {

// What one rank has for others.
struct SegmentLoad {
  // Tables that are partitioned alike, by number: rows by worker and partition.
  std::vector<std::vector<std::vector<int64_t>>> rows;
  std::vector<int32_t> carried_lanes;  // of each table
  // Of each table: 1 where all rows were counted, and n where one in n was.
  std::vector<int64_t> sampled_of;
  bool in_order = false;  // of ranks: those of a rank lie together, and before those of the next
};

// Of how many rows one may be counted, for a worker with so many rows of a table: 1, unless partitions have so many
// segments that those that are not full do not matter.
int64_t rows_per_sample(int64_t rows, int partitions);

// What lies in a rank when all have written.
struct ArrivedSegments {
  std::vector<int> partitions;                           // that this rank owns, ascending
  std::vector<std::vector<sorters::SegmentList>> lists;  // by table, by place in `partitions`
  std::vector<int64_t> rows;                             // by table
  std::shared_ptr<ranks::Window> window;                 // in which segments lie
};

// By partition the rank that owns it: neighbours to one rank, about as many rows to each.
std::vector<int> deal_in_order(const std::vector<int64_t>& weights, int ranks);

// By partition the rank that owns it: the heaviest partition first, each to the rank that has least.
std::vector<int> deal_partitions(const std::vector<int64_t>& weights, int ranks);

class SegmentWindow {
 public:
  // All ranks call it, with as many tables, partitions and lanes; workers may differ. Errors of the communicator in all
  // ranks; CD-201 in the name of `who`.
  static Result<std::unique_ptr<SegmentWindow>> open(ranks::Communicator& ranks,
                                                     std::shared_ptr<Memory> memory,
                                                     SegmentLoad load,
                                                     std::string who);
  ~SegmentWindow();

  // Where the scatter of one worker has the segments of a table from: for exactly the rows that were counted, or, after
  // a sample, for as many as there is room for (CD-202). There until finish().
  sorters::SegmentSource& source(int table, int worker);

  // All ranks call it when their scatters have finished, or failed with `mine`: waits for all. The first error of any.
  // Nothing: a sample deceived some rank, and all have to count their rows; of the window nothing is used then.
  Result<std::optional<ArrivedSegments>> finish(const Status& mine);

  int64_t bytes() const;  // of this rank's window

 private:
  struct State;
  explicit SegmentWindow(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace crossdock::bulk
