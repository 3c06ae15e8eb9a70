// What the readers of CSV in Python ask of the engine's.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/gil.hpp"
#include "bindings/held_buffer.hpp"
#include "bindings/operation.hpp"
#include "session/csv_bad_values.hpp"

namespace crossdock::python {

void bind_csv_values(nb::module_& module) {
  module.def(
      "csv_bad_values",
      [](const Engine& engine,
         const nb::object& offsets,
         const nb::object& bytes,
         const ArrowTable& like,
         const std::vector<std::string>& nulls) {
        const HeldBuffer ends(offsets);
        const HeldBuffer text(bytes);
        const GilRelease released;
        return csv_bad_values(engine, {ends.as<int32_t>(), text.as<uint8_t>()}, like, nulls);
      },
      "engine"_a,
      "offsets"_a,
      "bytes"_a,
      "like"_a,
      "nulls"_a);
}

}  // namespace crossdock::python
