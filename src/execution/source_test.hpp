// A test of a stage behind a file, applied by the source to the columns that it reads first.
#pragma once

#include <memory>
#include <vector>

#include "execution/column_filter.hpp"
#include "execution/column_gather.hpp"
#include "execution/stage.hpp"
#include "scan/column_cursor.hpp"
#include "table/schema.hpp"

namespace crossdock::execution {

// One worker's own.
class SourceTest {
 public:
  SourceTest(std::unique_ptr<RowTest> test, const Schema& schema);

  // Whether it drops enough rows to pay for reading a column first.
  bool is_worth_it() const;
  // The rows of the step that may pass, in `kept`. `cursors`: by column.
  Result<StepRows> select(const std::vector<std::unique_ptr<scan::ColumnCursor>>& cursors,
                          StepRows rows,
                          uint32_t* kept);

 private:
  std::unique_ptr<RowTest> test_;
  std::vector<ColumnBuffer> buffers_;  // by column of the test
  int64_t seen_ = 0;
  int64_t kept_ = 0;
};

}  // namespace crossdock::execution
