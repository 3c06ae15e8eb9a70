// Formats of dates and instants, "%Y-%m-%d %H:%M:%S": how strings are made of these, and read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace crossdock::expressions {

enum class FormatUse : uint8_t { kWrite, kRead };

// Immutable.
class TimeFormat {
 public:
  // Error kInvalidArgument for a specifier that there is not, or that cannot be read.
  static Result<TimeFormat> parse(std::string_view format, FormatUse use);

  // What a string can have at most.
  size_t most_bytes() const;
  // Writes an instant, which a date is with `nanoseconds` = 0 of its day; answers the bytes.
  size_t write(int64_t days, int64_t nanoseconds, char* to) const;

  // Whether the format is the name of a day or a month alone, which `name` gives without writing it.
  bool is_name() const;
  std::string_view name(int64_t days) const;

  // Microseconds since 1970 of a string; none where it is no instant in this format. What the format leaves out is that
  // of 1 January 1900, at midnight. Spaces around are passed, and names of days and months may have any case.
  std::optional<int64_t> read(std::string_view string) const;

 private:
  struct Piece {
    char specifier = 0;  // 0: the bytes of `text` as they are
    bool is_padded = true;
    std::string text;
  };

  Status add(std::string_view format, FormatUse use);

  std::vector<Piece> pieces_;
};

}  // namespace crossdock::expressions
