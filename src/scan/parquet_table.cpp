#include "scan/parquet_table.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <unordered_map>

#include "base/team.hpp"
#include "scan/codec.hpp"
#include "scan/page_store.hpp"
#include "scan/page_values.hpp"
#include "scan/ranged_file.hpp"

namespace crossdock::scan {
namespace {

// Of all dictionaries of a column together, and of one on average: beyond that, strings differ too much for codes to
// spare anything. Groups of all rows gain more: 2 million rows of 30,000 strings in 16 row groups, whose dictionaries
// have 180 KiB, take 31 ms instead of 61.
constexpr int64_t kCodedBytesMost = int64_t{16} << 20;
constexpr int64_t kDictionaryBytesMost = int64_t{32} << 10;
constexpr int64_t kKeyDictionaryBytesMost = int64_t{256} << 10;
constexpr size_t kOpenFilesMost = 64;  // of one scan, of the 1024 that a process mostly may have
constexpr size_t kFilesPerThread = 8;
constexpr size_t kOpeningThreads = 8;

Error not_read(const ByteSource& file, std::string_view column, std::string_view why) {
  return make_error(ErrorCode::kUnsupportedType,
                    "column \"{}\" of {} is not read here: {}",
                    column,
                    file.path(),
                    why);
}

Status check_chunk(const ParquetFile& file, const ColumnChunk& chunk, const ColumnForm& form) {
  const std::string& name = chunk.path.empty() ? file.file().path() : chunk.path.back();
  if (chunk.is_encrypted) return not_read(file.file(), name, "it is encrypted");
  if (chunk.is_elsewhere) return not_read(file.file(), name, "it lies in another file");
  if (chunk.physical != form.physical) {
    return not_read(file.file(), name, "a row group has it in another type than the schema");
  }
  if (!reads_codec(chunk.codec)) {
    return not_read(
        file.file(), name, fmt::format("it is compressed by {}", codec_name(chunk.codec)));
  }
  return {};
}

// Numbers by their bytes, booleans as one, strings of 32-bit offsets as they are.
Status append_values(const ColumnView& column,
                     const Field& field,
                     std::vector<std::optional<std::string>>& values) {
  const Layout lies = layout(field.type);
  const bool is_read =
      lies == Layout::kFixed || lies == Layout::kBits || lies == Layout::kOffsets32;
  if (!is_read || field.type.id == TypeId::kDictionary) {
    return make_error(ErrorCode::kUnsupportedType,
                      "values of \"{}\" for whole files are of type {}",
                      field.name,
                      type_name(field.type));
  }
  const int32_t width = fixed_bytes(field.type);
  for (int64_t row = 0; row < column.length; ++row) {
    auto& value = values.emplace_back();
    if (!column.is_valid(row)) continue;
    const int64_t at = column.offset + row;
    if (lies == Layout::kBits) {
      value = std::string(1, static_cast<char>((column.values[at >> 3] >> (at & 7)) & 1));
      continue;
    }
    const auto* bytes = reinterpret_cast<const char*>(column.values);
    if (lies == Layout::kFixed) {
      value = std::string(bytes + at * width, static_cast<size_t>(width));
      continue;
    }
    const auto* offsets = static_cast<const int32_t*>(column.offsets) + at;
    value = std::string(bytes + offsets[0], static_cast<size_t>(offsets[1] - offsets[0]));
  }
  return {};
}

// Of the dictionary of a chunk, whose bytes the store keeps.
Status read_strings(const ByteSource& file,
                    const ColumnChunk& chunk,
                    PageStore& store,
                    std::vector<StringView>& strings) {
  CD_TRY(store.open_dictionary(file, chunk));
  const auto bytes = store.dictionary();
  const int32_t count = store.dictionary_values();
  if (count > static_cast<int64_t>(bytes.size()) / 4) {
    return make_error(ErrorCode::kSourceFailed, "a dictionary has fewer values than it says");
  }
  ColumnForm form;
  form.physical = PhysicalType::kByteArray;
  CD_ASSIGN(PageValues values, PageValues::create(bytes, Encoding::kPlain, form));
  strings.resize(static_cast<size_t>(count));
  return values.read_strings(count, 0, strings.data());
}

}  // namespace

Result<std::shared_ptr<const ParquetFiles>> ParquetFiles::open(
    const std::vector<std::string>& paths) {
  auto opened = std::shared_ptr<ParquetFiles>(new ParquetFiles);
  CD_TRY(opened->open_all(paths));
  for (const auto& file : opened->files_) opened->rows_ += file->metadata().rows;
  return std::shared_ptr<const ParquetFiles>(std::move(opened));
}

Result<std::shared_ptr<const ParquetFiles>> ParquetFiles::open(std::vector<RemoteFile> files) {
  auto opened = std::shared_ptr<ParquetFiles>(new ParquetFiles);
  const auto recent = std::make_shared<RecentRanges>();
  for (RemoteFile& described : files) {
    auto file = std::make_shared<const RangedFile>(std::move(described), recent);
    CD_ASSIGN(opened->files_.emplace_back(), ParquetFile::open(std::move(file)));
    opened->rows_ += opened->files_.back()->metadata().rows;
  }
  return std::shared_ptr<const ParquetFiles>(std::move(opened));
}

Result<std::shared_ptr<const ParquetFiles>> ParquetFiles::with_values(const Table& values) const {
  auto others = same();
  CD_TRY(others->add_values(values));
  return std::shared_ptr<const ParquetFiles>(std::move(others));
}

std::shared_ptr<const ParquetFiles> ParquetFiles::with_paths(
    std::map<std::string, ColumnPath> paths) const {
  auto others = same();
  others->paths_ = std::move(paths);
  return others;
}

std::shared_ptr<ParquetFiles> ParquetFiles::same() const {
  auto files = std::shared_ptr<ParquetFiles>(new ParquetFiles);
  files->files_ = files_;
  files->rows_ = rows_;
  files->values_ = values_;
  files->paths_ = paths_;
  return files;
}

// Of many files several at once: each may lie far away.
Status ParquetFiles::open_all(const std::vector<std::string>& paths) {
  const bool stays_open = paths.size() <= kOpenFilesMost;
  files_.resize(paths.size());
  std::atomic<size_t> next{0};
  const auto open_some = [&](int) -> Status {
    for (size_t f = next++; f < paths.size(); f = next++) {
      CD_ASSIGN(files_[f], ParquetFile::open(paths[f], stays_open));
    }
    return {};
  };
  if (paths.size() < kFilesPerThread) return open_some(0);
  Team team(static_cast<int>(std::min(kOpeningThreads, paths.size() / kFilesPerThread)));
  return team.run(open_some);
}

std::vector<int> ParquetFiles::schema_numbers() const {
  std::unordered_map<std::string_view, int> known;
  std::vector<int> numbers;
  for (const auto& file : files_) {
    const auto number = static_cast<int>(numbers.size());
    numbers.push_back(known.emplace(file->metadata().schema_bytes, number).first->second);
  }
  return numbers;
}

Status ParquetFiles::add_values(const Table& values) {
  if (values.rows != static_cast<int64_t>(files_.size())) {
    return make_error(
        ErrorCode::kInvalidArgument, "{} files have {} rows of values", files_.size(), values.rows);
  }
  for (size_t c = 0; c < values.schema->fields.size(); ++c) {
    const Field& field = values.schema->fields[c];
    FileValues& column = values_[field.name];
    column.type = field.type;
    for (const Batch& batch : values.batches) {
      CD_TRY(append_values(batch.columns[c], field, column.values));
    }
  }
  return {};
}

const FileValues* ParquetFiles::values_of(const std::string& column) const {
  const auto value = values_.find(column);
  return value == values_.end() ? nullptr : &value->second;
}

ColumnPath ParquetFiles::path_of(const std::string& column) const {
  const auto path = paths_.find(column);
  return path == paths_.end() ? ColumnPath{column} : path->second;
}

Status ParquetFiles::add_dictionaries(const ParquetFile& file,
                                      int leaf,
                                      const std::shared_ptr<Memory>& memory,
                                      StringCodes& codes) const {
  PageStore store(memory);
  std::vector<StringView> strings;
  for (const RowGroup& group : file.metadata().row_groups) {
    if (group.rows == 0) continue;
    const ColumnChunk& chunk = group.columns[static_cast<size_t>(leaf)];
    const Status status = read_strings(file.file(), chunk, store, strings);
    if (!status.ok()) return in_chunk(status.error(), file.file(), chunk);
    const uint8_t* heap = store.dictionary().data();
    const auto heap_bytes = std::ssize(store.dictionary());
    ColumnView column;
    column.length = std::ssize(strings);
    column.values = reinterpret_cast<const uint8_t*>(strings.data());
    column.heaps = &heap;
    column.heap_bytes = &heap_bytes;
    column.heap_count = 1;
    CD_TRY(codes.add(column));
  }
  return {};
}

Result<std::shared_ptr<const StringCodes>> ParquetFiles::string_codes(
    const std::string& column,
    const std::vector<int>& leaves,
    const std::shared_ptr<Memory>& memory) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const StringCodes>& known = codes_[column];
  if (known != nullptr) return known;
  auto codes = std::make_shared<StringCodes>();
  const FileValues* values = values_of(column);
  for (size_t f = 0; f < files_.size(); ++f) {
    if (values != nullptr && values->values[f].has_value()) CD_TRY(codes->add(*values->values[f]));
    if (leaves[f] >= 0) CD_TRY(add_dictionaries(*files_[f], leaves[f], memory, *codes));
  }
  codes->freeze();
  known = std::move(codes);
  return known;
}

