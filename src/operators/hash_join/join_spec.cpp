// Names of the choices, and what each kind of join lets out.
#include "operators/hash_join/join_spec.hpp"

#include <span>
#include <utility>

namespace crossdock::operators {
namespace {

template <class Value>
using Names = std::span<const std::pair<const char*, Value>>;

constexpr std::pair<const char*, JoinKind> kKinds[] = {
    {"inner", JoinKind::kInner},
    {"left", JoinKind::kLeft},
    {"right", JoinKind::kRight},
    {"full", JoinKind::kFull},
    {"semi", JoinKind::kSemi},
    {"anti", JoinKind::kAnti},
    {"anti_null_aware", JoinKind::kAntiNullAware},
};
constexpr std::pair<const char*, Strategy> kStrategies[] = {
    {"auto", Strategy::kAuto},
    {"radix", Strategy::kRadix},
    {"direct", Strategy::kDirect},
    {"dense", Strategy::kDense},
    {"merge", Strategy::kMerge},
};
constexpr std::pair<const char*, Materialize> kMaterializes[] = {
    {"auto", Materialize::kAuto}, {"early", Materialize::kEarly}, {"late", Materialize::kLate}};
constexpr std::pair<const char*, Filter> kFilters[] = {
    {"auto", Filter::kAuto}, {"bloom", Filter::kBloom}, {"off", Filter::kOff}};
constexpr std::pair<const char*, Sortedness> kSortednesses[] = {{"detect", Sortedness::kDetect},
                                                                {"declared", Sortedness::kDeclared},
                                                                {"no", Sortedness::kUnsorted}};

template <class Value>
Result<Value> parse(std::string_view option, std::string_view text, Names<Value> names) {
  std::vector<std::string> candidates;
  std::string list;
  for (const auto& [name, value] : names) {
    if (text == name) return value;
    candidates.emplace_back(name);
    list += list.empty() ? name : std::string(", ") + name;
  }
  const std::string near = nearest_name(text, candidates);
  return make_error(ErrorCode::kInvalidArgument,
                    "{} is '{}', but must be one of {}{}",
                    option,
                    text,
                    list,
                    near.empty() ? "" : "\n  did you mean '" + near + "'?");
}

template <class Value>
const char* name_of(Value value, Names<Value> names) {
  for (const auto& [name, named] : names) {
    if (named == value) return name;
  }
  return "?";
}

}  // namespace

const char* join_kind_name(JoinKind kind) { return name_of<JoinKind>(kind, kKinds); }
const char* strategy_name(Strategy strategy) { return name_of<Strategy>(strategy, kStrategies); }

Result<JoinKind> parse_join_kind(std::string_view text) {
  return parse<JoinKind>("how", text, kKinds);
}
Result<Strategy> parse_strategy(std::string_view text) {
  return parse<Strategy>("strategy", text, kStrategies);
}
Result<Materialize> parse_materialize(std::string_view text) {
  return parse<Materialize>("materialize", text, kMaterializes);
}
Result<Filter> parse_filter(std::string_view text) {
  return parse<Filter>("filter", text, kFilters);
}

Result<Sortedness> parse_sortedness(std::string_view option, std::string_view text) {
  return parse<Sortedness>(option, text, kSortednesses);
}

JoinRoles join_roles(JoinKind kind, Side build) {
  const bool build_left = build == Side::kLeft;
  JoinRoles roles;
  switch (kind) {
    case JoinKind::kInner:
      roles.emit_pairs = true;
      break;
    case JoinKind::kLeft:
      roles.emit_pairs = true;
      (build_left ? roles.emit_build_unmatched : roles.emit_probe_unmatched) = true;
      break;
    case JoinKind::kRight:
      roles.emit_pairs = true;
      (build_left ? roles.emit_probe_unmatched : roles.emit_build_unmatched) = true;
      break;
    case JoinKind::kFull:
      roles.emit_pairs = roles.emit_probe_unmatched = roles.emit_build_unmatched = true;
      break;
    case JoinKind::kSemi:
      (build_left ? roles.emit_build_matched : roles.emit_probe_matched) = true;
      break;
    case JoinKind::kAnti:
    case JoinKind::kAntiNullAware:
      (build_left ? roles.emit_build_unmatched : roles.emit_probe_unmatched) = true;
      break;
  }
  return roles;
}

}  // namespace crossdock::operators
