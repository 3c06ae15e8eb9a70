// The meeting, and rounds of files.
#include "data/ranks/folder_group.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <random>
#include <sstream>
#include <thread>

#include <fmt/ranges.h>

namespace crossdock {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kRanksMax = 1 << 16;
constexpr size_t kNamedFilesMax = 16;  // ranks in an error
constexpr const char* kUnknown = "-";

// Looks often at first, then less and less: a folder may be on a server.
class Patience {
 public:
  // False: the time is over.
  bool wait(std::chrono::steady_clock::time_point end) {
    const auto left = end - std::chrono::steady_clock::now();
    if (left <= left.zero()) return false;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, next_));
    next_ = std::min<microseconds>(next_ * 3 / 2, milliseconds(50));
    return true;
  }

 private:
  microseconds next_{200};
};

std::string random_number() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

bool is_plain(const std::string& job) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  return !job.empty() && job.size() <= 64 && std::ranges::all_of(job, is_word);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

}  // namespace

FolderGroup::FolderGroup(MeetingFolder folder, std::string job, int rank, int size)
    : folder_(std::move(folder)),
      job_(std::move(job)),
      rank_(rank),
      numbers_(static_cast<size_t>(size), kUnknown) {
  numbers_[static_cast<size_t>(rank)] = random_number();
}

FolderGroup::~FolderGroup() {
  if (!home_.is_here()) return;
  if (has_written_ && !has_met_) folder_.remove(list_name(rank_));
  if (!has_met_ || is_over_) return;
  if (!folder_.put(round_name("bye", rank_), "").ok()) return;
  for (int rank = 0; rank < size(); ++rank) {
    const auto bye = folder_.get(round_name("bye", rank));
    if (!bye.ok() || !bye.value().has_value()) return;  // somebody is still here, and sees mine
  }
  folder_.remove_all(job_ + "." + numbers_[0] + ".", "");
}

std::string FolderGroup::list_name(int rank) const { return fmt::format("{}.list.{}", job_, rank); }

std::string FolderGroup::round_name(const std::string& round, int rank) const {
  return fmt::format("{}.{}.{}.{}", job_, numbers_[0], round, rank);
}

Error FolderGroup::missing(const std::vector<int>& ranks, milliseconds after) const {
  const size_t named = std::min(ranks.size(), kNamedFilesMax);
  std::string more;
  if (ranks.size() > named) more = fmt::format(" and {} more", ranks.size() - named);
  if (other_size_ != 0) {
    more += fmt::format(
        " (one that may be left from before counts {} ranks, not {})", other_size_, size());
  }
  return make_error(
      ErrorCode::kAgentLost,
      "rank{} {}{} of {} did not come within {:.3g} s to job \"{}\" in {}: look at "
      "whether they run, see this folder, and use the same name and number of ranks",
      ranks.size() == 1 ? "" : "s",
      fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      more,
      size(),
      static_cast<double>(after.count()) * 1e-3,
      job_,
      folder_.path());
}

Result<FolderGroup::Lists> FolderGroup::read_lists() {
  Lists lists;
  const auto own = static_cast<size_t>(rank_);
  for (int rank = 0; rank < size(); ++rank) {
    CD_ASSIGN(const std::optional<std::string> text, folder_.get(list_name(rank)));
    std::vector<std::string> list = words_of(text.value_or(""));
    if (rank == rank_) {
      if (!has_written_ || (own < list.size() && list[own] == numbers_[own])) continue;
      return make_error(ErrorCode::kInvalidArgument,
                        "another process is rank {} of job \"{}\" in {}, too; give each rank once, "
                        "and each job that runs at the same time a name of its own",
                        rank_,
                        job_,
                        folder_.path());
    }
    if (list.empty()) continue;
    if (list.size() != numbers_.size()) {
      other_size_ = static_cast<int>(list.size());
      continue;
    }
    lists.emplace(rank, std::move(list));
  }
  return lists;
}

Status FolderGroup::meet(Clock::time_point end, milliseconds at_most) {
  Patience patience;
  while (true) {
    CD_ASSIGN(const Lists lists, read_lists());
    std::vector<std::string> seen = numbers_;
    for (const auto& [rank, list] : lists) {
      seen[static_cast<size_t>(rank)] = list[static_cast<size_t>(rank)];
    }
    if (!has_written_ || seen != numbers_) {
      numbers_ = seen;
      CD_TRY(folder_.put(list_name(rank_), fmt::format("{}\n", fmt::join(numbers_, " "))));
      has_written_ = true;
    }
    std::vector<int> others;
    for (int rank = 0; rank < size(); ++rank) {
      const auto list = lists.find(rank);
      if (rank != rank_ && (list == lists.end() || list->second != numbers_))
        others.push_back(rank);
    }
    if (others.empty()) break;
    if (!patience.wait(end)) return missing(others, at_most);
  }
  has_met_ = true;
  return {};
}

Result<std::vector<std::string>> FolderGroup::gather(const std::string& mine,
                                                     milliseconds at_most) {
  CD_TRY(home_.check(fmt::format("rank {} of job \"{}\"", rank_, job_)));
  if (is_over_) {
    return make_error(ErrorCode::kAgentLost,
                      "job \"{}\" in {} is over: some rank did not come to an earlier meeting",
                      job_,
                      folder_.path());
  }
  const Clock::time_point end = Clock::now() + at_most;
  if (!has_met_) CD_TRY(meet(end, at_most));
  is_over_ = true;  // until all have come
  const std::string round = std::to_string(round_);
  CD_TRY(folder_.put(round_name(round, rank_), mine));
  std::vector<std::string> all(numbers_.size());
  std::vector<int> others;
  for (int rank = 0; rank < size(); ++rank) others.push_back(rank);
  for (Patience patience; !others.empty();) {
    std::vector<int> left;
    for (const int rank : others) {
      // Asked first: what it has not written by then it never will.
      const Status alive = check_alive(rank);
      CD_ASSIGN(std::optional<std::string> text, folder_.get(round_name(round, rank)));
      if (text.has_value()) {
        all[static_cast<size_t>(rank)] = std::move(*text);
        continue;
      }
      CD_TRY(alive);
      left.push_back(rank);
    }
    others = std::move(left);
    if (!others.empty() && !patience.wait(end)) return missing(others, at_most);
  }
  // All have come here, so all are through with what was before, also with what a job of this name left long ago.
  if (round_ == 0 && rank_ == 0) folder_.remove_all(job_ + ".", job_ + "." + numbers_[0] + ".");
  folder_.remove(round_ == 0 ? list_name(rank_) : round_name(std::to_string(round_ - 1), rank_));
  ++round_;
  is_over_ = false;
  return all;
}

Result<std::unique_ptr<RankGroup>> join_folder(const std::string& folder,
                                               const std::string& job,
                                               int rank,
                                               int size) {
  if (size < 1 || size > kRanksMax || rank < 0 || rank >= size) {
    return make_error(ErrorCode::kInvalidArgument,
                      "rank {} of {}: ranks count from 0, and there are 1 to {} of them",
                      rank,
                      size,
                      kRanksMax);
  }
  if (!is_plain(job)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "\"{}\" cannot be a job's name: it has 1 to 64 of the characters A-Z, a-z, "
                      "0-9, _ and -, since files are called by it",
                      job);
  }
  CD_ASSIGN(MeetingFolder opened, MeetingFolder::open(folder));
  return std::unique_ptr<RankGroup>(
      std::make_unique<FolderGroup>(std::move(opened), job, rank, size));
}

}  // namespace crossdock
