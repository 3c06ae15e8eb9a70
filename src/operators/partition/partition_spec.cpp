#include "operators/partition/partition_spec.hpp"

#include "base/choices.hpp"

namespace crossdock::operators {
namespace {

constexpr Choice<PartitionBy> kKinds[] = {{"hash", PartitionBy::kHash},
                                          {"range", PartitionBy::kRange},
                                          {"explicit", PartitionBy::kExplicit}};

}  // namespace

const char* partition_by_name(PartitionBy by) { return choice_name(kKinds, by); }

Result<PartitionBy> parse_partition_by(std::string_view text) {
  return parse_choice(kKinds, "how", text);
}

Status check_partition_spec(const PartitionSpec& spec) {
  if (spec.partitions < 1 || spec.partitions > kPartitionsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "partitions is {}, but must be 1 to {}",
                      spec.partitions,
                      kPartitionsMax);
  }
  if (spec.keys.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "partitioning needs at least one key column");
  }
  if (spec.by == PartitionBy::kExplicit && spec.keys.size() != 1) {
    return make_error(ErrorCode::kInvalidArgument,
                      "how='explicit' takes one column of partition numbers, got {} columns\n"
                      "  try      how='hash'",
                      spec.keys.size());
  }
  if (spec.batch_rows < 0) {
    return make_error(
        ErrorCode::kInvalidArgument, "batch_rows is {}, but must be at least 0", spec.batch_rows);
  }
  return {};
}

}  // namespace crossdock::operators
