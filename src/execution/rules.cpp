#include "execution/rules.hpp"

#include <algorithm>

#include <fmt/ranges.h>

namespace crossdock::execution {
namespace {

constexpr const char* kNames[] = {"build_references",
                                  "build_side",
                                  "filter_order",
                                  "footer_aggregates",
                                  "fused_groups",
                                  "grouped_windows",
                                  "key_filters",
                                  "key_reduction",
                                  "late_sort",
                                  "ordered_runs",
                                  "pipelined_joins",
                                  "shared_parts",
                                  "source_conditions",
                                  "streamed_groups",
                                  "top_rows"};
static_assert(std::size(kNames) == static_cast<size_t>(Rule::kCount));

}  // namespace

Result<Rules> Rules::without(const std::vector<std::string>& names) {
  Rules rules;
  for (const std::string& name : names) {
    const auto* const known = std::find(std::begin(kNames), std::end(kNames), name);
    if (known == std::end(kNames)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "the engine has no rule '{}'\n  rules    {}",
                        name,
                        fmt::join(kNames, ", "));
    }
    rules.off_[static_cast<size_t>(known - std::begin(kNames))] = true;
  }
  return rules;
}

std::vector<std::string> Rules::names() { return {std::begin(kNames), std::end(kNames)}; }

}  // namespace crossdock::execution
