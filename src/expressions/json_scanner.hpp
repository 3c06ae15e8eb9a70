// Reads JSON documents where they lie: one pass checks all of a document and finds what is at a path.
//
// What it takes is what DuckDB takes: RFC 8259, a comma behind a last item, and nan and infinity in any case, with or
// without a minus. UTF-8 is not looked at. Nothing is converted or copied, but for a key with escapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expressions/json_path.hpp"

namespace crossdock::expressions {

struct JsonFinding {
  bool is_json = false;
  std::optional<std::string_view> value;  // as it is written; none: nothing is at the path
};

// One thread's own. Documents may be of any bytes.
class JsonScanner {
 public:
  static constexpr size_t kMostLevels = size_t{1} << 20;  // of arrays and objects in each other

  // The value at `path`, where the first of equal keys counts. Of a document that is known to be JSON no more is read
  // than up to there.
  JsonFinding find(std::string_view document, const JsonPath& path, bool is_known = false);
  // Behind the string, number or word that begins at `at` < `end`; nullptr: there is none.
  const char* scalar_end(const char* at, const char* end);
  // Of the last document that was no JSON: the byte at which it ceases to be.
  size_t fault() const { return static_cast<size_t>(fault_ - begin_); }

 private:
  // A begin of an item of an array or object, or the place behind its closing sign; nullptr: malformed.
  struct Item {
    const char* at;
    bool is_end;
  };
  enum class Descent : uint8_t { kDown, kNowhere, kMalformed };

  Descent descend(const JsonStep& step);
  Descent find_key(std::string_view key);
  Descent find_place(int64_t place);
  bool is_key(std::string_view key, std::string_view written);

  // Each answers the byte behind what begins at `at`; nullptr: malformed.
  const char* pass_value(const char* at);
  [[gnu::always_inline]] inline const char* pass_begin(const char* at);
  [[gnu::always_inline]] inline const char* pass_to(const char* at, size_t depth);
  [[gnu::always_inline]] inline const char* pass_key(const char* at);
  [[gnu::always_inline]] inline const char* pass_string(const char* at);
  const char* pass_escape(const char* at);
  [[gnu::always_inline]] inline const char* pass_number(const char* at);
  [[gnu::always_inline]] inline const char* pass_digits(const char* at);
  [[gnu::always_inline]] inline const char* pass_name(const char* at);
  [[gnu::always_inline]] inline const char* pass_spaces(const char* at);
  const char* pass_some_spaces(const char* at);
  [[gnu::always_inline]] inline Item next_item(const char* at, bool is_first);
  [[gnu::always_inline]] inline const char* open(const char* at);
  [[gnu::always_inline]] inline void close();
  const char* refuse(const char* at);

  bool is_at(const char* at, char letter) const { return at < end_ && *at == letter; }
  template <int64_t kSize>
  bool is_word(const char* at, const char (&word)[kSize]) const {
    return end_ - at >= kSize - 1 && std::memcmp(at, word, kSize - 1) == 0;
  }
  bool is_in_object() const { return (kinds_ & 1) != 0; }

  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  const char* at_ = nullptr;       // where a path has led so far
  const char* key_end_ = nullptr;  // the quote behind the last key
  bool has_escapes_ = false;       // that key, or a string since
  const char* fault_ = nullptr;
  size_t depth_ = 0;    // arrays and objects that are open
  uint64_t kinds_ = 0;  // 1: an object, of the last up to 64 of them, the last in the lowest bit
  std::vector<uint64_t> outer_;  // the same of those around them
  std::string key_;              // without escapes
};

}  // namespace crossdock::expressions
