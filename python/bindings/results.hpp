// From a Result of the engine to a value or an exception of Python, where a binding calls a room below the façade.
#pragma once

#include <string>
#include <utility>

#include <crossdock/crossdock.hpp>

#include "base/error.hpp"
#include "base/result.hpp"

namespace crossdock::python {

// The module turns it into NativeError with the code, the class and the text.
[[noreturn]] inline void raise_error(const Error& error) {
  std::string kind = "InternalError";
  for (const ErrorInfo& info : error_table()) {
    if (info.code == error.code) kind = info.kind;
  }
  throw Exception(code_text(error.code), kind, error.message);
}

template <class T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) raise_error(result.error());
  return std::move(result.value());
}

}  // namespace crossdock::python
