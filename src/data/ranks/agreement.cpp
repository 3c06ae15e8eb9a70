#include "data/ranks/agreement.hpp"

#include <charconv>

#include "base/error.hpp"
#include "base/text_cut.hpp"

namespace crossdock::ranks {
namespace {

constexpr char kCan = '+';
constexpr char kCannot = '-';

}  // namespace

std::string error_text(const Error& error, size_t bytes_max) {
  const std::string text = fmt::format("{} {}", static_cast<int>(error.code), error.message);
  return std::string(first_characters(text, bytes_max));
}

Error error_of_text(const std::string& text) {
  int number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc() && *rest == ' ') {
    for (const ErrorInfo& info : error_table()) {
      if (static_cast<int>(info.code) == number) {
        return {info.code, std::string(rest + 1, text.data() + text.size())};
      }
    }
  }
  return make_error(ErrorCode::kMalformedMessage, "another rank gave an error as '{}'", text);
}

Status check_same(const std::vector<std::string>& by_rank, const std::string& rule) {
  for (size_t rank = 1; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] == by_rank[0]) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "rank {} has {}, and rank 0 has {}; {}",
                      rank,
                      by_rank[rank],
                      by_rank[0],
                      rule);
  }
  return {};
}

std::string passed_text(const Result<std::string>& mine) {
  constexpr size_t kErrorBytesMax = 4000;
  return mine.ok() ? kCan + mine.value() : kCannot + error_text(mine.error(), kErrorBytesMax);
}

Result<std::vector<std::string>> agree(RankGroup& group,
                                       const Result<std::string>& said,
                                       std::chrono::milliseconds at_most) {
  const Status alive = group.check_alive(group.rank());
  const Result<std::string> mine = said.ok() && !alive.ok() ? alive.error() : said;
  Result<std::vector<std::string>> gathered = group.gather(passed_text(mine), at_most);
  if (!mine.ok()) return mine.error();  // one's own has the most to say
  if (!gathered.ok()) return gathered.error();
  std::vector<std::string>& all = gathered.value();
  for (size_t rank = 0; rank < all.size(); ++rank) {
    std::string& theirs = all[rank];
    if (!theirs.empty() && theirs.front() == kCan) {
      theirs.erase(0, 1);
      continue;
    }
    const Error cause = error_of_text(theirs.empty() ? theirs : theirs.substr(1));
    return Error{cause.code, fmt::format("rank {}: {}", rank, cause.message)};
  }
  return all;
}

}  // namespace crossdock::ranks
