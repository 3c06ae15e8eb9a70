// What is at one path of many documents. Documents of a column mostly look alike: the same keys, signs and white space
// in the same places, and other strings, numbers and words between them. These are compared as bytes then, and no more
// is read as JSON than the scalars: a document of 110 bytes takes a third of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expressions/json_path.hpp"
#include "expressions/json_scanner.hpp"

namespace crossdock::expressions {

// One thread's own; keeps up to 12 KiB of a document. `path` has to live as long.
class JsonFinder {
 public:
  explicit JsonFinder(const JsonPath& path);

  // As JsonScanner::find.
  JsonFinding find(std::string_view document, bool is_known);

 private:
  // A place in what stands before, between or behind the scalars.
  struct Place {
    size_t gap = SIZE_MAX;
    size_t byte = 0;
  };

  void learn(std::string_view document, const JsonFinding& finding);
  void add_gap(std::string_view document, size_t begin, size_t end, const JsonFinding& finding);
  std::optional<JsonFinding> find_alike(std::string_view document, bool is_known);

  const JsonPath& path_;
  const bool counts_back_;  // then what is behind the value says where it is
  JsonScanner scanner_;
  int32_t credit_ =
      16;  // for looking at documents in this way; it is used up where they do not look alike
  std::string signs_;  // of the last document that was read as a whole: all but its scalars
  std::vector<uint32_t> gaps_;  // the bytes of `signs_` before each scalar, and behind the last
  Place begin_;                 // of the value; nowhere: there is none
  Place end_;
};

}  // namespace crossdock::expressions
