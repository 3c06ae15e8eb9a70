// Patterns over strings: what LIKE, its negation, and the tests of beginnings, ends and parts look for.
//
// A pattern is pieces between its %: they are searched for in order, each from where the one before it ended, so a
// string is read once. The first piece is fixed to the beginning and the last one to the end, unless a % is there.
// The search of a piece compares its first and its last byte at 16 places at once (Muła, SIMD-friendly algorithms for
// substring searching, 2016).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crossdock::expressions {

// The first place of `part` in `text`; npos: none.
size_t find_string(std::string_view text, std::string_view part);
// out[i]: 1 where strings[i] is valid and has the part, else 0. valid == nullptr: all are.
void have_part(const std::string_view* strings,
               const uint8_t* valid,
               int32_t count,
               std::string_view part,
               uint8_t* out);

class StringPattern {
 public:
  // % is any string, _ any one character, a backslash takes the byte behind it as it is.
  static StringPattern like(std::string_view pattern);

  bool matches(std::string_view text) const;

 private:
  // Bytes, and characters that may be anything: `skipped` of them, then `bytes`, and so on.
  struct Run {
    int32_t skipped;
    std::string bytes;
  };
  struct Piece {
    std::vector<Run> runs;
    int32_t characters = 0;
  };

  void end_piece(Piece&& piece);
  // The end of the piece if it stands at `at`; nullptr if not.
  static const char* match_at(const Piece& piece, const char* at, const char* end);
  // The end of the first occurrence from `at` on; nullptr: none.
  static const char* find_piece(const Piece& piece, const char* at, const char* end);
  bool match_last(const Piece& piece, const char* at, const char* end) const;

  std::vector<Piece> pieces_;
  bool begins_open_ = false;  // with a %
  bool ends_open_ = false;
};

}  // namespace crossdock::expressions
