// The choices of an option by their names: each has one table, which is read both ways.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

#include "base/result.hpp"

namespace crossdock {

template <class Value>
struct Choice {
  const char* name;
  Value value;
};

// "?" for a value that the table lacks.
template <class Value, size_t kCount>
const char* choice_name(const Choice<Value> (&choices)[kCount], Value value) {
  for (const Choice<Value>& choice : choices) {
    if (choice.value == value) return choice.name;
  }
  return "?";
}

// kInvalidArgument for a name that the table lacks, which says what was named so, and all names.
template <class Value, size_t kCount>
Result<Value> parse_choice(const Choice<Value> (&choices)[kCount],
                           std::string_view what,
                           std::string_view name) {
  std::vector<std::string> names;
  for (const Choice<Value>& choice : choices) {
    if (choice.name == name) return choice.value;
    names.emplace_back(choice.name);
  }
  const std::string near = nearest_name(name, names);
  return make_error(ErrorCode::kInvalidArgument,
                    "{} is '{}', but must be one of {}{}",
                    what,
                    name,
                    fmt::join(names, ", "),
                    near.empty() ? "" : fmt::format("\n  did you mean '{}'?", near));
}

}  // namespace crossdock
