// Where in a JSON document a value is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace crossdock::expressions {

struct Expression;

// Into an object by key, and into an array by place; a number of a pointer is both.
struct JsonStep {
  std::optional<std::string> key;
  std::optional<int64_t> place;  // below 0: from the end, -1 is the last
};
using JsonPath = std::vector<JsonStep>;

// `$.key."quoted key"[0][#-1]`, or a pointer `/key/0` of RFC 6901; nothing is the document, and any other string one
// key. Error kInvalidArgument for what begins with $ and is no such path, wildcards among it.
Result<JsonPath> parse_json_path(std::string_view path);

// All paths of a kJsonExtract ... kJsonValid, one behind the other; nullptr for other expressions.
std::shared_ptr<const JsonPath> make_json_path(const Expression& expression);

}  // namespace crossdock::expressions
