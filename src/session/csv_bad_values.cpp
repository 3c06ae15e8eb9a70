#include "session/csv_bad_values.hpp"

#include "scan/csv_bad_values.hpp"
#include "session/state.hpp"

namespace crossdock {

std::vector<int64_t> csv_bad_values(const Engine& engine,
                                    const CsvStrings& strings,
                                    const ArrowTable& like,
                                    const std::vector<std::string>& nulls) {
  const Field& field = like.state()->table->schema->fields.front();
  return value_or_throw(
      scan::csv_bad_values(strings.bytes, strings.ends, field, nulls, engine.state()->memory));
}

}  // namespace crossdock
