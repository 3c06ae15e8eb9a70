// Ranks as processes: forked from the test, with a board in shared memory on which all can tell the others a few bytes.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace crossdock::transports {

class Board;

class ForkedRanks {
 public:
  // What a rank tells the others, in rounds; every rank has to come. Ends the process if they do not within 60 s.
  class Meeting {
   public:
    Meeting(Board* board, int rank) : board_(board), rank_(rank) {}
    std::vector<std::string> gather(const std::string& mine);
    void barrier() { gather(""); }

   private:
    Board* board_;
    int rank_;
    uint32_t round_ = 0;
  };
  using Body = std::function<void(int rank, Meeting& meeting)>;

  // Forks a process per rank. A failed expectation in one shows in its exit status, and its text on standard error.
  ForkedRanks(int ranks, const Body& body);
  ~ForkedRanks();  // kills who still runs
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  pid_t process(int rank) const { return processes_.at(static_cast<size_t>(rank)); }
  void send_signal(int rank, int signal) const;
  // Waits for it: its exit status, or minus the signal that ended it.
  int status(int rank);
  // All of them ended with 0.
  bool all_are_well();

 private:
  Board* board_;
  std::vector<pid_t> processes_;
};

// Steps until `done`, a moment of sleep between; false if `at_most` is over first.
bool poll_until(const std::function<bool()>& done,
                const std::function<void()>& step,
                std::chrono::milliseconds at_most = std::chrono::seconds(20));

}  // namespace crossdock::transports
