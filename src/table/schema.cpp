// Looking a column up by name, with an answer for those who misspelled it.
#include "table/schema.hpp"

namespace crossdock {
namespace {

constexpr size_t kListedNames = 20;  // a wide table's error stays readable

std::string list_names(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kListedNames; ++i) {
    text += i == 0 ? "" : ", ";
    text += names[i];
  }
  if (names.size() > kListedNames) {
    text += fmt::format(", ... ({} more)", names.size() - kListedNames);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

Result<int> Schema::find(std::string_view name, std::string_view where) const {
  int place = -1;
  for (int i = 0; i < column_count(); ++i) {
    if (fields[i].name != name) continue;
    if (place >= 0) {
      return make_error(ErrorCode::kDuplicateColumn,
                        "column \"{}\" stands twice in the {}, at positions {} and {}\n"
                        "  try      another name for one of them before the join",
                        name,
                        where,
                        place,
                        i);
    }
    place = i;
  }
  if (place >= 0) return place;

  std::vector<std::string> names;
  names.reserve(fields.size());
  for (const Field& field : fields) names.push_back(field.name);
  const std::string nearest = nearest_name(name, names);
  std::string text =
      fmt::format("no column \"{}\" in the {}\n  has      {}", name, where, list_names(names));
  if (!nearest.empty()) text += fmt::format("\n  try      \"{}\"", nearest);
  return Error{ErrorCode::kUnknownColumn, std::move(text)};
}

}  // namespace crossdock
