// Sums, minima and maxima over batches in cache.
#include "session/aggregate_sink.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

namespace crossdock {
namespace {

constexpr int kDecimalDigits = 38;

enum class Number : uint8_t { kSigned, kUnsigned, kReal, kDecimal, kNone };

Number number_of(const DataType& type) {
  switch (type.id) {
    case TypeId::kDate32:
    case TypeId::kDate64:
    case TypeId::kTime32:
    case TypeId::kTime64:
    case TypeId::kTimestamp:
    case TypeId::kDuration:
      return Number::kSigned;
    case TypeId::kFloat32:
    case TypeId::kFloat64:
      return Number::kReal;
    case TypeId::kDecimal128:
      return Number::kDecimal;
    default:
      if (is_signed_integer(type.id)) return Number::kSigned;
      return is_unsigned_integer(type.id) ? Number::kUnsigned : Number::kNone;
  }
}

bool is_summable(const DataType& type) {
  return number_of(type) != Number::kNone &&
         (number_of(type) != Number::kSigned || is_signed_integer(type.id) ||
          type.id == TypeId::kDuration);
}

// Folds one column into a state. `Wide` is the type a sum is kept in.
template <class Value, class Wide>
void fold_values(const ColumnView& column, ColumnFold fold, FoldState& state, Wide& total) {
  const Value* values = column.data<Value>();
  const auto each = [&](auto&& take) {
    if (column.validity == nullptr) {
      for (int64_t i = 0; i < column.length; ++i) take(values[i]);
      state.values += column.length;
      return;
    }
    for (int64_t i = 0; i < column.length; ++i) {
      if (!column.is_valid(i)) continue;
      take(values[i]);
      ++state.values;
    }
  };
  if (fold == ColumnFold::kSum) {
    if constexpr (sizeof(Value) == 8 && std::is_integral_v<Value>) {
      // Two 64-bit sums of the halves vectorise; one 128-bit sum would not. A batch is far below
      // the 2^32 rows at which a half could overflow.
      int64_t high = 0;
      uint64_t low = 0;
      each([&](Value value) {
        high += static_cast<int64_t>(value >> 32);
        low += static_cast<uint32_t>(value);
      });
      total += static_cast<Wide>(high) * (Wide{1} << 32) + static_cast<Wide>(low);
    } else if constexpr (std::is_same_v<Value, Int128>) {
      each([&](Value value) { state.overflow |= __builtin_add_overflow(total, value, &total); });
    } else {
      Wide sum = 0;
      each([&](Value value) { sum += static_cast<Wide>(value); });
      total += sum;
    }
    return;
  }
  bool first = state.values == 0;
  if constexpr (std::is_floating_point_v<Value>) {
    // NaN stands for "no number yet", and remains if there is none.
    if (first) total = std::numeric_limits<Wide>::quiet_NaN();
    each([&](Value value) {
      const Wide wide = static_cast<Wide>(value);
      if (std::isnan(total) || (fold == ColumnFold::kMin ? wide < total : wide > total))
        total = wide;
    });
    return;
  }
  each([&](Value value) {
    const Wide wide = static_cast<Wide>(value);
    if (first || (fold == ColumnFold::kMin ? wide < total : wide > total)) total = wide;
    first = false;
  });
}

void fold_column(const DataType& type,
                 const ColumnView& column,
                 ColumnFold fold,
                 FoldState& state) {
  const bool is_unsigned = number_of(type) == Number::kUnsigned;
  if (type.id == TypeId::kFloat32) return fold_values<float>(column, fold, state, state.real);
  if (type.id == TypeId::kFloat64) return fold_values<double>(column, fold, state, state.real);
  switch (fixed_bytes(type)) {
    case 1:
      return is_unsigned ? fold_values<uint8_t>(column, fold, state, state.integer)
                         : fold_values<int8_t>(column, fold, state, state.integer);
    case 2:
      return is_unsigned ? fold_values<uint16_t>(column, fold, state, state.integer)
                         : fold_values<int16_t>(column, fold, state, state.integer);
    case 4:
      return is_unsigned ? fold_values<uint32_t>(column, fold, state, state.integer)
                         : fold_values<int32_t>(column, fold, state, state.integer);
    case 8:
      return is_unsigned ? fold_values<uint64_t>(column, fold, state, state.integer)
                         : fold_values<int64_t>(column, fold, state, state.integer);
    default:
      return fold_values<Int128>(column, fold, state, state.integer);
  }
}

void merge(const FoldState& from, ColumnFold fold, FoldState& into) {
  if (from.values == 0) return;
  if (into.values == 0) {
    into = from;
    return;
  }
  into.values += from.values;
  into.overflow |= from.overflow;
  switch (fold) {
    case ColumnFold::kSum:
      into.overflow |= __builtin_add_overflow(into.integer, from.integer, &into.integer);
      into.real += from.real;
      break;
    case ColumnFold::kMin:
      into.integer = std::min(into.integer, from.integer);
      into.real = std::fmin(into.real, from.real);  // a number, if one of both is one
      break;
    case ColumnFold::kMax:
      into.integer = std::max(into.integer, from.integer);
      into.real = std::fmax(into.real, from.real);
      break;
    case ColumnFold::kCount:
      break;
  }
}

DataType decimal_type(int32_t scale) {
  DataType type;
  type.id = TypeId::kDecimal128;
  type.arrow_format = fmt::format("d:{},{}", kDecimalDigits, scale);
  type.precision = kDecimalDigits;
  type.scale = scale;
  return type;
}

DataType simple_type(TypeId id, const char* format) {
  DataType type;
  type.id = id;
  type.arrow_format = format;
  return type;
}

DataType result_type(const AggregateSink::Item& item, const Schema& input) {
  if (item.fold == ColumnFold::kCount) return simple_type(TypeId::kInt64, "l");
  const DataType& type = input.fields[item.column].type;
  if (item.fold != ColumnFold::kSum) return type;
  if (number_of(type) == Number::kReal) return simple_type(TypeId::kFloat64, "g");
  return decimal_type(type.scale);
}

Result<ColumnFold> parse_fold(const std::string& name) {
  if (name == "count") return ColumnFold::kCount;
  if (name == "sum") return ColumnFold::kSum;
  if (name == "min") return ColumnFold::kMin;
  if (name == "max") return ColumnFold::kMax;
  return make_error(ErrorCode::kInvalidArgument,
                    "aggregate function is '{}', but must be one of count, sum, min, max",
                    name);
}

bool fits_decimal(Int128 value) {
  Int128 limit = 1;
  for (int digit = 0; digit < kDecimalDigits; ++digit) limit *= 10;
  return value < limit && value > -limit;
}

// Memory of the one row of the result.
struct ResultRow {
  std::vector<std::array<uint8_t, 16>> values;
  uint8_t no_value = 0;  // a validity bitmap that says null
};

}  // namespace

Result<AggregateSink> AggregateSink::create(
    const std::vector<std::pair<std::string, std::string>>& items,
    const SchemaPtr& schema,
    int worker_count) {
  AggregateSink sink;
  sink.input_ = schema;
  for (const auto& [function, column] : items) {
    Item item;
    CD_ASSIGN(item.fold, parse_fold(function));
    item.name = item.fold == ColumnFold::kCount ? "count" : function + "_" + column;
    if (item.fold != ColumnFold::kCount) {
      CD_ASSIGN(item.column, schema->find(column, "result of the join"));
      const DataType& type = schema->fields[item.column].type;
      const bool fits =
          item.fold == ColumnFold::kSum ? is_summable(type) : number_of(type) != Number::kNone;
      if (!fits) {
        return make_error(ErrorCode::kUnsupportedType,
                          "{} does not take column '{}' of type {}",
                          function,
                          column,
                          type_name(type));
      }
    }
    sink.items_.push_back(std::move(item));
  }
  sink.states_.assign(worker_count, std::vector<FoldState>(sink.items_.size()));
  return sink;
}

bool AggregateSink::counts_only() const {
  return std::all_of(items_.begin(), items_.end(), [](const Item& item) {
    return item.fold == ColumnFold::kCount;
  });
}

Status AggregateSink::accept(int worker, Batch batch) {
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    if (item.fold == ColumnFold::kCount) continue;
    fold_column(input_->fields[item.column].type,
                batch.columns[item.column],
                item.fold,
                states_[worker][i]);
  }
  return {};
}

