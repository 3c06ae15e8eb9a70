// Partitioning for C++: rows of equal keys side by side, partition after partition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <crossdock/operation.hpp>

namespace crossdock {

struct PartitionOptions {
  std::vector<std::string> keys;
  int partitions = 1;  // 1 to 65,536
  // "hash"; "range": ascending, evenly filled; "explicit": the key is the number.
  std::string how = "hash";
  std::vector<std::string> output;  // columns of the result, in order
  int64_t batch_rows = 0;           // of an output batch; 0 = default (65,536)
};

// The rows of `table`, partition by partition, each in the order of the input. hash: a row's partition
// depends on its key and the number of partitions only, so equal keys of two tables meet. range: equal
// keys never part, and NULL keys are in the last range; fewer distinct keys than partitions leave some
// empty. explicit: a number that names no partition is CD-303.
class Partition : public Operation {
 public:
  Partition(const Engine& engine, const ArrowTable& table, const PartitionOptions& options);

  // Rows of each partition in the result of the last run; empty before the first.
  std::vector<int64_t> partition_rows() const;
};

}  // namespace crossdock
