// Indexes of all row groups in one round of requests, pages by their runs of rows.
#include "execution/far_pages.hpp"

#include <algorithm>
#include <map>

#include "execution/page_pruning.hpp"

namespace crossdock::execution {
namespace {

// A request costs as long as some 512 KiB: of what a row group reads, an index may spare less than that.
constexpr int64_t kWorthBytes = int64_t{1} << 20;
constexpr int64_t kIndexesMost = int64_t{16} << 20;  // bytes of all indexes that are asked for

using Chosen = std::function<bool(const Unit&)>;

const scan::RangedFile* ranged(const scan::ParquetTable& table, const Unit& unit) {
  return table.files().files()[static_cast<size_t>(unit.file)]->file().ranged();
}

// The chunk of a column that the scan reads; nullptr: the file does not store it.
const scan::ColumnChunk* chunk_of(const FarScan& scan, const Unit& unit, size_t column) {
  const scan::ParquetColumn& of = scan.table.columns()[column];
  if (!scan.read[column] || of.leaves[static_cast<size_t>(unit.file)] < 0) return nullptr;
  return &scan.table.chunk(static_cast<int>(column), unit.file, unit.group);
}

int64_t read_bytes(const FarScan& scan, const Unit& unit) {
  int64_t bytes = 0;
  for (size_t c = 0; c < scan.table.columns().size(); ++c) {
    const scan::ColumnChunk* chunk = chunk_of(scan, unit, c);
    if (chunk != nullptr) bytes += chunk->compressed_bytes;
  }
  return bytes;
}

// Places of pages of what is read, and bounds of what has conditions, that are not at hand.
void add_indexes(const FarScan& scan, const Unit& unit, std::vector<scan::ByteRange>& ranges) {
  const scan::RangedFile& file = *ranged(scan.table, unit);
  const auto add = [&](int64_t offset, int64_t bytes) {
    const bool is_there = offset > 0 && bytes > 0 && bytes <= file.bytes() - offset;
    if (is_there && !file.is_at_hand(offset)) ranges.push_back({offset, offset + bytes});
  };
  for (const ColumnConditions& of : scan.conditions) {
    const scan::ColumnChunk* chunk = chunk_of(scan, unit, static_cast<size_t>(of.column));
    if (chunk == nullptr || chunk->offset_index_bytes == 0) continue;
    add(chunk->column_index_offset, chunk->column_index_bytes);
  }
  for (size_t c = 0; c < scan.table.columns().size(); ++c) {
    const scan::ColumnChunk* chunk = chunk_of(scan, unit, c);
    if (chunk != nullptr) add(chunk->offset_index_offset, chunk->offset_index_bytes);
  }
}

bool has_bounds(const FarScan& scan, const Unit& unit) {
  return std::any_of(
      scan.conditions.begin(), scan.conditions.end(), [&](const ColumnConditions& of) {
        const scan::ColumnChunk* chunk = chunk_of(scan, unit, static_cast<size_t>(of.column));
        return chunk != nullptr && chunk->column_index_bytes > 0;
      });
}

std::vector<std::shared_ptr<scan::FetchedRange>> ask_for_indexes(const FarScan& scan,
                                                                 const std::vector<Unit>& units,
                                                                 const Chosen& chosen) {
  std::map<const scan::RangedFile*, std::vector<scan::ByteRange>> by_file;
  const Unit* last = nullptr;
  for (const Unit& unit : units) {
    const bool is_same = last != nullptr && last->file == unit.file && last->group == unit.group;
    if (is_same || ranged(scan.table, unit) == nullptr || !chosen(unit)) continue;
    last = &unit;
    if (!has_bounds(scan, unit) || read_bytes(scan, unit) < kWorthBytes) continue;
    add_indexes(scan, unit, by_file[ranged(scan.table, unit)]);
  }
  std::vector<std::shared_ptr<scan::FetchedRange>> asked;
  int64_t left = kIndexesMost;
  for (auto& [file, ranges] : by_file) {
    for (const scan::ByteRange& range : scan::coalesced(std::move(ranges))) {
      left -= range.end - range.begin;
      if (left < 0) return asked;
      asked.push_back(file->ask(range, Block()));
    }
  }
  return asked;
}

bool meets(const scan::PagePlace& place, int64_t end, const std::vector<RowsLeft::Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const RowsLeft::Run& run) {
    return place.row_begin < run.end && run.begin < end;
  });
}

// The dictionary, and pages that have rows of the runs.
void add_pages(const scan::ColumnChunk& chunk,
               const std::vector<scan::PagePlace>& places,
               const std::vector<RowsLeft::Run>& runs,
               std::vector<scan::ByteRange>& ranges) {
  if (runs.empty()) return;
  if (places.empty()) {
    ranges.push_back({chunk.begin(), chunk.begin() + chunk.compressed_bytes});
    return;
  }
  ranges.push_back({chunk.begin(), places[0].offset});
  for (size_t p = 0; p < places.size(); ++p) {
    const int64_t end = p + 1 < places.size() ? places[p + 1].row_begin : chunk.values;
    if (meets(places[p], end, runs)) {
      ranges.push_back({places[p].offset, places[p].offset + places[p].bytes});
    }
  }
}

std::shared_ptr<const UnitPages> pages_of(const FarScan& scan, const Unit& unit) {
  const RowsLeft left = rows_left(scan.table, unit, scan.conditions);
  int64_t rows = 0;
  for (const RowsLeft::Run& run : left.runs) rows += run.end - run.begin;
  if (rows >= unit.rows / 2) return nullptr;
  auto pages = std::make_shared<UnitPages>();
  pages->places.resize(scan.table.columns().size());
  const auto& file = *scan.table.files().files()[static_cast<size_t>(unit.file)];
  for (size_t c = 0; c < pages->places.size(); ++c) {
    const scan::ColumnChunk* chunk = chunk_of(scan, unit, c);
    if (chunk == nullptr) continue;
    pages->places[c] = scan::read_page_places(file.file(), *chunk, chunk->values);
    add_pages(*chunk, pages->places[c], left.runs, pages->ranges);
  }
  return pages;
}

}  // namespace

std::vector<std::shared_ptr<scan::FetchedRange>> narrow_units(const FarScan& scan,
                                                              std::vector<Unit>& units,
                                                              const Chosen& chosen) {
  if (scan.conditions.empty()) return {};
  auto indexes = ask_for_indexes(scan, units, chosen);
  for (Unit& unit : units) {
    if (ranged(scan.table, unit) == nullptr || !chosen(unit) || !has_bounds(scan, unit)) continue;
    unit.pages = pages_of(scan, unit);
  }
  return indexes;
}

}  // namespace crossdock::execution
