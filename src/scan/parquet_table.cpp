// Which columns of which files are read, and how.
#include "scan/parquet_table.hpp"

#include "scan/codec.hpp"
#include "scan/page_store.hpp"
#include "scan/page_values.hpp"

namespace crossdock::scan {
namespace {

// Of all dictionaries of a column together, and of one on average: beyond that, strings differ too much for codes to
// spare anything.
constexpr int64_t kCodedBytesMost = int64_t{16} << 20;
constexpr int64_t kDictionaryBytesMost = int64_t{32} << 10;
constexpr int64_t kStringBytesMost = int64_t{1} << 30;  // of strings that are all different

Error not_read(const LocalFile& file, std::string_view column, std::string_view why) {
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

}  // namespace

Result<std::shared_ptr<const ParquetFiles>> ParquetFiles::open(
    const std::vector<std::string>& paths) {
  auto opened = std::shared_ptr<ParquetFiles>(new ParquetFiles);
  for (const std::string& path : paths) {
    CD_ASSIGN(auto file, ParquetFile::open(path));
    opened->rows_ += file->metadata().rows;
    opened->files_.push_back(std::move(file));
  }
  return std::shared_ptr<const ParquetFiles>(std::move(opened));
}

Result<std::shared_ptr<const StringCodes>> ParquetFiles::string_codes(
    const std::string& column,
    const ColumnForm& form,
    const std::shared_ptr<Memory>& memory) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const StringCodes>& known = codes_[column];
  if (known != nullptr) return known;
  auto codes = std::make_shared<StringCodes>();
  PageStore store(memory);
  std::vector<StringView> strings;
  for (const auto& file : files_) {
    const auto leaf = static_cast<size_t>(file->leaf(column));
    for (const RowGroup& group : file->metadata().row_groups) {
      if (group.rows == 0) continue;
      CD_TRY(store.open_dictionary(file->file(), group.columns[leaf]));
      const auto bytes = store.dictionary();
      const int32_t count = store.dictionary_values();
      if (count > static_cast<int64_t>(bytes.size()) / 4) {
        return make_error(ErrorCode::kSourceFailed, "a dictionary has fewer values than it says");
      }
      strings.resize(static_cast<size_t>(count));
      CD_ASSIGN(PageValues values, PageValues::create(bytes, Encoding::kPlain, form));
      CD_TRY(values.read_strings(count, 0, strings.data()));
      for (const StringView& text : strings) codes->add(string_of(text, bytes.data()));
      if (codes->bytes() > kStringBytesMost) {
        return make_error(ErrorCode::kSourceFailed,
                          "the dictionaries of column \"{}\" hold more than {} bytes",
                          column,
                          kStringBytesMost);
      }
    }
  }
  codes->freeze();
  known = std::move(codes);
  return known;
}

Result<std::shared_ptr<const ParquetTable>> ParquetTable::create(
    std::shared_ptr<const ParquetFiles> files, const Schema& expected, bool with_codes) {
  auto table = std::shared_ptr<ParquetTable>(new ParquetTable);
  table->files_ = std::move(files);
  for (const Field& field : expected.fields) {
    CD_TRY(table->add_column(field, with_codes));
  }
  auto schema = std::make_shared<Schema>(expected);
  for (size_t c = 0; c < table->columns_.size(); ++c) {
    schema->fields[c].type = table->columns_[c].form.type;
  }
  table->schema_ = std::move(schema);
  return std::shared_ptr<const ParquetTable>(std::move(table));
}

// The form is the same in all files, but that some may have no nulls.
Status ParquetTable::add_column(const Field& expected, bool with_codes) {
  ParquetColumn column;
  for (size_t f = 0; f < files_->files().size(); ++f) {
    const ParquetFile& file = *files_->files()[f];
    const int leaf = file.leaf(expected.name);
    if (leaf < 0) return not_read(file.file(), expected.name, "the file has no such column");
    CD_ASSIGN(ColumnForm form, column_form(file.element(leaf), expected.type));
    if (f > 0 &&
        (form.physical != column.form.physical || form.stored_bytes != column.form.stored_bytes ||
         form.nullable != column.form.nullable)) {
      return not_read(file.file(), expected.name, "its values lie otherwise than in other files");
    }
    column.form = std::move(form);
    column.leaves.push_back(leaf);
    for (const RowGroup& group : file.metadata().row_groups) {
      CD_TRY(check_chunk(file, group.columns[static_cast<size_t>(leaf)], column.form));
    }
  }
  if (with_codes && column.form.conversion == Conversion::kViews && has_few_strings(column)) {
    column.form = coded_form(column.form);
  }
  columns_.push_back(std::move(column));
  return {};
}

bool ParquetTable::has_few_strings(const ParquetColumn& column) const {
  int64_t bytes = 0;
  int64_t chunks = 0;
  for (size_t f = 0; f < files_->files().size(); ++f) {
    for (const RowGroup& group : files_->files()[f]->metadata().row_groups) {
      const ColumnChunk& chunk = group.columns[static_cast<size_t>(column.leaves[f])];
      if (group.rows == 0) continue;
      if (!chunk.all_coded || chunk.begin() >= chunk.data_page_offset) return false;
      bytes += chunk.data_page_offset - chunk.begin();
      ++chunks;
    }
  }
  return bytes <= kCodedBytesMost && bytes <= chunks * kDictionaryBytesMost && chunks > 0;
}

const ColumnChunk& ParquetTable::chunk(int column, int file, int row_group) const {
  const auto leaf = columns_[static_cast<size_t>(column)].leaves[static_cast<size_t>(file)];
  const RowGroup& group = files_->files()[static_cast<size_t>(file)]
                              ->metadata()
                              .row_groups[static_cast<size_t>(row_group)];
  return group.columns[static_cast<size_t>(leaf)];
}

}  // namespace crossdock::scan
