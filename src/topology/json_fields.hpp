// Reads the fields of JSON objects whose names and types are all known. Errors name the place, what stands there and
// what should. Used by one reader at a time; keeps a reference to its object.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace crossdock::topology {

// The text as JSON. Errors kInvalidTopology: not JSON, a key that an object has twice, lists or objects nested more
// than 16 deep, more than `bytes_max` bytes. `what` names the text in errors.
Result<nlohmann::json> parse_strict_json(std::string_view text,
                                         std::string_view what,
                                         int64_t bytes_max);

class JsonFields {
 public:
  // `place`: of the object, "shapes[0]"; "" for the outermost.
  JsonFields(const nlohmann::json& object, std::string place)
      : object_(object), place_(std::move(place)) {}

  // Error: not an object, or a field that is none of `names`.
  Status allow(std::initializer_list<std::string_view> names) const;

  Result<std::string> text(std::string_view name) const;
  Result<std::string> text_or(std::string_view name, std::string otherwise) const;
  Result<int64_t> integer_or(std::string_view name,
                             int64_t otherwise,
                             int64_t low,
                             int64_t high) const;
  Result<int64_t> integer(std::string_view name, int64_t low, int64_t high) const;
  Result<double> number(std::string_view name) const;
  Result<double> number_or(std::string_view name, double otherwise) const;
  Result<bool> flag_or(std::string_view name, bool otherwise) const;
  // A list of at most `items_max`.
  Result<const nlohmann::json*> list(std::string_view name, size_t items_max) const;

  // "shapes[0].edges" for a field of this object.
  std::string place_of(std::string_view name) const;
  Error misfit(std::string_view name, std::string_view expected) const;

 private:
  const nlohmann::json* find(std::string_view name) const;

  const nlohmann::json& object_;
  std::string place_;
};

}  // namespace crossdock::topology
