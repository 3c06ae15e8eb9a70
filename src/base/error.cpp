#include "base/error.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace crossdock {
namespace {

constexpr ErrorInfo kErrors[] = {
    {ErrorCode::kUnknownColumn, "ColumnError", "a column name is not in the schema"},
    {ErrorCode::kUnsupportedType, "TypeError", "a column has a type that is not taken there"},
    {ErrorCode::kKeyTypeMismatch, "TypeError", "two key columns cannot be compared"},
    {ErrorCode::kDuplicateColumn, "ColumnError", "two output columns have the same name"},
    {ErrorCode::kInvalidArgument, "OptionError", "an option has a value outside its limits"},
    {ErrorCode::kOutOfMemoryBudget, "CapacityError", "an operator needs more than the budget"},
    {ErrorCode::kTooManyRows, "CapacityError", "there are more rows than can be numbered"},
    {ErrorCode::kMalformedArrow, "DataError", "Arrow data break the rules of their own format"},
    {ErrorCode::kSourceFailed, "DataError", "a source stopped with an error of its own"},
    {ErrorCode::kValueOutOfRange, "DataError", "a value or a sum does not fit its type or limit"},
    {ErrorCode::kExpressionFailed, "ExpressionError", "a row has no value for an expression"},
    {ErrorCode::kCancelled, "CancelledError", "the run was cancelled"},
    {ErrorCode::kResidualFailed, "ExpressionError", "the residual predicate raised or misfit"},
    {ErrorCode::kInvalidTopology, "TopologyError", "a description of machines breaks its rules"},
    {ErrorCode::kNoPath, "TopologyError", "nothing connects two endpoints of a channel"},
    {ErrorCode::kProbeFailed, "TopologyError", "this machine cannot be looked at"},
    {ErrorCode::kControllerUnreachable, "ControlError", "a controller or agent is out of reach"},
    {ErrorCode::kNotAllowed, "ControlError", "a token or a certificate is missing or refused"},
    {ErrorCode::kMalformedMessage, "ControlError", "a control message breaks the protocol's rules"},
    {ErrorCode::kUnknownId, "ControlError", "there is no such agent, endpoint or channel"},
    {ErrorCode::kNameTaken, "ControlError", "another agent has joined under the same name"},
    {ErrorCode::kControlLimit, "ControlError", "the controller holds as many as it may"},
    {ErrorCode::kAgentLost, "ControlError", "an agent ended, or was silent for too long"},
    {ErrorCode::kChannelClosed, "ControlError", "a channel was closed before its end"},
    {ErrorCode::kInternal, "InternalError", "a broken promise inside Crossdock: please report"},
};

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const ErrorInfo> error_table() { return kErrors; }

std::string code_text(ErrorCode code) { return fmt::format("CD-{}", static_cast<int>(code)); }

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  size_t best_distance = word.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace crossdock
