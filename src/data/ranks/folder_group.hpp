// Ranks that meet through files.
//
// They begin by telling each other random numbers: each writes its own and those that it has read, until all have
// written the same list. Only who lives can have read the number that this process has just made, so files that a job
// left when it was killed are never taken for somebody's. The list's first number then names the files of the rounds.
//
// The file of a round goes when the next round is over; the last of all to leave removes the rest.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/home_process.hpp"
#include "data/ranks/meeting_folder.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock {

class FolderGroup : public RankGroup {
 public:
  FolderGroup(MeetingFolder folder, std::string job, int rank, int size);
  ~FolderGroup() override;
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(numbers_.size()); }
  Result<std::vector<std::string>> gather(const std::string& mine,
                                          std::chrono::milliseconds at_most) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Lists = std::map<int, std::vector<std::string>>;

  Status meet(Clock::time_point end, std::chrono::milliseconds at_most);
  // The lists of those who have come, this process left out. CD-105 if somebody else is this rank too.
  Result<Lists> read_lists();
  std::string list_name(int rank) const;
  std::string round_name(const std::string& round, int rank) const;
  Error missing(const std::vector<int>& ranks, std::chrono::milliseconds after) const;

  const HomeProcess home_;
  MeetingFolder folder_;
  std::string job_;
  int rank_;
  std::vector<std::string> numbers_;  // by rank; "-": not read yet
  int other_size_ = 0;                // that somebody wrote who counts other ranks; 0: nobody
  bool has_written_ = false;
  bool has_met_ = false;
  bool is_over_ = false;  // somebody did not come: rounds would no longer fit
  uint64_t round_ = 0;
};

}  // namespace crossdock
