#include "topology/json_fields.hpp"

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/text_cut.hpp"

namespace crossdock::topology {
namespace {

using Json = nlohmann::json;
constexpr ErrorCode kCode = ErrorCode::kInvalidTopology;
constexpr int kDepthMax = 16;

std::string shown(const Json& json) {
  constexpr size_t kShownBytes = 60;
  if (json.is_structured()) return json.is_array() ? "a list" : "an object";
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, kShownBytes);
}

// Watches a text while it is parsed: for depth, and for keys that one object has twice, of which a parser would keep
// one without a word.
class Watch {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (depth > kDepthMax)
      problem = fmt::format("lists and objects are nested more than {} deep", kDepthMax);
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::object_end && !keys_.empty()) keys_.pop_back();
    if (event == Event::key && !keys_.empty() && problem.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second)
        problem = fmt::format("an object has the field {} twice", shown(parsed));
    }
    return problem.empty();
  }
  std::string problem;

 private:
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Result<Json> parse_strict_json(std::string_view text, std::string_view what, int64_t bytes_max) {
  if (static_cast<int64_t>(text.size()) > bytes_max) {
    return make_error(kCode, "{} has {} bytes; the most is {}", what, text.size(), bytes_max);
  }
  Watch watch;
  try {
    Json json = Json::parse(text.begin(), text.end(), std::ref(watch));
    if (watch.problem.empty()) return json;
  } catch (const Json::exception& failure) {
    if (watch.problem.empty()) {
      const std::string_view words = failure.what();
      const size_t prefix = words.find("] ");
      return make_error(
          kCode,
          "{} is not JSON: {}",
          what,
          first_characters(words.substr(prefix == std::string_view::npos ? 0 : prefix + 2), 200));
    }
  }
  return make_error(kCode, "{} cannot be read: {}", what, watch.problem);
}

std::string JsonFields::place_of(std::string_view name) const {
  return place_.empty() ? std::string(name) : fmt::format("{}.{}", place_, name);
}

const Json* JsonFields::find(std::string_view name) const {
  const auto field = object_.find(std::string(name));
  return field == object_.end() ? nullptr : &*field;
}

Error JsonFields::misfit(std::string_view name, std::string_view expected) const {
  const Json* value = find(name);
  if (value == nullptr)
    return make_error(kCode, "{} is missing; it must be {}", place_of(name), expected);
  return make_error(kCode, "{} is {}; it must be {}", place_of(name), shown(*value), expected);
}

Status JsonFields::allow(std::initializer_list<std::string_view> names) const {
  if (!object_.is_object()) {
    return make_error(kCode,
                      "{} is {}; it must be an object",
                      place_.empty() ? "the whole" : place_,
                      shown(object_));
  }
  for (const auto& [key, value] : object_.items()) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::vector<std::string> known(names.begin(), names.end());
    const std::string near = nearest_name(key.substr(0, 64), known);
    return make_error(kCode,
                      "{} is not a field: {}",
                      place_of(shown(Json(key))),
                      near.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                   : fmt::format("did you mean '{}'?", near));
  }
  return {};
}

Result<std::string> JsonFields::text(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr || !value->is_string()) return misfit(name, "a text");
  return value->get<std::string>();
}

Result<std::string> JsonFields::text_or(std::string_view name, std::string otherwise) const {
  if (find(name) == nullptr) return otherwise;
  return text(name);
}

Result<int64_t> JsonFields::integer(std::string_view name, int64_t low, int64_t high) const {
  const Json* value = find(name);
  const bool is_integer = value != nullptr && value->is_number_integer();
  // 2^63 and more is kept as unsigned and would come out negative.
  const bool is_small =
      is_integer && (!value->is_number_unsigned() || value->get<uint64_t>() <= INT64_MAX);
  if (!is_small || value->get<int64_t>() < low || value->get<int64_t>() > high) {
    return misfit(name, fmt::format("a whole number from {} to {}", low, high));
  }
  return value->get<int64_t>();
}

Result<int64_t> JsonFields::integer_or(std::string_view name,
                                       int64_t otherwise,
                                       int64_t low,
                                       int64_t high) const {
  if (find(name) == nullptr) return otherwise;
  return integer(name, low, high);
}

Result<double> JsonFields::number(std::string_view name) const {
  const Json* value = find(name);
  if (value == nullptr || !value->is_number()) return misfit(name, "a number");
  return value->get<double>();
}

Result<double> JsonFields::number_or(std::string_view name, double otherwise) const {
  if (find(name) == nullptr) return otherwise;
  return number(name);
}

Result<bool> JsonFields::flag_or(std::string_view name, bool otherwise) const {
  const Json* value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) return misfit(name, "true or false");
  return value->get<bool>();
}

Result<const Json*> JsonFields::list(std::string_view name, size_t items_max) const {
  const Json* value = find(name);
  if (value == nullptr || !value->is_array()) return misfit(name, "a list");
  if (value->size() > items_max) {
    return make_error(
        kCode, "{} has {} items; the most is {}", place_of(name), value->size(), items_max);
  }
  return value;
}

}  // namespace crossdock::topology
