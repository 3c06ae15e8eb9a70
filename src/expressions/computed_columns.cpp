#include "expressions/computed_columns.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "expressions/block_evaluator.hpp"
#include "expressions/string_views.hpp"
#include "table/bitmap.hpp"

namespace crossdock::expressions {
namespace {

// Rows of a piece: a multiple of what is evaluated at once, so pieces share no byte of a bitmap.
constexpr int64_t kPieceRows = 16 * kMaxEvaluatedRows;
constexpr const char* kWho = "computed columns";

// Strings that are not inline, by piece of the batch: heap p of the column.
struct StringHeap {
  Block bytes;
  int64_t used = 0;
};

struct ComputedColumn {
  Block values;
  Block validity;
  std::vector<StringHeap> heaps;
  std::vector<const uint8_t*> heap_data;
  std::vector<int64_t> heap_bytes;
  std::atomic<bool> any_null{false};
};

// A batch under construction; becomes the owner of what it computed and of what it passes on.
struct ComputedBatch {
  std::shared_ptr<const void> passed;
  std::vector<std::unique_ptr<ComputedColumn>> columns;
};

struct Piece {
  size_t batch;
  int64_t begin;
  int64_t rows;
};

bool is_bits(const DataType& type) { return layout(type) == Layout::kBits; }

Result<SchemaPtr> extended_schema(const Schema& schema, const ComputedColumns& columns) {
  auto extended = std::make_shared<Schema>(schema);
  const auto add = [&](const std::string& name, const DataType& type) {
    extended->fields.push_back({name, type, true, ""});
  };
  for (size_t i = 0; i < columns.names.size(); ++i) {
    add(columns.names[i], columns.program->output_type(static_cast<int32_t>(i)));
  }
  for (auto field = extended->fields.begin(); field != extended->fields.end(); ++field) {
    const auto same = [&](const Field& other) { return other.name == field->name; };
    if (std::none_of(extended->fields.begin(), field, same)) continue;
    return make_error(
        ErrorCode::kDuplicateColumn, "two columns named '{}' with the computed ones", field->name);
  }
  return SchemaPtr(std::move(extended));
}

// `nulls`: by column, whether it has any.
bool may_be_null(const Expression& expression, const std::vector<bool>& nulls) {
  switch (expression.op) {
    case ExpressionOp::kColumn:
      return nulls[expression.column];
    case ExpressionOp::kLiteral:
      return expression.values[0].null;
    case ExpressionOp::kTryParseTime:
    case ExpressionOp::kTryParse:
    case ExpressionOp::kJsonExtract:
    case ExpressionOp::kJsonExtractString:
    case ExpressionOp::kJsonType:
    case ExpressionOp::kJsonKeys:
    case ExpressionOp::kJsonArrayLength:
      return true;
    case ExpressionOp::kIsNull:
    case ExpressionOp::kIsValid:
      return false;
    default:
      return std::any_of(expression.arguments.begin(),
                         expression.arguments.end(),
                         [&](const ExpressionPtr& each) { return may_be_null(*each, nulls); });
  }
}

class ColumnComputer {
 public:
  ColumnComputer(const Table& table, const ComputedColumns& columns, Memory& memory)
      : table_(table), columns_(columns), memory_(memory) {}

  Status open() {
    CD_ASSIGN(schema_, extended_schema(*table_.schema, columns_));
    const auto first = static_cast<size_t>(table_.schema->column_count());
    for (size_t b = 0; b < table_.batches.size(); ++b) {
      const Batch& batch = table_.batches[b];
      auto computed = std::make_shared<ComputedBatch>();
      computed->passed = batch.owner;
      for (size_t c = first; c < schema_->fields.size(); ++c) {
        auto column = std::make_unique<ComputedColumn>();
        const DataType& type = schema_->fields[c].type;
        const int64_t bitmap = (batch.rows + 7) / 8 + 8;
        const int64_t bytes = is_bits(type) ? bitmap : batch.rows * fixed_bytes(type) + 8;
        CD_ASSIGN(column->values, memory_.get(bytes, kWho));
        CD_ASSIGN(column->validity, memory_.get(bitmap, kWho));
        if (layout(type) == Layout::kViews) {
          column->heaps.resize(static_cast<size_t>((batch.rows + kPieceRows - 1) / kPieceRows));
        }
        computed->columns.push_back(std::move(column));
      }
      batches_.push_back(std::move(computed));
      for (int64_t at = 0; at < batch.rows; at += kPieceRows) {
        pieces_.push_back({b, at, std::min(kPieceRows, batch.rows - at)});
      }
    }
    return {};
  }

  // One worker: takes pieces until there are none.
  Status work(const CancelFlag& cancel) {
    CD_ASSIGN(BlockEvaluator evaluator, BlockEvaluator::create(columns_.program, memory_));
    while (true) {
      const size_t next = next_.fetch_add(1, std::memory_order_relaxed);
      if (next >= pieces_.size()) return {};
      if (cancel.is_set()) {
        return make_error(ErrorCode::kCancelled, "computing columns was cancelled");
      }
      const Piece& piece = pieces_[next];
      for (int64_t at = 0; at < piece.rows; at += kMaxEvaluatedRows) {
        const int64_t rows = std::min<int64_t>(kMaxEvaluatedRows, piece.rows - at);
        const Batch& batch = table_.batches[piece.batch];
        CD_TRY(compute_block(evaluator,
                             batch,
                             *batches_[piece.batch],
                             piece.begin + at,
                             static_cast<int32_t>(rows)));
      }
    }
  }

