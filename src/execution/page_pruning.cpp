// Pages are row groups of one column to those who look at statistics.
#include "execution/page_pruning.hpp"

#include <algorithm>

#include "execution/row_group_bounds.hpp"
#include "scan/page_index.hpp"

namespace crossdock::execution {
namespace {

using Run = RowsLeft::Run;

constexpr int64_t kGapRows = 1 << 12;  // cheaper to test than a step of its own

const scan::ByteSource& file_of(const scan::ParquetTable& table, const Unit& unit) {
  return table.files().files()[static_cast<size_t>(unit.file)]->file();
}

bool can_match_within(const expressions::Expression& condition,
                      const scan::ColumnForm& form,
                      scan::Statistics statistics,
                      int64_t rows) {
  scan::ColumnChunk chunk;
  chunk.physical = form.physical;
  chunk.values = rows;
  chunk.statistics = std::move(statistics);
  return can_match(condition, form, chunk);
}

bool page_can_match(const ColumnConditions& of,
                    const scan::ColumnForm& form,
                    const scan::PageBounds& page) {
  return std::all_of(of.conditions.begin(), of.conditions.end(), [&](const auto& condition) {
    return can_match_within(*condition, form, page.statistics, page.row_end - page.row_begin);
  });
}

// True for the least and the largest value of the chunk, so for all between: its pages need no look.
bool holds_for_all(const ColumnConditions& of,
                   const scan::ColumnForm& form,
                   const scan::ColumnChunk& chunk) {
  using expressions::ExpressionOp;
  if (!chunk.statistics.min.has_value() || !chunk.statistics.max.has_value()) return false;
  scan::Statistics least = chunk.statistics;
  scan::Statistics largest = chunk.statistics;
  least.max = least.min;
  largest.min = largest.max;
  return std::all_of(of.conditions.begin(), of.conditions.end(), [&](const auto& condition) {
    const ExpressionOp op = condition->op;
    const bool is_end = op == ExpressionOp::kLess || op == ExpressionOp::kLessEqual ||
                        op == ExpressionOp::kGreater || op == ExpressionOp::kGreaterEqual;
    return is_end && can_match_within(*condition, form, least, chunk.values) &&
           can_match_within(*condition, form, largest, chunk.values);
  });
}

void add_run(std::vector<Run>& runs, Run run) {
  if (run.begin >= run.end) return;
  if (!runs.empty() && run.begin <= runs.back().end) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

std::vector<Run> intersected(const std::vector<Run>& a, const std::vector<Run>& b) {
  std::vector<Run> both;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    add_run(both, {std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)});
    ++(a[i].end < b[j].end ? i : j);
  }
  return both;
}

}  // namespace

RowsLeft rows_left(const scan::ParquetTable& table,
                   const Unit& unit,
                   const std::vector<ColumnConditions>& conditions) {
  RowsLeft left;
  const int64_t end = unit.begin + unit.rows;
  left.runs = {{unit.begin, end}};
  const auto& file = *table.files().files()[static_cast<size_t>(unit.file)];
  const int64_t rows = file.metadata().row_groups[static_cast<size_t>(unit.group)].rows;
  for (const ColumnConditions& of : conditions) {
    const scan::ColumnForm& form =
        table.columns()[static_cast<size_t>(of.column)].form_in(unit.file);
    if (!form.is_stored) continue;
    const scan::ColumnChunk& chunk = table.chunk(of.column, unit.file, unit.group);
    if (holds_for_all(of, form, chunk)) continue;
    const auto pages = scan::read_page_bounds(file.file(), chunk, rows);
    if (pages.empty()) continue;
    std::vector<Run> of_column;
    for (const scan::PageBounds& page : pages) {
      if (page.row_end <= unit.begin || page.row_begin >= end) continue;
      if (page_can_match(of, form, page)) {
        add_run(of_column, {page.row_begin, page.row_end});
      } else {
        ++left.pages_skipped;
      }
    }
    left.runs = intersected(left.runs, of_column);
  }
  std::vector<Run> joined;
  for (const Run& run : left.runs) {
    if (!joined.empty() && run.begin - joined.back().end < kGapRows) {
      joined.back().end = run.end;
    } else {
      joined.push_back(run);
    }
  }
  left.runs = std::move(joined);
  return left;
}

bool filters_pass(const scan::ParquetTable& table,
                  const Unit& unit,
                  const std::vector<ColumnConditions>& conditions) {
  return std::all_of(conditions.begin(), conditions.end(), [&](const ColumnConditions& of) {
    const scan::ColumnForm& form =
        table.columns()[static_cast<size_t>(of.column)].form_in(unit.file);
    const scan::ColumnChunk& chunk = table.chunk(of.column, unit.file, unit.group);
    if (!form.is_stored || chunk.bloom_filter_offset <= 0) return true;
    const auto filter = scan::BloomFilter::open(file_of(table, unit), chunk);
    if (!filter.has_value()) return true;
    return std::all_of(of.conditions.begin(), of.conditions.end(), [&](const auto& condition) {
      return can_be_held(*condition, form, *filter);
    });
  });
}

}  // namespace crossdock::execution
