// Whole streams in. The producer's callbacks run on the calling thread, one at a time.
#include <cstring>

#include "table/arrow_import.hpp"
#include "table/column_zones.hpp"
#include "table/dictionary.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

constexpr int64_t kMaxTableRows = int64_t{1} << 58;  // keeps sums of rows far from overflow

// Owns the stream, and the schema struct while it is read.
struct StreamGuard {
  explicit StreamGuard(ArrowArrayStream* source) : stream(*source) { source->release = nullptr; }
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard() {
    if (stream.release != nullptr) stream.release(&stream);
  }

  Error failure(int code, std::string_view step) {
    const char* text = stream.get_last_error == nullptr ? nullptr : stream.get_last_error(&stream);
    return make_error(ErrorCode::kSourceFailed,
                      "the source failed while giving {}: {} (errno {})",
                      step,
                      text == nullptr ? std::strerror(code) : text,
                      code);
  }

  ArrowArrayStream stream;
};

Result<SchemaPtr> pull_schema(StreamGuard& guard) {
  ArrowSchema raw{};
  const int code = guard.stream.get_schema(&guard.stream, &raw);
  if (code != 0) return guard.failure(code, "its schema");
  Result<SchemaPtr> schema = import_schema(raw);
  if (raw.release != nullptr) raw.release(&raw);
  return schema;
}

// Checks the contents of one batch. A dictionary that the batch before had too is not read again.
Status validate_batch(Batch& batch, const Batch* previous) {
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    ColumnView& column = batch.columns[i];
    const ColumnView* known = previous == nullptr ? nullptr : previous->columns[i].dictionary;
    CD_ASSIGN(column.longest_text, validate_column(batch.schema->fields[i], column, known));
  }
  return {};
}

}  // namespace

Result<TablePtr> import_stream(ArrowArrayStream* stream) {
  if (stream->release == nullptr) {
    return make_error(ErrorCode::kMalformedArrow, "the Arrow stream was already read or released");
  }
  StreamGuard guard(stream);
  auto table = std::make_shared<Table>();
  CD_ASSIGN(table->schema, pull_schema(guard));
  while (true) {
    ArrowArray raw{};
    const int code = guard.stream.get_next(&guard.stream, &raw);
    if (code != 0) return guard.failure(code, fmt::format("batch {}", table->batches.size()));
    if (raw.release == nullptr) break;
    CD_ASSIGN(Batch batch, import_batch(&raw, table->schema));
    CD_TRY(validate_batch(batch, table->batches.empty() ? nullptr : &table->batches.back()));
    if (batch.rows == 0) continue;
    if (table->rows > kMaxTableRows - batch.rows) {
      return make_error(ErrorCode::kTooManyRows,
                        "batch {} brings the table to more than {} rows",
                        table->batches.size(),
                        kMaxTableRows);
    }
    table->rows += batch.rows;
    table->batches.push_back(std::move(batch));
  }
  for (int column = 0; column < table->schema->column_count(); ++column) {
    if (table->schema->fields[column].type.id != TypeId::kDictionary) continue;
    CD_TRY(unify_dictionaries(table->batches, column));
  }
  add_zones(*table);
  return TablePtr(std::move(table));
}

}  // namespace crossdock