  TablePtr table() const {
    auto table = std::make_shared<Table>();
    table->schema = schema_;
    table->rows = table_.rows;
    for (size_t b = 0; b < batches_.size(); ++b) table->batches.push_back(finished(b));
    return table;
  }

 private:
  Status compute_block(BlockEvaluator& evaluator,
                       const Batch& batch,
                       ComputedBatch& computed,
                       int64_t begin,
                       int32_t rows) {
    CD_TRY(evaluator.filter(batch, begin, rows));
    CD_TRY(evaluator.compute());
    const auto outputs = static_cast<int32_t>(columns_.names.size());
    uint8_t bytes[kMaxEvaluatedRows];
    for (int32_t i = 0; i < outputs; ++i) {
      ComputedColumn& column = *computed.columns[i];
      const DataType& type = columns_.program->output_type(i);
      if (is_bits(type)) {
        evaluator.write_values(i, bytes);
        pack_bits(bytes, rows, column.values.data() + begin / 8);
      } else if (layout(type) == Layout::kViews) {
        CD_TRY(write_strings(column, {evaluator.strings(i), evaluator.valid(i), rows}, begin));
      } else {
        evaluator.write_values(i, column.values.data() + begin * fixed_bytes(type));
      }
      write_validity(column, evaluator.valid(i), begin, rows);
    }
    return {};
  }

  Status write_strings(ComputedColumn& column, const StringSlices& strings, int64_t begin) {
    const int64_t number = begin / kPieceRows;
    StringHeap& heap = column.heaps[static_cast<size_t>(number)];
    const int64_t needed = heap.used + bytes_beyond_views(strings);
    if (needed > INT32_MAX) {
      return make_error(ErrorCode::kExpressionFailed,
                        "{} computed strings have {} bytes\n  limits   {} bytes",
                        kPieceRows,
                        needed,
                        INT32_MAX);
    }
    if (needed > heap.bytes.bytes()) {
      CD_ASSIGN(Block larger, memory_.get(std::max(needed, 2 * heap.bytes.bytes()), kWho));
      if (heap.used > 0) {
        std::memcpy(larger.data(), heap.bytes.data(), static_cast<size_t>(heap.used));
      }
      heap.bytes = std::move(larger);
    }
    copy_to_heap(strings,
                 column.values.data() + begin * 16,
                 heap.bytes.data(),
                 heap.used,
                 static_cast<int32_t>(number));
    heap.used = needed;
    return {};
  }

  static void write_validity(ComputedColumn& column,
                             const uint8_t* valid,
                             int64_t begin,
                             int32_t rows) {
    uint8_t* bits = column.validity.data() + begin / 8;
    if (valid == nullptr) {
      std::memset(bits, 0xFF, static_cast<size_t>(rows + 7) / 8);
      return;
    }
    pack_bits(valid, rows, bits);
    column.any_null.store(true, std::memory_order_relaxed);
  }

  Batch finished(size_t b) const {
    Batch batch = table_.batches[b];
    batch.schema = schema_;
    batch.owner = batches_[b];
    for (const auto& column : batches_[b]->columns) {
      ColumnView view;
      view.length = batch.rows;
      view.values = column->values.data();
      const bool any_null = column->any_null.load(std::memory_order_relaxed);
      view.null_count = any_null ? -1 : 0;
      view.validity = any_null ? column->validity.data() : nullptr;
      for (const StringHeap& heap : column->heaps) {
        column->heap_data.push_back(heap.used > 0 ? heap.bytes.data() : column->validity.data());
        column->heap_bytes.push_back(heap.used);
      }
      view.heaps = column->heap_data.data();
      view.heap_bytes = column->heap_bytes.data();
      view.heap_count = static_cast<int32_t>(column->heaps.size());
      batch.columns.push_back(view);
    }
    return batch;
  }

  const Table& table_;
  const ComputedColumns& columns_;
  Memory& memory_;
  SchemaPtr schema_;
  std::vector<std::shared_ptr<ComputedBatch>> batches_;
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_{0};
};

}  // namespace

Result<TablePtr> with_computed_columns(const Table& table,
                                       const ComputedColumns& columns,
                                       Team& team,
                                       Memory& memory,
                                       const CancelFlag& cancel) {
  ColumnComputer computer(table, columns, memory);
  CD_TRY(computer.open());
  CD_TRY(team.run([&](int) { return computer.work(cancel); }));
  return computer.table();
}

TablePtr with_places(const Table& table, const ComputedColumns& columns) {
  static const uint8_t kNowhere[16] = {};
  std::vector<bool> nulls(table.schema->fields.size(), false);
  for (const Batch& batch : table.batches) {
    for (size_t i = 0; i < nulls.size(); ++i) {
      const ColumnView& column = batch.columns[i];
      const bool in_values = column.dictionary != nullptr && column.dictionary->validity != nullptr;
      if (column.validity != nullptr || in_values) nulls[i] = true;
    }
  }
  auto extended = std::make_shared<Table>(table);
  extended->zones.clear();
  auto schema = std::make_shared<Schema>(*table.schema);
  for (size_t i = 0; i < columns.names.size(); ++i) {
    const auto& step = columns.program->steps()[columns.program->outputs()[i]];
    const bool nullable = may_be_null(*step.expression, nulls);
    schema->fields.push_back({columns.names[i], step.expression->type, nullable, ""});
    for (Batch& batch : extended->batches) {
      ColumnView place;
      place.length = batch.rows;
      place.values = kNowhere;
      place.validity = nullable ? kNowhere : nullptr;
      place.null_count = nullable ? -1 : 0;
      batch.columns.push_back(place);
    }
  }
  extended->schema = schema;
  for (Batch& batch : extended->batches) batch.schema = schema;
  return extended;
}

}  // namespace crossdock::expressions
