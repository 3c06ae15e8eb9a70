// crossdock._native.Partition.
#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

using PartitionObject = OperationObject<crossdock::Partition>;

void init_partition(PartitionObject* self,
                    const crossdock::Engine& engine,
                    const crossdock::ArrowTable& table,
                    const nb::kwargs& arguments) {
  crossdock::PartitionOptions options;
  OptionReader given("Partition", arguments);
  given.read("keys", options.keys);
  given.read("partitions", options.partitions);
  given.read("how", options.how);
  given.read("output", options.output);
  given.read("batch_rows", options.batch_rows);
  given.finish();
  GilRelease released;
  new (self)
      PartitionObject{crossdock::Partition(engine, table, options), is_long_run(table.rows())};
}

}  // namespace

void bind_partition(nb::module_& module) {
  bind_operation<crossdock::Partition>(module, "Partition")
      .def("__init__", &init_partition, "engine"_a, "table"_a, "options"_a)
      .def("counts", [](const PartitionObject& self) { return self.operation.partition_rows(); });
}

}  // namespace crossdock::python