Result<Batch> AggregateSink::finish(int64_t rows) const {
  auto row = std::make_shared<ResultRow>();
  row->values.resize(items_.size());
  auto schema = std::make_shared<Schema>();
  Batch batch;
  batch.rows = 1;
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    FoldState state;
    for (const auto& worker : states_) merge(worker[i], item.fold, state);
    if (item.fold == ColumnFold::kCount) {
      state.integer = rows;
      state.values = 1;
    }
    const DataType type = result_type(item, *input_);
    if (type.id == TypeId::kDecimal128 && (state.overflow || !fits_decimal(state.integer))) {
      return make_error(ErrorCode::kValueOutOfRange,
                        "{} has more than {} digits\n  try      cast '{}' to float64",
                        item.name,
                        kDecimalDigits,
                        input_->fields[item.column].name);
    }
    uint8_t* value = row->values[i].data();
    if (type.id == TypeId::kFloat32) {
      const auto narrow = static_cast<float>(state.real);
      std::memcpy(value, &narrow, sizeof(narrow));
    } else if (type.id == TypeId::kFloat64) {
      std::memcpy(value, &state.real, sizeof(state.real));
    } else {
      std::memcpy(value, &state.integer, sizeof(state.integer));
    }
    ColumnView column;
    column.length = 1;
    column.values = value;
    column.null_count = state.values == 0 ? 1 : 0;
    column.validity = state.values == 0 ? &row->no_value : nullptr;
    batch.columns.push_back(column);
    schema->fields.push_back({item.name, type, true, ""});
  }
  batch.schema = std::move(schema);
  batch.owner = std::move(row);
  return batch;
}

}  // namespace crossdock
