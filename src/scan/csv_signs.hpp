// Delimiters, line ends and quotes in the bytes of a CSV file, found by vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crossdock::scan {

// Whole records within some bytes, and the signs that end their values: delimiters and line ends, none of them in
// quotes. A sign behind the last byte is the end of a file.
struct CsvText {
  const uint8_t* bytes = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;
  const uint32_t* signs = nullptr;  // places in `bytes`
  size_t count = 0;
  size_t lines = 0;  // that end here
  bool is_ascii = true;
  bool has_quotes = false;
  bool has_doubled = false;  // quotes in quotes

  bool is_empty() const { return begin == end; }
};

// The places of the delimiter, line ends and quotes in order; `quote` may be the delimiter, which is no quote then.
// `out`: room for as many as there are bytes.
struct CsvSigns {
  size_t count = 0;
  size_t lines = 0;
  bool is_ascii = true;
  bool has_quotes = false;
};
CsvSigns find_csv_signs(std::span<const uint8_t> text, char delimiter, char quote, uint32_t* out);

// A walk over signs that leaves out those in quotes, and quotes: what is left moves to the front. It can go on when
// more bytes are there.
struct CsvWalk {
  size_t read = 0;      // signs that it has seen
  size_t kept = 0;      // where the next sign that is left goes
  uint32_t value = 0;   // begin of the value
  uint32_t record = 0;  // and of the record
  size_t lines = 0;
  bool is_quoted = false;  // in quotes
  bool has_doubled = false;
};

// Goes on to the first record that begins at `target` or behind it. False: the bytes end before it; where they are
// `all`, their last record ends there.
struct CsvBytes {
  const uint8_t* data = nullptr;
  uint32_t count = 0;
  bool all = false;
  char quote = '"';
};
bool walk_csv_signs(CsvBytes bytes, std::span<uint32_t> signs, uint32_t target, CsvWalk& walk);

}  // namespace crossdock::scan
