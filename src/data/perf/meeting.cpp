#include "data/perf/meeting.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>

#include "data/ranks/agreement.hpp"

namespace crossdock::perf {
namespace {

// Later than the slowest rank comes out of the meeting that agrees on it.
constexpr std::chrono::milliseconds kStartAfter{20};

std::string boot_of_this_machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  file >> boot;
  return boot;
}

}  // namespace

Result<std::vector<std::string>> Meeting::gather_messages(const Result<std::string>& mine,
                                                          std::chrono::milliseconds within) {
  if (group_ != nullptr) return crossdock::ranks::agree(*group_, mine, within);
  if (!mine.ok()) return mine.error();
  return std::vector<std::string>{mine.value()};
}

Result<Meeting> Meeting::make(ranks::RankGroup* group, std::chrono::milliseconds limit) {
  Meeting meeting;
  if (group == nullptr) return meeting;
  meeting.group_ = group;
  meeting.limit_ = limit;
  meeting.rank_ = group->rank();
  meeting.size_ = group->size();
  const std::string mine = boot_of_this_machine();
  CD_ASSIGN(const std::vector<std::string> boots, meeting.gather_messages(mine, limit));
  meeting.ranks_here_ = static_cast<int>(std::count(boots.begin(), boots.end(), mine));
  meeting.has_one_clock_ = !mine.empty() && meeting.ranks_here_ == meeting.size_;
  return meeting;
}

Result<std::vector<Words>> Meeting::gather(std::span<const uint64_t> mine) {
  const std::string text(reinterpret_cast<const char*>(mine.data()), mine.size_bytes());
  CD_ASSIGN(const std::vector<std::string> messages, gather_messages(text, limit_));
  std::vector<Words> all;
  for (size_t rank = 0; rank < messages.size(); ++rank) {
    if (messages[rank].size() != text.size()) {
      return make_error(ErrorCode::kInternal,
                        "rank {} passed {} bytes to a meeting, and rank {} {}: they do not run the "
                        "same measurement",
                        rank,
                        messages[rank].size(),
                        rank_,
                        text.size());
    }
    all.emplace_back(mine.size());
    std::memcpy(all.back().data(), messages[rank].data(), text.size());
  }
  return all;
}

Status Meeting::agree(const Status& mine) { return agree(mine, limit_); }

Status Meeting::agree(const Status& mine, std::chrono::milliseconds within) {
  CD_TRY(gather_messages(mine.ok() ? Result<std::string>("") : mine.error(), within));
  return {};
}

Result<Meeting::Clock::time_point> Meeting::start() {
  const auto now = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
  CD_ASSIGN(const std::vector<Words> times, gather(std::span(&now, 1)));
  if (!has_one_clock_ || size_ == 1) return Clock::now();
  uint64_t latest = 0;
  for (const Words& words : times) latest = std::max(latest, words[0]);
  return Clock::time_point(Clock::duration(latest)) + kStartAfter;
}

}  // namespace crossdock::perf
