#include "scan/parquet_file.hpp"

#include <algorithm>
#include <cstring>

#include "scan/footer_cache.hpp"
#include "scan/local_file.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kTailBytes = 8;  // length of the footer and magic
constexpr int64_t kFooterGuess = int64_t{64} << 10;

Error malformed(const ByteSource& file, std::string_view what) {
  return make_error(ErrorCode::kSourceFailed, "{}: {}", file.path(), what);
}

struct Footer {
  std::shared_ptr<const FileMetadata> metadata;
  int64_t bytes = 0;
};

// Reads what stands before the tail, mostly with the first read.
Result<Footer> read_footer(const ByteSource& file) {
  if (file.bytes() < kTailBytes + 4) return malformed(file, "it is too short for a Parquet file");
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min(file.bytes(), kFooterGuess)));
  CD_TRY(file.read(file.bytes() - static_cast<int64_t>(bytes.size()), bytes));
  const uint8_t* tail = bytes.data() + bytes.size() - kTailBytes;
  uint32_t length = 0;
  std::memcpy(&length, tail, sizeof(length));
  if (std::memcmp(tail + 4, "PARE", 4) == 0) {
    return make_error(ErrorCode::kUnsupportedType, "{}: it is encrypted", file.path());
  }
  if (std::memcmp(tail + 4, "PAR1", 4) != 0) return malformed(file, "it is no Parquet file");
  const int64_t needed = int64_t{length} + kTailBytes;
  if (needed > file.bytes()) return malformed(file, "its footer is longer than the file");
  if (needed > static_cast<int64_t>(bytes.size())) {
    bytes.resize(static_cast<size_t>(needed));
    CD_TRY(file.read(file.bytes() - needed, bytes));
  }
  const std::span<const uint8_t> all(bytes);
  auto parsed = parse_footer(all.subspan(all.size() - static_cast<size_t>(needed), length));
  if (!parsed.ok()) return malformed(file, parsed.error().message);
  if (parsed.value().is_encrypted) {
    return make_error(ErrorCode::kUnsupportedType, "{}: it is encrypted", file.path());
  }
  return Footer{std::make_shared<const FileMetadata>(std::move(parsed.value())), needed};
}

}  // namespace

Result<std::shared_ptr<const ParquetFile>> ParquetFile::open(const std::string& path,
                                                             bool stays_open) {
  CD_ASSIGN(const auto file, LocalFile::open(path, stays_open));
  FooterCache& cache = FooterCache::of_process();
  if (auto known = cache.find(file->identity()); known != nullptr) {
    return of_footer(file, std::move(known), /*is_checked=*/true);
  }
  CD_ASSIGN(Footer footer, read_footer(*file));
  CD_ASSIGN(auto opened, of_footer(file, footer.metadata, /*is_checked=*/false));
  cache.keep(file->identity(), std::move(footer.metadata), footer.bytes);
  return opened;
}

Result<std::shared_ptr<const ParquetFile>> ParquetFile::open(
    std::shared_ptr<const ByteSource> file) {
  CD_ASSIGN(Footer footer, read_footer(*file));
  return of_footer(std::move(file), std::move(footer.metadata), /*is_checked=*/false);
}

Result<std::shared_ptr<const ParquetFile>> ParquetFile::of_footer(
    std::shared_ptr<const ByteSource> file,
    std::shared_ptr<const FileMetadata> footer,
    bool is_checked) {
  auto opened = std::shared_ptr<ParquetFile>(new ParquetFile(std::move(file), std::move(footer)));
  CD_TRY(opened->number_leaves());
  if (!is_checked) CD_TRY(opened->check_chunks());
  return std::shared_ptr<const ParquetFile>(std::move(opened));
}

// Depth first, as the schema lies. What is open at a place is how many elements each group above it still has.
Status ParquetFile::number_leaves() {
  struct Group {
    size_t element;
    int64_t left;
    Levels levels;
  };
  std::vector<Group> open;
  ends_.assign(metadata_->schema.size(), metadata_->schema.size());
  for (size_t i = 0; i < metadata_->schema.size(); ++i) {
    const SchemaElement& element = metadata_->schema[i];
    for (; !open.empty() && open.back().left == 0; open.pop_back()) ends_[open.back().element] = i;
    Levels levels;
    if (i > 0) {
      if (open.empty()) return malformed(*file_, "its schema has parts outside of the root");
      --open.back().left;
      levels = open.back().levels;
      levels.repetition += element.repetition == kRepeated ? 1 : 0;
      levels.definition += element.repetition == kRequired ? 0 : 1;
    }
    if (element.children < 0) return malformed(*file_, "its schema is no tree");
    if (element.repetition < kRequired || element.repetition > kRepeated) {
      return malformed(*file_, "its schema has a part of no known repetition");
    }
    leaf_numbers_.push_back(static_cast<int>(leaf_elements_.size()));
    if (i == 0 || !element.physical.has_value()) {
      open.push_back({i, element.children, levels});
      continue;
    }
    ends_[i] = i + 1;
    leaf_elements_.push_back(static_cast<int>(i));
    levels_.push_back(levels);
  }
  return {};
}

Status ParquetFile::check_chunks() const {
  for (const RowGroup& group : metadata_->row_groups) {
    if (group.columns.size() != leaf_elements_.size()) {
      return malformed(*file_, "a row group has other columns than the schema");
    }
    for (size_t c = 0; c < group.columns.size(); ++c) {
      const ColumnChunk& chunk = group.columns[c];
      if (chunk.is_elsewhere || chunk.is_encrypted) continue;  // not read
      if (chunk.physical != element(static_cast<int>(c)).physical) {
        return malformed(*file_, "a column has another type than in the schema");
      }
      const bool is_inside = chunk.begin() >= 0 && chunk.compressed_bytes >= 0 &&
                             chunk.begin() <= file_->bytes() &&
                             chunk.compressed_bytes <= file_->bytes() - chunk.begin();
      if (!is_inside) return malformed(*file_, "a column lies beyond its end");
      if (!fits(chunk.histograms, c)) return malformed(*file_, "its histograms have other levels");
    }
  }
  return {};
}

// Others end a process that asks pyarrow for statistics of the column (version 26).
bool ParquetFile::fits(const LevelHistograms& histograms, size_t leaf) const {
  const auto has = [](int64_t levels, int64_t highest) {
    return levels == 0 || levels == highest + 1;
  };
  const bool is_string = element(static_cast<int>(leaf)).physical == PhysicalType::kByteArray;
  return has(histograms.repetition_levels, levels_[leaf].repetition) &&
         has(histograms.definition_levels, levels_[leaf].definition) &&
         (is_string || !histograms.has_string_bytes);
}

ColumnPlace ParquetFile::place(const ColumnPath& path) const {
  const std::vector<SchemaElement>& schema = metadata_->schema;
  size_t at = 0;
  for (const std::string& name : path) {
    if (at > 0 && (schema[at].physical.has_value() || schema[at].repetition == kRepeated)) {
      return {true, -1};
    }
    size_t child = at + 1;
    while (child < ends_[at] && schema[child].name != name) child = ends_[child];
    if (child >= ends_[at]) return {};
    at = child;
  }
  const bool is_leaf = at > 0 && schema[at].physical.has_value();
  return {true, is_leaf && schema[at].repetition != kRepeated ? leaf_numbers_[at] : -1};
}

std::string ParquetFile::schema_file() const {
  const std::string& footer = metadata_->schema_footer;
  const auto bytes = static_cast<uint32_t>(footer.size());
  std::string file = "PAR1" + footer;
  file.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
  return file + "PAR1";
}

}  // namespace crossdock::scan
