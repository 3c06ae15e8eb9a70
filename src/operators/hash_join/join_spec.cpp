#include "operators/hash_join/join_spec.hpp"

#include "base/choices.hpp"

namespace crossdock::operators {
namespace {

constexpr Choice<JoinKind> kKinds[] = {
    {"inner", JoinKind::kInner},
    {"left", JoinKind::kLeft},
    {"right", JoinKind::kRight},
    {"full", JoinKind::kFull},
    {"semi", JoinKind::kSemi},
    {"anti", JoinKind::kAnti},
    {"anti_null_aware", JoinKind::kAntiNullAware},
};
constexpr Choice<Strategy> kStrategies[] = {
    {"auto", Strategy::kAuto},
    {"radix", Strategy::kRadix},
    {"direct", Strategy::kDirect},
    {"dense", Strategy::kDense},
    {"merge", Strategy::kMerge},
};
constexpr Choice<Materialize> kMaterializes[] = {
    {"auto", Materialize::kAuto}, {"early", Materialize::kEarly}, {"late", Materialize::kLate}};
constexpr Choice<Filter> kFilters[] = {
    {"auto", Filter::kAuto}, {"bloom", Filter::kBloom}, {"off", Filter::kOff}};
constexpr Choice<Sortedness> kSortednesses[] = {{"detect", Sortedness::kDetect},
                                                {"declared", Sortedness::kDeclared},
                                                {"no", Sortedness::kUnsorted}};

}  // namespace

const char* join_kind_name(JoinKind kind) { return choice_name(kKinds, kind); }
const char* strategy_name(Strategy strategy) { return choice_name(kStrategies, strategy); }

Result<JoinKind> parse_join_kind(std::string_view text) {
  return parse_choice(kKinds, "how", text);
}
Result<Strategy> parse_strategy(std::string_view text) {
  return parse_choice(kStrategies, "strategy", text);
}
Result<Materialize> parse_materialize(std::string_view text) {
  return parse_choice(kMaterializes, "materialize", text);
}
Result<Filter> parse_filter(std::string_view text) {
  return parse_choice(kFilters, "filter", text);
}
Result<Sortedness> parse_sortedness(std::string_view option, std::string_view text) {
  return parse_choice(kSortednesses, option, text);
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
