// Tables for the example: columns in, as an Arrow C stream, and a stream out, as lines of text.
//
// Programs that link an Arrow library let that library export and import streams; this file shows
// that none is needed. The two rules of the C Data interface: the producer sets `release`,
// the consumer calls that once.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <crossdock/arrow_c.hpp>

struct Column {
  std::string name;
  std::variant<std::vector<int64_t>, std::vector<std::string>> values;
};
using Columns = std::vector<Column>;

// Fills `out` with a stream of one batch that holds `columns`, all of the same length.
void stream_columns(Columns columns, ArrowArrayStream* out);

// Reads a stream of int64 and utf8 columns to its end, releases it, and gives its rows as lines, with
// "-" for a missing value.
std::vector<std::string> read_lines_in_order(ArrowArrayStream* stream);
// The order of a join's rows is not defined: the same, sorted.
std::vector<std::string> read_lines(ArrowArrayStream* stream);
