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
  for (const auto& [key, value] : arguments) {
    const auto name = nb::cast<std::string>(key);
    if (name == "keys")
      options.keys = nb::cast<std::vector<std::string>>(value);
    else if (name == "partitions")
      options.partitions = nb::cast<int>(value);
    else if (name == "by")
      options.by = nb::cast<std::string>(value);
    else if (name == "output")
      options.output = nb::cast<std::vector<std::string>>(value);
    else if (name == "batch_rows")
      options.batch_rows = nb::cast<int64_t>(value);
    else
      throw nb::type_error(("Partition has no option " + name).c_str());
  }
  nb::gil_scoped_release released;
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
