// Files of CSV as a plan reads them: what opened them knows their columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace crossdock {

// UTF-8, lines that end with LF or CR LF.
struct CsvFormat {
  char delimiter = ',';
  std::optional<char> quote = '"';        // doubled within a value
  std::vector<std::string> null_strings;  // what stands for NULL, in quotes or not
};

struct CsvFile {
  std::string path;
  int64_t skipped_lines = 0;  // before the header
  bool has_header = true;
  int32_t values = 0;           // of each line
  std::vector<int32_t> places;  // by column that is read: its place in the lines; -1: it is NULL
};

}  // namespace crossdock
