// Tables for the example: columns in, as an Arrow C stream, and a stream out, as lines of text.
//
// Programs that link an Arrow library let that library export and import streams; this file shows
// that none is needed. The two rules of the C Data interface: whoever fills a struct sets `release`,
// whoever is done with it calls that once.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// The layout of these structs is the interface: https://arrow.apache.org/docs/format/CDataInterface.html
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

struct Column {
  std::string name;
  std::variant<std::vector<int64_t>, std::vector<std::string>> values;
};
using Columns = std::vector<Column>;

// Fills `out` with a stream of one batch that holds `columns`, all of the same length.
void stream_columns(Columns columns, ArrowArrayStream* out);

// Reads a stream of int64 and utf8 columns to its end, releases it, and gives its rows as lines, with
// "-" for a missing value. The order of a join's rows is not defined, so the lines are sorted.
std::vector<std::string> read_lines(ArrowArrayStream* stream);
