// Filters of the keys of a table, which go between ranks before rows do.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings/gil.hpp"
#include "bindings/held_buffer.hpp"
#include "bindings/operation.hpp"
#include "bindings/results.hpp"
#include "data/sorters/row_filter.hpp"
#include "session/state.hpp"

namespace crossdock::python {
namespace {

// The first blocks of a filter of the keys of a table, as bytes.
nb::bytes filter_keys(const ArrowTable& rows,
                      const std::vector<int>& keys,
                      int64_t all_blocks,
                      std::optional<int64_t> first_key,
                      int64_t blocks) {
  const Table& table = *rows.state()->table;
  std::vector<uint64_t> filter_blocks(static_cast<size_t>(blocks));
  {
    const GilRelease released;
    sorters::RowFilter filter(*table.schema, keys, {all_blocks, first_key});
    for (const Batch& batch : table.batches) filter.enter(batch, filter_blocks);
  }
  return nb::bytes(filter_blocks.data(), filter_blocks.size() * sizeof(uint64_t));
}

// A RowFilter::Answer for each row; of a Bloom filter, of which the first blocks may be there alone.
nb::bytes filter_rows(const ArrowTable& rows,
                      const std::vector<int>& keys,
                      int64_t all_blocks,
                      std::optional<int64_t> first_key,
                      const nb::object& filter) {
  const Table& table = *rows.state()->table;
  const HeldBuffer held(filter);
  std::vector<uint8_t> answers(static_cast<size_t>(table.rows));
  {
    const GilRelease released;
    sorters::RowFilter tests(*table.schema, keys, {all_blocks, first_key});
    size_t row = 0;
    for (const Batch& batch : table.batches) {
      const auto count = static_cast<size_t>(batch.rows);
      tests.test(batch, held.as<uint64_t>(), std::span(answers).subspan(row, count));
      row += count;
    }
  }
  return nb::bytes(answers.data(), answers.size());
}

}  // namespace

void bind_key_filters(nb::module_& module) {
  module.def("filter_blocks", &sorters::RowFilter::blocks_for, "keys"_a);
  module.def("filter_keys",
             &filter_keys,
             "rows"_a,
             "keys"_a,
             "all_blocks"_a,
             "first_key"_a.none(),
             "blocks"_a);
  module.def("filter_rows",
             &filter_rows,
             "rows"_a,
             "keys"_a,
             "all_blocks"_a,
             "first_key"_a.none(),
             "filter"_a);
}

}  // namespace crossdock::python
