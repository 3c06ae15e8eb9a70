#include "data/ranks/folder_group.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <random>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <fmt/ranges.h>

#include "base/text_fields.hpp"
#include "data/ranks/launch_id.hpp"
#include "data/ranks/packed_strings.hpp"

namespace crossdock::ranks {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr int kRanksMax = 1 << 16;
constexpr size_t kNamedFilesMax = 16;  // ranks in an error
constexpr size_t kHelloWords = 3;      // how many ranks the writer counts, its number, its launch
constexpr size_t kRefusalWords =
    3;  // in a clash file: the refused number, "launch", that of rank 0
constexpr const char* kUnknown = "-";
constexpr const char* kAll = "all";  // what rank 0 writes of a round

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

// As a claim names this process: another one may have its number, on another host or later.
std::string this_process() {
  static const std::string drawn = random_number();
  return fmt::format("{}-{}", drawn, ::getpid());
}

// What is given if nothing says which job this is. A step of Slurm has a name of its own.
std::string default_job() {
  const char* const job = std::getenv("SLURM_JOB_ID");
  const char* const step = std::getenv("SLURM_STEP_ID");
  if (job == nullptr || step == nullptr) return "crossdock";
  return fmt::format("slurm-{}-{}", job, step);
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
}

}  // namespace

struct FolderGroup::Wait {
  Clock::time_point end;
  milliseconds at_most;
};

FolderGroup::FolderGroup(MeetingFolder folder, std::string job, int rank, int size)
    : folder_(std::move(folder)),
      job_(std::move(job)),
      rank_(rank),
      launch_(launch_id(size)),
      numbers_(static_cast<size_t>(size), kUnknown) {
  numbers_[static_cast<size_t>(rank)] = random_number();
}

FolderGroup::~FolderGroup() {
  if (!home_.is_here()) return;
  if (claim_.is_ours && round_ == 0) {
    folder_.remove(name("hello", rank_));
    if (rank_ == 0) folder_.remove(list_name());
  }
  if (has_met_ && !is_over_ && folder_.put(round_name("bye", std::to_string(rank_)), "").ok() &&
      absent(round_name("bye", "")).empty()) {
    folder_.remove_all(job_ + "." + numbers_[0] + ".", "");
  }
  folder_.release(claim_name(rank_), std::move(claim_));
}

std::string FolderGroup::name(const std::string& what, int rank) const {
  return fmt::format("{}.{}.{}", job_, what, rank);
}

// No name that begins as others of the job do, since those go when all have met.
std::string FolderGroup::claim_name(int rank) const {
  return fmt::format("{}+claim.{}", job_, rank);
}
std::string FolderGroup::clash_name(int rank) const {
  return fmt::format("{}+clash.{}", job_, rank);
}

std::string FolderGroup::round_name(const std::string& round, const std::string& of) const {
  return fmt::format("{}.{}.{}.{}", job_, numbers_[0], round, of);
}

std::vector<int> FolderGroup::absent(const std::string& beginning) const {
  std::vector<bool> is_there(numbers_.size());
  for (const std::string& ending : folder_.endings(beginning)) {
    size_t rank = 0;
    if (read_number(ending, rank) && rank < is_there.size()) is_there[rank] = true;
  }
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank) {
    if (!is_there[static_cast<size_t>(rank)]) ranks.push_back(rank);
  }
  return ranks;
}

Error FolderGroup::missing(const std::vector<int>& ranks, const Wait& wait) const {
  const size_t named = std::min(ranks.size(), kNamedFilesMax);
  std::string more;
  if (ranks.size() > named) more = fmt::format(" and {} more", ranks.size() - named);
  if (other_size_ != 0) {
    more += fmt::format(
        " (one that may be left from before counts {} ranks, not {})", other_size_, size());
  }
  if (!other_launch_.empty()) {
    more += fmt::format(
        " (one that may be left from before is of {}, not of {})", other_launch_, launch_);
  }
  return make_error(
      ErrorCode::kAgentLost,
      "rank{} {}{} of {} did not come within {:.3g} s to job \"{}\" in {}: look at "
      "whether they run, see this folder, and use the same name and number of ranks; ranks that "
      "start late need a larger open_within_s",
      ranks.size() == 1 ? "" : "s",
      fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(named), ", "),
      more,
      size(),
      static_cast<double>(wait.at_most.count()) * 1e-3,
      job_,
      folder_.path());
}

Error FolderGroup::clash() const {
  return make_error(ErrorCode::kInvalidArgument,
                    "another process is rank {} of job \"{}\" in {}, too; give each rank once, and "
                    "each job that runs at the same time a name of its own (CROSSDOCK_JOB, "
                    "join_group(job=...))",
                    rank_,
                    job_,
                    folder_.path());
}

