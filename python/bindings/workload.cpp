// crossdock._native.Workload.
#include <crossdock/workload.hpp>

#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

void init_workload(crossdock::Workload* self, const nb::kwargs& arguments) {
  crossdock::WorkloadOptions options;
  OptionReader given("Workload", arguments);
  given.read("inner_rows", options.inner_rows);
  given.read("outer_rows", options.outer_rows);
  given.read("selectivity", options.selectivity);
  given.read("zipf_theta", options.zipf_theta);
  given.read("is_sparse", options.is_sparse);
  given.read("seed", options.seed);
  given.finish();
  new (self) crossdock::Workload(options);
}

}  // namespace

void bind_workload(nb::module_& module) {
  nb::class_<crossdock::Workload>(module, "Workload")
      .def("__init__", &init_workload, "options"_a)
      .def_prop_ro("result_rows", &crossdock::Workload::result_rows)
      .def(
          "read",
          [](const crossdock::Workload& self, bool outer, int64_t begin, int64_t rows) {
            return stream_of([&](ArrowArrayStream* out) { self.read(outer, begin, rows, out); });
          },
          "outer"_a,
          "begin"_a,
          "rows"_a);
}

}  // namespace crossdock::python
