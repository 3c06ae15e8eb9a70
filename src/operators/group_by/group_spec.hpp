// What a group-by is asked for: key columns, aggregates, and how to go about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "expressions/program.hpp"
#include "table/schema.hpp"

namespace crossdock::operators {

enum class AggregateFunction : uint8_t {
  kCount,  // of rows without a column, of values with one
  kSum,
  kMin,
  kMax,
  kMean,
  kVar,
  kStddev,
  kFirst,  // the value of the lowest row position that has one
  kLast,
  kAny,     // some value, if there is one
  kArgMin,  // the value on the row with the least value of another column, the first of such rows
  kArgMax,
  kBoolAnd,
  kBoolOr,
  kCountDistinct,
  kMode,             // the value that most rows have, the first of several
  kEntropy,          // of how many rows each value has, in bits; 0 of none
  kEntropyOfCounts,  // of kEntropy: of these numbers of rows
  kFrequency,  // of kMode: order of groups by how many rows they have, then by their first row
  kApproxDistinct,
  kQuantile,
  kQuantileExact,  // of numbers, from all values
  kQuantileDisc,   // of numbers and instants: the first value up to which at least the share lies
  kBitAnd,
  kBitOr,
  kBitXor,
  kProduct,
  kSkewness,     // of a sample
  kKurtosis,     // of a sample, beyond that of a normal distribution
  kKurtosisPop,  // the same of a population
  kMad,          // of numbers: the median distance from the median
};

// How sums of floats are made. Fast: one addition per value in the order of arrival, so the last bits
// depend on threads and batches. Exact: the correctly rounded sum of the values as they are, whatever
// their order.
enum class FloatSums : uint8_t { kFast, kExact };

struct AggregateSpec {
  AggregateFunction function = AggregateFunction::kCount;
  int column = -1;  // -1: count of rows
  int filter = -1;  // a bool column; rows where it is not true do not count
  int by = -1;      // arg_min, arg_max: the other column; rows without a value of it do not count
  std::string name;
  bool wide = false;  // sums of integers as decimal128(38, 0)
  FloatSums floats = FloatSums::kFast;
  bool ignore_nulls =
      true;  // first, last, arg_min, arg_max: false: the value of the row, NULL or not
  bool last_of_equals = false;  // arg_min, arg_max: of rows that compare equal the last one
  int ddof = 1;                 // var, stddev: the divisor is n - ddof
  double quantile = 0.5;        // of all kinds: 0 to 1
};

enum class GroupStrategy : uint8_t { kAuto, kTable, kRadix, kAdaptive, kDense, kSorted };

struct GroupSpec {
  std::vector<int> keys;  // columns; none: the whole table is one group
  std::vector<AggregateSpec> aggregates;
  GroupStrategy strategy = GroupStrategy::kAuto;
  int64_t batch_rows = 0;  // of an output batch; 0 = default
  int row_filter = -1;     // a bool column; rows where it is not true are left out altogether

  // Filters, which leave rows out altogether, and columns that are computed while rows are read: the
  // outputs are the columns from first_computed on, and have no memory in the table. They are read as
  // numbers only: not as keys, not by reference, not by hash.
  std::shared_ptr<const expressions::Program> program;
  int first_computed = 0;

  bool leaves_rows_out() const {
    return row_filter >= 0 || (program != nullptr && !program->filters().empty());
  }
};

// Whether what `spec` does with the columns from `first_computed` on can be done while they are
// computed; if not, they must be columns of the table.
bool reads_computed_as_numbers(const GroupSpec& spec,
                               int first_computed,
                               const expressions::Program& program);

bool is_of_values(AggregateFunction function);  // is made of groups by the values of its column
bool takes_order(AggregateFunction function);   // of the values of AggregateSpec::by
const char* function_name(AggregateFunction function);
const char* strategy_name(GroupStrategy strategy);

// Errors kInvalidArgument propose the nearest name and list all.
Result<AggregateFunction> parse_aggregate_function(std::string_view name);
Result<GroupStrategy> parse_group_strategy(std::string_view name);

// Type of an aggregate's column. Error kUnsupportedType: the function has no meaning for the type.
Result<DataType> aggregate_type(const AggregateSpec& aggregate, const Schema& schema);

// Keys in order, then aggregates. Errors: kDuplicateColumn, kInvalidArgument for options out of
// range or filters that are no bool column, and those of aggregate_type.
Result<SchemaPtr> group_schema(const GroupSpec& spec, const Schema& schema);

}  // namespace crossdock::operators
