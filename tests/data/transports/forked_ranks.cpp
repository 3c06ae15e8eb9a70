// fork(), and a board mapped by all.
#include "data/transports/forked_ranks.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/check.hpp"

namespace crossdock::transports {
namespace {

constexpr size_t kRanksMax = 16;
constexpr size_t kTextBytesMax = 4000;

}  // namespace

// Two sets of strings: a rank may write for the next round while others still read this one's.
class Board {
 public:
  struct Text {
    size_t bytes = 0;
    char data[kTextBytesMax];
  };
  size_t ranks = 0;
  std::atomic<uint32_t> written[2] = {0, 0};
  std::atomic<uint32_t> read[2] = {0, 0};
  Text strings[2][kRanksMax];
};

bool poll_until(const std::function<bool()>& done,
                const std::function<void()>& step,
                std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    step();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

std::vector<std::string> ForkedRanks::Meeting::gather(const std::string& mine) {
  const size_t side = round_ % 2;
  const auto lap = static_cast<uint32_t>(round_ / 2);
  const auto ranks = static_cast<uint32_t>(board_->ranks);
  const auto arrive = [&](std::atomic<uint32_t>& count, uint32_t expected) {
    const bool came =
        poll_until([&] { return count.load() >= expected; }, [] {}, std::chrono::seconds(60));
    CD_CHECK(came, "round {}: {} of {} came", round_, count.load(), expected);
  };
  arrive(board_->read[side], lap * ranks);  // the round before the last is read by all
  CD_CHECK(mine.size() <= kTextBytesMax, "{} bytes", mine.size());
  Board::Text& text = board_->strings[side][rank_];
  text.bytes = mine.size();
  std::memcpy(text.data, mine.data(), mine.size());
  ++board_->written[side];
  arrive(board_->written[side], (lap + 1) * ranks);
  std::vector<std::string> all;
  for (size_t i = 0; i < ranks; ++i) {
    all.emplace_back(board_->strings[side][i].data, board_->strings[side][i].bytes);
  }
  ++board_->read[side];
  ++round_;
  return all;
}

ForkedRanks::ForkedRanks(int ranks, const Body& body) {
  CD_CHECK(ranks > 0 && static_cast<size_t>(ranks) <= kRanksMax, "{} ranks", ranks);
  void* const memory =
      ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CD_CHECK(memory != MAP_FAILED, "errno {}", errno);
  board_ = new (memory) Board();
  board_->ranks = static_cast<size_t>(ranks);
  std::fflush(nullptr);
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = ::fork();
    CD_CHECK(process >= 0, "errno {}", errno);
    if (process == 0) {
      Meeting meeting(board_, rank);
      body(rank, meeting);
      std::fflush(nullptr);
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    processes_.push_back(process);
  }
}

ForkedRanks::~ForkedRanks() {
  for (size_t rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank] == 0) continue;
    ::kill(processes_[rank], SIGKILL);
    ::waitpid(processes_[rank], nullptr, 0);
  }
  ::munmap(board_, sizeof(Board));
}

void ForkedRanks::send_signal(int rank, int signal) const { ::kill(process(rank), signal); }

int ForkedRanks::status(int rank) {
  int status = 0;
  CD_CHECK(process(rank) > 0, "rank {} has been waited for", rank);
  ::waitpid(process(rank), &status, 0);
  processes_[static_cast<size_t>(rank)] = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

bool ForkedRanks::all_are_well() {
  bool is_well = true;
  for (size_t rank = 0; rank < processes_.size(); ++rank) {
    if (processes_[rank] != 0 && status(static_cast<int>(rank)) != 0) is_well = false;
  }
  return is_well;
}

}  // namespace crossdock::transports