Error FolderGroup::other_launch(int rank, const std::string& launch) const {
  return make_error(
      ErrorCode::kInvalidArgument,
      "rank {} of job \"{}\" in {} was started by {}, and rank {} by {}: two jobs were "
      "started with one folder and name; give each job that runs at the same time a "
      "name of its own (CROSSDOCK_JOB, join_group(job=...))",
      rank,
      job_,
      folder_.path(),
      launch,
      rank_,
      launch_);
}

// Who comes second says so to the first, which may be about to meet ranks of the second's job.
Status FolderGroup::claim() {
  const std::string local_number = numbers_[static_cast<size_t>(rank_)];
  CD_ASSIGN(claim_, folder_.claim(claim_name(rank_), local_number + " " + this_process()));
  if (claim_.is_ours) {
    folder_.remove(clash_name(rank_));
    return {};
  }
  // Rows of a group that this process had before may still be held.
  if (claim_.holder.ends_with(this_process())) return {};
  (void)folder_.put(clash_name(rank_), claim_.holder);
  return clash();
}

Status FolderGroup::check_alone() const {
  CD_ASSIGN(const auto hello, folder_.get(name("hello", rank_)));
  const std::string& local_number = numbers_[static_cast<size_t>(rank_)];
  if (hello.has_value() && hello->find(local_number) == std::string::npos) return clash();
  CD_ASSIGN(const auto said, folder_.get(clash_name(rank_)));
  if (!said.has_value() || !said->starts_with(local_number)) return {};
  const std::vector<std::string> words = words_of(*said);
  return words.size() == kRefusalWords ? other_launch(0, words.back()) : clash();
}

// What a killed rank has left is no reason to end, and is replaced when its rank comes. Where the file system has no
// locks it is not known which it is, and the time decides.
Status FolderGroup::refuse_launch(int rank, const std::string& number, const std::string& launch) {
  CD_ASSIGN(const std::string holder, folder_.holder(claim_name(rank)));
  if (!holder.starts_with(number)) {
    other_launch_ = launch;
    return {};
  }
  CD_TRY(folder_.put(clash_name(rank), fmt::format("{} launch {}", number, launch_)));
  return other_launch(rank, launch);
}

Status FolderGroup::read_hello(int rank) {
  CD_ASSIGN(const auto text, folder_.get(name("hello", rank)));
  const std::vector<std::string> words = words_of(text.value_or(""));
  if (words.size() != kHelloWords) return {};
  const int counts = std::atoi(words[0].c_str());
  if (counts != size()) {
    other_size_ = counts;
    return {};
  }
  const std::string& launch = words[2];
  const bool is_other = launch != launch_ && launch != kNoLaunch && launch_ != kNoLaunch;
  if (is_other) return refuse_launch(rank, words[1], launch);
  numbers_[static_cast<size_t>(rank)] = words[1];
  return {};
}

Status FolderGroup::put_list() {
  return folder_.put(list_name(), fmt::format("{}\n", fmt::join(numbers_, " ")));
}

// What was left by a killed job is read here, too; its rank writes another number, which collect() finds.
Status FolderGroup::answer_hellos(Wait& wait) {
  for (Patience patience; true;) {
    std::vector<int> unknown;
    for (int rank = 1; rank < size(); ++rank) {
      const std::string& number = numbers_[static_cast<size_t>(rank)];
      if (number == kUnknown) CD_TRY(read_hello(rank));
      if (number == kUnknown) unknown.push_back(rank);
    }
    CD_TRY(check_alone());
    if (unknown.empty()) return put_list();
    if (!patience.wait(wait.end)) return missing(unknown, wait);
  }
}

Status FolderGroup::await_list(Wait& wait) {
  const auto place = static_cast<size_t>(rank_);
  for (Patience patience; true;) {
    CD_ASSIGN(const auto text, folder_.get(list_name()));
    const std::vector<std::string> list = words_of(text.value_or(""));
    if (!list.empty() && list.size() != numbers_.size())
      other_size_ = static_cast<int>(list.size());
    if (list.size() == numbers_.size() && list[place] == numbers_[place]) {
      numbers_ = list;
      return {};
    }
    CD_TRY(check_alone());
    if (patience.wait(wait.end)) continue;
    const std::vector<int> others = absent(job_ + ".hello.");
    return missing(others.empty() ? std::vector<int>{0} : others, wait);
  }
}

