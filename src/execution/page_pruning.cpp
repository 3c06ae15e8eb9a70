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

bool page_can_match(const ColumnConditions& of,
                    const scan::ColumnForm& form,
                    const scan::PageBounds& page) {
  scan::ColumnChunk chunk;
  chunk.physical = form.physical;
  chunk.values = page.row_end - page.row_begin;
  chunk.statistics = page.statistics;
  return std::all_of(of.conditions.begin(), of.conditions.end(), [&](const auto& condition) {
    return can_match(*condition, form, chunk);
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
