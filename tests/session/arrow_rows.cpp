// Rows made by hand, and read back through the buffers that the interface hands out.
#include "session/arrow_rows.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace crossdock {

using arrow_test::fixed;
using arrow_test::Optionals;

arrow_test::Columns key_columns(int64_t begin, int64_t count) {
  Optionals<int64_t> keys;
  Optionals<int64_t> values;
  for (int64_t row = begin; row < begin + count; ++row) {
    keys.emplace_back(row);
    values.emplace_back(row * 10);
  }
  return {{"k", fixed<int64_t>("l", keys)}, {"v", fixed<int64_t>("l", values)}};
}

ArrowArray key_rows(int64_t begin, int64_t count) {
  return arrow_test::make_array(key_columns(begin, count));
}

ArrowTable table_of(const Engine& engine, std::vector<arrow_test::Columns> batches) {
  ArrowArrayStream stream = arrow_test::make_stream(std::move(batches));
  return ArrowTable::from_stream(engine, &stream);
}

std::vector<std::string> lines_of(const ArrowTable& table) {
  const Table& rows = *table.state()->table;
  std::vector<std::string> lines(static_cast<size_t>(rows.rows));
  for (int column = 0; column < rows.schema->column_count(); ++column) {
    const arrow_test::Strings cells = arrow_test::cells(rows, column);
    for (size_t row = 0; row < lines.size(); ++row) lines[row] += cells[row] + " ";
  }
  std::ranges::sort(lines);
  return lines;
}

std::vector<int64_t> integers_of(const ReceivedRows& rows, int column) {
  ArrowArray array;
  rows.export_array(&array);
  const ArrowArray& child = *array.children[column];
  const auto* begin = static_cast<const int64_t*>(child.buffers[1]) + child.offset;
  std::vector<int64_t> values(begin, begin + child.length);
  array.release(&array);
  return values;
}

void expect_thrown(const std::function<void()>& act, const char* code, const char* text) {
  try {
    act();
    ADD_FAILURE() << "nothing was thrown, but " << code << " " << text << " was to come";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace crossdock