Status FolderGroup::meet(Wait& wait) {
  CD_TRY(claim());
  const std::string& local_number = numbers_[static_cast<size_t>(rank_)];
  CD_TRY(folder_.put(name("hello", rank_), fmt::format("{} {} {}", size(), local_number, launch_)));
  CD_TRY(rank_ == 0 ? answer_hellos(wait) : await_list(wait));
  has_met_ = true;
  return {};
}

// Of rank 0.
Result<std::vector<std::string>> FolderGroup::collect(const std::string& mine, Wait& wait) {
  const std::string round = std::to_string(round_);
  std::vector<std::string> all(numbers_.size());
  all[0] = mine;
  std::vector<int> others;
  for (int rank = 1; rank < size(); ++rank) others.push_back(rank);
  for (Patience patience; !others.empty();) {
    const std::vector<std::string> known = numbers_;
    std::vector<int> left;
    for (const int rank : others) {
      // Asked first: what it has not written by then it never will.
      const Status alive = check_alive(rank);
      if (!alive.ok()) folder_.look_afresh();
      CD_ASSIGN(auto text, folder_.get(round_name(round, std::to_string(rank))));
      if (text.has_value()) {
        all[static_cast<size_t>(rank)] = std::move(*text);
        continue;
      }
      CD_TRY(alive);
      if (round_ == 0) CD_TRY(read_hello(rank));
      left.push_back(rank);
    }
    if (known != numbers_) CD_TRY(put_list());
    if (round_ == 0) CD_TRY(check_alone());
    others = std::move(left);
    if (!others.empty() && !patience.wait(wait.end)) return missing(others, wait);
  }
  CD_TRY(folder_.put(round_name(round, kAll), packed_strings(all)));
  // All have come here, so all are through with what was before, also with what a job of this name left long ago.
  if (round_ == 0) {
    folder_.remove_all(job_ + ".", job_ + "." + numbers_[0] + ".");
  } else {
    folder_.remove(round_name(std::to_string(round_ - 1), kAll));
  }
  return all;
}

Result<std::vector<std::string>> FolderGroup::await_all(Wait& wait) {
  const std::string round = std::to_string(round_);
  bool is_silent = false;  // the lost rank, at the last look
  for (Patience patience; true;) {
    int lost = -1;
    Status alive;
    for (int rank = 0; rank < size() && alive.ok(); ++rank) {
      alive = check_alive(rank);
      if (!alive.ok()) lost = rank;
    }
    if (!alive.ok()) folder_.look_afresh();
    CD_ASSIGN(const auto text, folder_.get(round_name(round, kAll)));
    if (text.has_value()) {
      auto all = unpacked_strings(*text, numbers_.size());
      if (all.has_value()) return std::move(*all);
      return make_error(ErrorCode::kMalformedMessage,
                        "{} is not what rank 0 writes; all ranks must run one version of Crossdock",
                        round_name(round, kAll));
    }
    if (!alive.ok()) {
      // A rank that has said something before it left does not keep rank 0 from going on. It takes that away once it
      // has what all say, which is there then.
      CD_ASSIGN(const auto said, folder_.get(round_name(round, std::to_string(lost))));
      if (!said.has_value()) {
        if (is_silent) return alive.error();
        is_silent = true;
        continue;
      }
    }
    if (patience.wait(wait.end)) continue;
    std::vector<int> others = absent(round_name(round, ""));
    if (others.size() > 1) std::erase(others, 0);  // which waits as well
    return missing(others, wait);
  }
}

Result<std::vector<std::string>> FolderGroup::pass_round(const std::string& mine, Wait& wait) {
  if (rank_ == 0) return collect(mine, wait);
  const std::string local_name = round_name(std::to_string(round_), std::to_string(rank_));
  CD_TRY(folder_.put(local_name, mine));
  if (round_ == 0) folder_.remove(name("hello", rank_));
  auto all = await_all(wait);
  if (all.ok()) folder_.remove(local_name);
  return all;
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
  Wait wait{Clock::now() + at_most, at_most};
  if (!has_met_) CD_TRY(meet(wait));
  is_over_ = true;  // until all have come
  auto all = pass_round(mine, wait);
  if (!all.ok()) return all;
  ++round_;
  is_over_ = false;
  return all;
}

Status check_place(int rank, int size) {
  if (size >= 1 && size <= kRanksMax && rank >= 0 && rank < size) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "rank {} of {}: ranks count from 0, and there are 1 to {} of them",
                    rank,
                    size,
                    kRanksMax);
}

Result<std::unique_ptr<RankGroup>> join_folder(const std::string& folder,
                                               const std::string& given_job,
                                               int rank,
                                               int size) {
  const std::string job = given_job.empty() ? default_job() : given_job;
  CD_TRY(check_place(rank, size));
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

}  // namespace crossdock::ranks
