// Result<T>: a value or an Error. The data path returns it instead of throwing, so that a worker's
// failure is an ordinary value that the team can collect (exceptions must not cross threads).
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/error.hpp"

namespace crossdock {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(implicit)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(implicit)

  bool ok() const { return state_.index() == 0; }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(implicit)

  bool ok() const { return !error_.has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

template <class... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error{code, fmt::format(text, std::forward<Args>(args)...)};
}

}  // namespace crossdock

#define CD_CONCAT_(a, b) a##b
#define CD_CONCAT(a, b) CD_CONCAT_(a, b)

// Leaves the function with the error of `expr`, if it has one.
#define CD_TRY(expr)                                                                          \
  do {                                                                                        \
    if (auto CD_CONCAT(cd_status_, __LINE__) = (expr); !CD_CONCAT(cd_status_, __LINE__).ok()) \
        [[unlikely]]                                                                          \
      return CD_CONCAT(cd_status_, __LINE__).error();                                         \
  } while (false)

// CD_ASSIGN(auto x, f()): x = the value of f(), or leaves the function with its error.
#define CD_ASSIGN(declaration, expr)                      \
  auto CD_CONCAT(cd_result_, __LINE__) = (expr);          \
  if (!CD_CONCAT(cd_result_, __LINE__).ok()) [[unlikely]] \
    return CD_CONCAT(cd_result_, __LINE__).error();       \
  declaration = std::move(CD_CONCAT(cd_result_, __LINE__).value())
