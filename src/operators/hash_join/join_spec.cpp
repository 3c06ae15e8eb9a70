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

SideRoles side_roles(JoinKind kind) {
  const bool is_anti = kind == JoinKind::kAnti || kind == JoinKind::kAntiNullAware;
  const bool is_full = kind == JoinKind::kFull;
  return {.pairs = kind <= JoinKind::kFull,
          .left_alone = kind == JoinKind::kLeft || is_full || is_anti,
          .right_alone = kind == JoinKind::kRight || is_full,
          .left_matched = kind == JoinKind::kSemi};
}

JoinRoles join_roles(JoinKind kind, Side build) {
  const SideRoles sides = side_roles(kind);
  const bool build_left = build == Side::kLeft;
  return {.pairs = sides.pairs,
          .probe_unmatched = build_left ? sides.right_alone : sides.left_alone,
          .probe_matched = !build_left && sides.left_matched,
          .build_unmatched = build_left ? sides.left_alone : sides.right_alone,
          .build_matched = build_left && sides.left_matched,
          .null_aware = kind == JoinKind::kAntiNullAware};
}

}  // namespace crossdock::operators