Result<std::shared_ptr<const ParquetTable>> ParquetTable::create(
    std::shared_ptr<const ParquetFiles> files,
    const Schema& expected,
    bool with_codes,
    const std::vector<std::string>& keys) {
  auto table = std::shared_ptr<ParquetTable>(new ParquetTable);
  table->files_ = std::move(files);
  for (const Field& field : expected.fields) {
    const bool is_key = std::find(keys.begin(), keys.end(), field.name) != keys.end();
    const int64_t bytes_most = is_key ? kKeyDictionaryBytesMost : kDictionaryBytesMost;
    CD_TRY(table->add_column(field, with_codes ? bytes_most : 0));
  }
  auto schema = std::make_shared<Schema>(expected);
  for (size_t c = 0; c < table->columns_.size(); ++c) {
    schema->fields[c].type = table->columns_[c].form.type;
  }
  table->schema_ = std::move(schema);
  return std::shared_ptr<const ParquetTable>(std::move(table));
}

Result<ColumnForm> ParquetTable::form_of(const Field& expected,
                                         size_t file,
                                         ColumnPlace place) const {
  const ParquetFile& of = *files_->files()[file];
  const FileValues* values = files_->values_of(expected.name);
  if (values != nullptr && !(values->type == expected.type)) {
    return not_read(of.file(), expected.name, "its values are of another type");
  }
  if (values != nullptr) return unstored_form(expected.type, values->values[file]);
  if (place.leaf >= 0) {
    return column_form(of.element(place.leaf), of.definition_levels(place.leaf), expected.type);
  }
  if (place.is_there) return not_read(of.file(), expected.name, "it is nested");
  if (expected.type.id == TypeId::kDictionary) {
    return not_read(of.file(), expected.name, "dictionaries are not read here");
  }
  return unstored_form(expected.type, std::nullopt);
}

