// The rows of a table in memory, but for zones in which no row can meet what stands behind.
#pragma once

#include <memory>
#include <string>

#include "execution/pipeline.hpp"
#include "operators/run/morsel.hpp"

namespace crossdock::execution {

// Pushes the rows of a morsel as blocks. `number`: of the morsel.
Status push_rows(int worker, const operators::Morsel& morsel, int64_t number, BlockSink& first);

// `store`: of the rows of the table.
std::unique_ptr<Source> make_table_source(TablePtr table,
                                          std::shared_ptr<const RowStore> store,
                                          std::string name,
                                          int threads);

// Whether a column of the chain is one of a table in memory in which neighbouring rows have values close to each other.
bool has_narrow_zones(const Chain& chain, int column);

}  // namespace crossdock::execution
