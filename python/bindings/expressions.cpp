// crossdock._native.Expr and compute_columns.
#include <nanobind/stl/variant.h>

#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

crossdock::ArrowTable computed(const crossdock::Engine& engine,
                               const crossdock::ArrowTable& table,
                               const std::vector<crossdock::NamedExpr>& columns) {
  GilRelease released;
  return crossdock::compute_columns(engine, table, columns);
}

}  // namespace

void bind_expressions(nb::module_& module) {
  using crossdock::Expr;
  using crossdock::Literal;
  nb::class_<Expr>(module, "Expr")
      .def_static("literal", &Expr::literal, "value"_a.none(), "type"_a)
      .def_static(
          "call",
          [](const std::string& function,
             const std::vector<Expr>& arguments,
             const std::vector<Literal>& values,
             const std::string& type) {
            return Expr::call(function, arguments, {values, type});
          },
          "function"_a,
          "arguments"_a,
          "values"_a = std::vector<Literal>(),
          "type"_a = "")
      .def_prop_ro("type", &Expr::type)
      .def("__repr__", &Expr::text);
  module.def("compute_columns", &computed, "engine"_a, "table"_a, "columns"_a);
}

}  // namespace crossdock::python
