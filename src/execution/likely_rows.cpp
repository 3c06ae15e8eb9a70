#include "execution/likely_rows.hpp"

#include <algorithm>
#include <optional>

#include "base/int128.hpp"
#include "execution/row_group_bounds.hpp"
#include "scan/page_index.hpp"

namespace crossdock::execution {
namespace {

using operators::SortKey;
using scan::ParquetTable;

constexpr size_t kUnitsMost = 4;  // whose pages are looked at
constexpr size_t kPiecesMost = 8;
constexpr int64_t kShareBehind =
    4;  // one row in so many at least lies behind the piece that comes first

// Rows whose values lie between two: the lower a number, the earlier it comes.
struct Piece {
  Int128 first = 0;
  Int128 last = 0;
  Unit unit;
};

std::optional<Piece> piece_of(const scan::ColumnForm& form,
                              const scan::ColumnChunk& chunk,
                              const SortKey& key,
                              const Unit& unit) {
  const auto bounds = exact_bounds(form, chunk);
  if (!bounds.has_value()) return std::nullopt;
  const auto* min = std::get_if<Int128>(&bounds->first);
  const auto* max = std::get_if<Int128>(&bounds->second);
  if (min == nullptr || max == nullptr) return std::nullopt;
  return key.descending ? Piece{-*max, -*min, unit} : Piece{*min, *max, unit};
}

// The pages of a unit; the unit where it is not known where they are.
std::vector<Piece> pages_of(const ParquetTable& table, const Piece& whole, const SortKey& key) {
  const Unit& unit = whole.unit;
  const scan::ParquetFile& file = *table.files().files()[static_cast<size_t>(unit.file)];
  const scan::ColumnForm& form =
      table.columns()[static_cast<size_t>(key.column)].form_in(unit.file);
  if (!form.is_stored) return {whole};
  const scan::ColumnChunk& chunk = table.chunk(key.column, unit.file, unit.group);
  const int64_t rows = file.metadata().row_groups[static_cast<size_t>(unit.group)].rows;
  const auto pages = scan::read_page_bounds(file.file(), chunk, rows);
  if (pages.empty()) return {whole};
  std::vector<Piece> pieces;
  for (const scan::PageBounds& page : pages) {
    Unit part = unit;
    part.begin = std::max(unit.begin, page.row_begin);
    part.rows = std::min(unit.begin + unit.rows, page.row_end) - part.begin;
    part.first_row += part.begin - unit.begin;
    if (part.rows <= 0) continue;
    scan::ColumnChunk of_page;
    of_page.physical = form.physical;
    of_page.values = page.row_end - page.row_begin;
    of_page.statistics = page.statistics;
    if (auto piece = piece_of(form, of_page, key, part)) pieces.push_back(*std::move(piece));
  }
  return pieces;
}

void put_first(std::vector<Piece>& pieces, size_t most) {
  std::ranges::stable_sort(pieces, {}, &Piece::first);
  pieces.resize(std::min(pieces.size(), most));
}

int64_t rows_behind(const std::vector<Piece>& pieces, Int128 last) {
  int64_t rows = 0;
  for (const Piece& piece : pieces) rows += piece.first > last ? piece.unit.rows : 0;
  return rows;
}

}  // namespace

std::vector<Unit> likely_first(const ParquetTable& table,
                               const std::vector<Unit>& units,
                               const SortKey& key,
                               const std::function<bool(const Unit&)>& may_match) {
  std::vector<Piece> known;
  int64_t rows = 0;
  for (const Unit& unit : units) {
    const auto& file = *table.files().files()[static_cast<size_t>(unit.file)];
    if (file.file().ranged() != nullptr) return {};
    if (!may_match(unit)) continue;
    rows += unit.rows;
    const scan::ColumnForm& form =
        table.columns()[static_cast<size_t>(key.column)].form_in(unit.file);
    const scan::ColumnChunk& chunk = table.chunk(key.column, unit.file, unit.group);
    if (auto piece = piece_of(form, chunk, key, unit)) known.push_back(*std::move(piece));
  }
  std::vector<Piece> units_first = known;
  put_first(units_first, kUnitsMost);
  std::vector<Piece> pieces;
  for (const Piece& unit : units_first)
    std::ranges::move(pages_of(table, unit, key), std::back_inserter(pieces));
  if (pieces.empty()) return {};
  const Int128 last = std::ranges::min(pieces, {}, &Piece::first).last;
  // Of units that are looked at, those pages that lie behind count where the unit does not.
  const int64_t behind =
      rows_behind(known, last) - rows_behind(units_first, last) + rows_behind(pieces, last);
  if (behind * kShareBehind < rows) return {};
  put_first(pieces, kPiecesMost);
  std::vector<Unit> likely;
  for (const Piece& piece : pieces) likely.push_back(piece.unit);
  return likely;
}

}  // namespace crossdock::execution
