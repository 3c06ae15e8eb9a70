// The public partitioning: names become columns.
#include "operators/partition/table_partition.hpp"
#include "session/state.hpp"

namespace crossdock {
namespace {

Result<operators::PartitionSpec> make_spec(const PartitionOptions& options, const Schema& schema) {
  operators::PartitionSpec spec;
  CD_ASSIGN(spec.by, operators::parse_partition_by(options.how));
  for (const std::string& name : options.keys) {
    CD_ASSIGN(const int column, schema.find(name, "table"));
    spec.keys.push_back(column);
  }
  for (const std::string& name : options.output) {
    CD_ASSIGN(const int column, schema.find(name, "table"));
    spec.output.push_back(column);
  }
  spec.partitions = options.partitions;
  spec.batch_rows = options.batch_rows;
  return spec;
}

}  // namespace

Partition::Partition(const Engine& engine,
                     const ArrowTable& table,
                     const PartitionOptions& options) {
  const TablePtr& rows = table.state()->table;
  operators::PartitionSpec spec = value_or_throw(make_spec(options, *rows->schema));
  state_ = operation_state(engine,
                           value_or_throw(operators::TablePartition::create(
                               std::move(spec), rows, run_environment(engine))));
}

std::vector<int64_t> Partition::partition_rows() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<const operators::TablePartition&>(*state_->planned).partition_rows();
}

}  // namespace crossdock
