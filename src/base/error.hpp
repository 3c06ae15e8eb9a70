// What can go wrong, declared once: the code, the Python class and one line for the docs of every
// error. Errors travel as values (`Result<T>`, base/result.hpp); bindings turn them into exceptions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace crossdock {

enum class ErrorCode : uint16_t {
  kUnknownColumn = 101,
  kUnsupportedType = 102,
  kKeyTypeMismatch = 103,
  kDuplicateColumn = 104,
  kInvalidArgument = 105,
  kOutOfMemoryBudget = 201,
  kTooManyRows = 202,
  kMalformedArrow = 301,
  kSourceFailed = 302,
  kValueOutOfRange = 303,
  kExpressionFailed = 304,
  kCancelled = 401,
  kResidualFailed = 402,
  kInvalidTopology = 601,
  kNoPath = 602,
  kProbeFailed = 603,
  kControllerUnreachable = 611,
  kNotAllowed = 612,
  kMalformedMessage = 613,
  kUnknownId = 614,
  kNameTaken = 615,
  kControlLimit = 616,
  kAgentLost = 617,
  kChannelClosed = 618,
  kInternal = 901,
};

struct ErrorInfo {
  ErrorCode code;
  std::string_view kind;     // name of the Python class, crossdock.<kind>
  std::string_view summary;  // one line, for the reference of errors
};

// Every code, in ascending order. Python, the docs and the tests read this table.
std::span<const ErrorInfo> error_table();

// "CD-201"; stable across versions.
std::string code_text(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // what, where, which values, whose limit, what to try
};

// The candidate that is spelled most like `word`, or "" when none is near (edit distance > 1/2).
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace crossdock