// Neighbours are mostly alike.
Status ParquetTable::add_column(const Field& expected, int64_t dictionary_bytes_most) {
  ParquetColumn column;
  for (size_t f = 0; f < files_->files().size(); ++f) {
    const ParquetFile& file = *files_->files()[f];
    const ColumnPlace place = file.place(files_->path_of(expected.name));
    CD_ASSIGN(ColumnForm form, form_of(expected, f, place));
    const int leaf = form.is_stored ? place.leaf : -1;
    column.leaves.push_back(leaf);
    if (leaf >= 0) {
      for (const RowGroup& group : file.metadata().row_groups) {
        CD_TRY(check_chunk(file, group.columns[static_cast<size_t>(leaf)], form));
      }
    }
    if (column.columns.empty() || !(column.columns.back().form == form)) {
      ColumnChunk unstored = form.is_stored ? ColumnChunk() : unstored_chunk(form);
      column.columns.push_back({std::move(form), std::move(unstored)});
    }
    column.kinds.push_back(static_cast<int>(column.columns.size()) - 1);
  }
  if (column.columns.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "there are no files");
  }
  const Layout layout_read = layout(column.columns[0].form.type);
  if (layout_read == Layout::kViews && has_few_strings(column, dictionary_bytes_most)) {
    for (FileColumn& of_files : column.columns) of_files.form = coded_form(of_files.form);
  }
  column.form = column.columns[0].form;
  columns_.push_back(std::move(column));
  return {};
}

bool ParquetTable::has_few_strings(const ParquetColumn& column,
                                   int64_t dictionary_bytes_most) const {
  if (dictionary_bytes_most == 0) return false;
  int64_t bytes = 0;
  int64_t chunks = 0;
  for (size_t f = 0; f < files_->files().size(); ++f) {
    if (column.leaves[f] < 0) {
      bytes += static_cast<int64_t>(column.form_in(static_cast<int>(f)).value.value_or("").size());
      ++chunks;
      continue;
    }
    for (const RowGroup& group : files_->files()[f]->metadata().row_groups) {
      const ColumnChunk& chunk = group.columns[static_cast<size_t>(column.leaves[f])];
      if (group.rows == 0) continue;
      if (!chunk.all_coded || chunk.begin() >= chunk.data_page_offset) return false;
      bytes += chunk.data_page_offset - chunk.begin();
      ++chunks;
    }
  }
  return bytes <= kCodedBytesMost && bytes <= chunks * dictionary_bytes_most && chunks > 0;
}

const ColumnChunk& ParquetTable::chunk(int column, int file, int row_group) const {
  const ParquetColumn& of = columns_[static_cast<size_t>(column)];
  const int leaf = of.leaves[static_cast<size_t>(file)];
  if (leaf < 0) {
    const int kind = of.kinds[static_cast<size_t>(file)];
    return of.columns[static_cast<size_t>(kind)].unstored;
  }
  const RowGroup& group = files_->files()[static_cast<size_t>(file)]
                              ->metadata()
                              .row_groups[static_cast<size_t>(row_group)];
  return group.columns[static_cast<size_t>(leaf)];
}

}  // namespace crossdock::scan
