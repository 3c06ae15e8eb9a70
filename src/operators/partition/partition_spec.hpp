// What a partitioning is asked to do.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace crossdock::operators {

constexpr int kPartitionsMax = 1 << 16;

enum class PartitionBy : uint8_t {
  kHash,      // rows of equal keys together, wherever and whenever they are partitioned
  kRange,     // ascending ranges of keys of about equal numbers of rows; NULL keys in the last one
  kExplicit,  // the key, one integer column, is the number of the partition
};
const char* partition_by_name(PartitionBy by);
Result<PartitionBy> parse_partition_by(std::string_view text);

struct PartitionSpec {
  PartitionBy by = PartitionBy::kHash;
  std::vector<int> keys;    // columns
  int partitions = 1;       // 1 to kPartitionsMax
  std::vector<int> output;  // columns of the result
  int64_t batch_rows = 0;   // of an output batch; 0 = default
};

// Errors kInvalidArgument (no keys, a number of partitions out of bounds, ...).
Status check_partition_spec(const PartitionSpec& spec);

}  // namespace crossdock::operators
