#include "expressions/json_path.hpp"

#include <algorithm>
#include <charconv>

#include "expressions/expression_types.hpp"

namespace crossdock::expressions {
namespace {

std::optional<int64_t> read_place(std::string_view digits) {
  int64_t place = 0;
  const char* const end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, place);
  const bool is_read = !digits.empty() && digits[0] != '-' && error == std::errc() && at == end;
  return is_read ? std::optional(place) : std::nullopt;
}

// What stands in brackets: 0, -1, #-1, and # for what is behind the last.
std::optional<int64_t> read_index(std::string_view index) {
  if (index == "#") return INT64_MAX;
  const size_t sign = index.starts_with("#-") ? 2 : index.starts_with('-') ? 1 : 0;
  const std::optional<int64_t> place = read_place(index.substr(sign));
  return sign != 0 && place ? -*place : place;
}

// Takes a key from `path`, behind its point; a backslash takes a quote or a backslash in quotes as it is. None: there
// is none.
std::optional<std::string> take_key(std::string_view* path) {
  std::string key;
  if (!path->starts_with('"')) {
    const size_t bytes = std::min(path->find_first_of(".["), path->size());
    key = path->substr(0, bytes);
    path->remove_prefix(bytes);
    return key.empty() || key[0] == '*' ? std::nullopt : std::optional(key);
  }
  path->remove_prefix(1);
  while (!path->empty() && path->front() != '"') {
    const bool is_escaped = path->starts_with("\\\"") || path->starts_with("\\\\");
    if (is_escaped) path->remove_prefix(1);
    key.push_back(path->front());
    path->remove_prefix(1);
  }
  if (path->empty() || key.empty()) return std::nullopt;
  path->remove_prefix(1);
  return key;
}

std::optional<JsonStep> take_step(std::string_view* path) {
  const bool is_key = path->starts_with('.');
  if (!is_key && !path->starts_with('[')) return std::nullopt;
  path->remove_prefix(1);
  if (is_key) {
    std::optional<std::string> key = take_key(path);
    return key ? std::optional(JsonStep{std::move(key), std::nullopt}) : std::nullopt;
  }
  const size_t end = path->find(']');
  if (end == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> place = read_index(path->substr(0, end));
  path->remove_prefix(end + 1);
  return place ? std::optional(JsonStep{std::nullopt, place}) : std::nullopt;
}

// A part of a pointer: ~1 is a slash, and ~0 what else would have to be written ~.
JsonStep pointer_step(std::string_view part) {
  std::string key;
  for (size_t i = 0; i < part.size(); ++i) {
    const bool is_escaped =
        part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1');
    key.push_back(!is_escaped ? part[i] : part[i + 1] == '1' ? '/' : '~');
    if (is_escaped) ++i;
  }
  const bool has_zeros = part.size() > 1 && part[0] == '0';
  return {std::move(key), has_zeros ? std::nullopt : read_place(part)};
}

JsonPath pointer_steps(std::string_view path) {
  JsonPath steps;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/', 1), path.size());
    steps.push_back(pointer_step(path.substr(1, end - 1)));
    path.remove_prefix(end);
  }
  return steps;
}

}  // namespace

Result<JsonPath> parse_json_path(std::string_view path) {
  if (path.empty()) return JsonPath{};
  if (path[0] == '/') return pointer_steps(path);
  if (path[0] != '$') return JsonPath{{std::string(path), std::nullopt}};
  JsonPath steps;
  for (std::string_view rest = path.substr(1); !rest.empty();) {
    std::optional<JsonStep> step = take_step(&rest);
    if (!step) {
      return make_error(ErrorCode::kInvalidArgument,
                        "the path '{}' of JSON cannot be read\n  try      '$.key[0]', '$.\"a "
                        "key\"', '/key/0'; one with "
                        "* has no single value",
                        path);
    }
    steps.push_back(std::move(*step));
  }
  return steps;
}

std::shared_ptr<const JsonPath> make_json_path(const Expression& expression) {
  if (!types::is_of_json(expression.op)) return nullptr;
  auto path = std::make_shared<JsonPath>();
  for (const LiteralValue& value : expression.values) {
    const JsonPath steps = parse_json_path(value.text).value();
    path->insert(path->end(), steps.begin(), steps.end());
  }
  return path;
}

}  // namespace crossdock::expressions
