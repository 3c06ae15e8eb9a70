// Ranks that meet through files.
//
// Each rank writes a random number; rank 0 reads them all and answers with the list of them. A rank goes on when the
// list has the number that it has just made: only who lives can have read that, so files that a job left when it was
// killed are never taken for a live rank's. The list's first number then names the files of the rounds. In a round rank
// 0 reads what each has written, and writes all of it into one file: a rank opens a few files, rank 0 one for each
// rank.
//
// Each rank holds a lock while it lives, so that of two jobs of one name the second is refused, and at most one
// complete set of ranks exists; where the file system has no locks, those who write each other's files find out while
// they meet. With its number a rank writes which launch started it (launch_id.hpp): rank 0 takes no rank of another
// launch, and both have an error at once, so that two jobs of one name that start together form no group of ranks of
// both. Ranks that were started by hand have no launch, and only their places are checked. The files of a round go
// when the next round is over; the last of all to leave removes the rest.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/home_process.hpp"
#include "data/ranks/meeting_folder.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {

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
  struct Wait;

  Status claim();
  Status check_alone() const;
  Status meet(Wait& wait);
  // Of rank 0: the number that the rank has written; none yet, or of a job of another size: is not taken. An error if a
  // living rank of another launch has written it.
  Status read_hello(int rank);
  Status refuse_launch(int rank, const std::string& number, const std::string& launch);
  Status answer_hellos(Wait& wait);
  Status await_list(Wait& wait);
  Result<std::vector<std::string>> pass_round(const std::string& mine, Wait& wait);
  Result<std::vector<std::string>> collect(const std::string& mine, Wait& wait);
  Result<std::vector<std::string>> await_all(Wait& wait);
  Status put_list();
  // Of whose files the folder has none.
  std::vector<int> absent(const std::string& beginning) const;
  std::string name(const std::string& what, int rank) const;
  std::string list_name() const { return job_ + ".list"; }
  std::string claim_name(int rank) const;
  std::string clash_name(int rank) const;
  std::string round_name(const std::string& round, const std::string& of) const;
  Error missing(const std::vector<int>& ranks, const Wait& wait) const;
  Error clash() const;
  Error other_launch(int rank, const std::string& launch) const;

  const HomeProcess home_;
  MeetingFolder folder_;
  std::string job_;
  int rank_;
  const std::string launch_;
  std::vector<std::string> numbers_;  // by rank; "-": not read yet
  FolderClaim claim_;
  int other_size_ = 0;        // that a rank wrote which counts other ranks; 0: none did
  std::string other_launch_;  // that a rank wrote which may be left from before; "": none did
  bool has_met_ = false;
  bool is_over_ = false;  // a rank did not come: rounds would no longer fit
  uint64_t round_ = 0;
};

}  // namespace crossdock::ranks
