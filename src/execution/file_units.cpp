#include "execution/file_units.hpp"

#include <algorithm>
#include <numeric>

namespace crossdock::execution {
namespace {

using scan::ParquetTable;

constexpr int64_t kPartRowsLeast = int64_t{1} << 16;
constexpr int64_t kUnitsPerWorker = 4;
constexpr int64_t kAheadBytesMost = int64_t{64} << 20;
constexpr int64_t kAheadShare = 4;  // of the budget, one part in so many
constexpr int64_t kFirstPages = int64_t{64} << 10;

int64_t group_count(const ParquetTable& table) {
  int64_t groups = 0;
  for (const auto& file : table.files().files()) {
    groups += static_cast<int64_t>(file->metadata().row_groups.size());
  }
  return groups;
}

}  // namespace

std::vector<Unit> cut_units(const ParquetTable& table, int workers, const ReadRowGroups& is_read) {
  const int64_t groups = std::max<int64_t>(1, group_count(table));
  const int64_t parts_wanted = (kUnitsPerWorker * workers + groups - 1) / groups;
  std::vector<Unit> units;
  int64_t first_row = 0;
  const auto& files = table.files().files();
  for (size_t f = 0; f < files.size(); ++f) {
    const auto& row_groups = files[f]->metadata().row_groups;
    for (size_t g = 0; g < row_groups.size(); ++g) {
      const int64_t rows = row_groups[g].rows;
      const int64_t parts = std::clamp<int64_t>(rows / kPartRowsLeast, 1, parts_wanted);
      const int64_t part_rows = (rows + parts - 1) / parts;
      const int64_t end = is_read.empty() || is_read[f][g] ? rows : 0;
      for (int64_t begin = 0; begin < end; begin += part_rows) {
        Unit& unit = units.emplace_back();
        unit.file = static_cast<int>(f);
        unit.group = static_cast<int>(g);
        unit.begin = begin;
        unit.rows = std::min(part_rows, rows - begin);
        unit.first_row = first_row + begin;
      }
      first_row += rows;
    }
  }
  return units;
}

int64_t row_count(const std::vector<Unit>& units) {
  return std::accumulate(
      units.begin(), units.end(), int64_t{0}, [](int64_t rows, const Unit& unit) {
        return rows + unit.rows;
      });
}

namespace {

// Of a chunk of `rows`, what holds the first `needed_rows` of them: about as large a share, and a page.
scan::ByteRange first_rows(const scan::ColumnChunk& chunk, int64_t rows, int64_t needed_rows) {
  const int64_t begin = chunk.begin();
  int64_t bytes = chunk.compressed_bytes;
  if (needed_rows < rows / 2) {
    const double share = static_cast<double>(needed_rows) / static_cast<double>(rows);
    const auto dictionary = std::max<int64_t>(0, chunk.data_page_offset - begin);
    const auto some = static_cast<int64_t>(share * 1.5 * static_cast<double>(bytes));
    bytes = std::min(bytes, dictionary + some + kFirstPages);
  }
  return {begin, begin + bytes};
}

// nullptr: no file lies elsewhere.
std::unique_ptr<scan::ReadAhead> ahead_for(const ParquetTable& table,
                                           const std::shared_ptr<Memory>& memory) {
  const auto& files = table.files().files();
  const bool any = std::any_of(files.begin(), files.end(), [](const auto& file) {
    return file->file().ranged() != nullptr;
  });
  if (!any) return nullptr;
  const int64_t bytes = std::min(kAheadBytesMost, memory->limit_bytes() / kAheadShare);
  return std::make_unique<scan::ReadAhead>(memory, bytes);
}

// Of the columns that are read, for the first `needed_rows` rows. `read` may know of one more, the numbers of rows.
std::vector<scan::ByteRange> ranges_of_group(const ParquetTable& table,
                                             const Unit& unit,
                                             const std::vector<bool>& read,
                                             int64_t needed_rows) {
  const scan::ParquetFile& file = *table.files().files()[static_cast<size_t>(unit.file)];
  const int64_t rows = file.metadata().row_groups[static_cast<size_t>(unit.group)].rows;
  std::vector<scan::ByteRange> ranges;
  for (size_t c = 0; c < table.columns().size(); ++c) {
    const scan::ParquetColumn& column = table.columns()[c];
    if (!read[c] || column.leaves[static_cast<size_t>(unit.file)] < 0) continue;
    const scan::ColumnChunk& chunk = table.chunk(static_cast<int>(c), unit.file, unit.group);
    ranges.push_back(first_rows(chunk, rows, needed_rows));
  }
  return ranges;
}

}  // namespace

std::unique_ptr<scan::ReadAhead> read_ahead_of(const ParquetTable& table,
                                               std::vector<Unit>& units,
                                               const std::vector<bool>& read,
                                               const std::shared_ptr<Memory>& memory,
                                               const std::function<bool(const Unit&)>& is_read) {
  const auto& files = table.files().files();
  auto ahead = ahead_for(table, memory);
  if (ahead == nullptr) return nullptr;
  for (size_t u = 0; u < units.size();) {
    const Unit& first = units[u];
    size_t end = u;  // of the units of its row group
    int64_t last_row = 0;
    int uses = 0;
    bool is_narrow = true;
    std::vector<scan::ByteRange> of_pages;
    for (; end < units.size() && units[end].file == first.file && units[end].group == first.group;
         ++end) {
      if (!is_read(units[end])) continue;
      last_row = units[end].begin + units[end].rows;
      ++uses;
      const UnitPages* pages = units[end].pages.get();
      is_narrow &= pages != nullptr;
      if (is_narrow) of_pages.insert(of_pages.end(), pages->ranges.begin(), pages->ranges.end());
    }
    const scan::RangedFile* file = files[static_cast<size_t>(first.file)]->file().ranged();
    int part = -1;
    if (file != nullptr && uses > 0) {
      if (!is_narrow) of_pages = ranges_of_group(table, first, read, last_row);
      part = ahead->add(*file, std::move(of_pages), uses);
    }
    for (; u < end; ++u) units[u].part = is_read(units[u]) ? part : -1;
  }
  return ahead;
}

void keep_first_rows(std::vector<Unit>& units, int64_t rows) {
  size_t kept = 0;
  for (; kept < units.size() && rows > 0; ++kept) {
    units[kept].rows = std::min(units[kept].rows, rows);
    rows -= units[kept].rows;
  }
  units.resize(kept);
}

std::unique_ptr<scan::ReadAhead> read_ahead_of_groups(const ParquetTable& table,
                                                      const std::vector<Unit>& groups,
                                                      const std::vector<bool>& read,
                                                      const std::shared_ptr<Memory>& memory) {
  auto ahead = ahead_for(table, memory);
  if (ahead == nullptr) return nullptr;
  int parts = 0;
  for (const Unit& group : groups) {
    const auto& of = *table.files().files()[static_cast<size_t>(group.file)];
    const scan::RangedFile* file = of.file().ranged();
    if (file == nullptr) continue;
    ahead->add(*file, ranges_of_group(table, group, read, group.rows), 1);
    ++parts;
  }
  if (parts > 0) ahead->begin(0);
  return ahead;
}

}  // namespace crossdock::execution
