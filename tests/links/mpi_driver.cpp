// A rank for the tests of MPI: `crossdock_mpi_driver CASE [options]` under an mpirun. Prints "rank R of N: fine" or the
// error, and ends with the communicator's own way of ending the others.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "data/ranks/open_communicator.hpp"
#include "data/ranks/rank_group.hpp"
#include "data/ranks/window_rounds.hpp"
#include "killed_phases.hpp"

namespace crossdock {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kBudget = int64_t{1} << 40;

struct Options {
  std::string name;
  ranks::CommunicatorSettings settings;
  int who = 1;  // misbehaves
  int when = 0;
  std::string phase;
};

Error wrong(const std::string& what) { return {ErrorCode::kInternal, what}; }

Status expect(bool is_so, const std::string& what) { return is_so ? Status() : wrong(what); }

// Small values through every collective, compared with what each rank can compute alone.
Status collect(ranks::Communicator& ranks) {
  const int n = ranks.size();
  const int64_t mine[] = {ranks.rank(), 10 * ranks.rank()};
  CD_ASSIGN(const auto all, ranks.all_gather(mine));
  for (int rank = 0; rank < n; ++rank) {
    CD_TRY(expect(all[static_cast<size_t>(2 * rank + 1)] == 10 * rank, "all_gather"));
  }
  std::vector<int64_t> blocks;
  for (int to = 0; to < n; ++to) blocks.push_back(100 * ranks.rank() + to);
  CD_ASSIGN(const auto come, ranks.all_to_all(blocks));
  for (int from = 0; from < n; ++from) {
    CD_TRY(expect(come[static_cast<size_t>(from)] == 100 * from + ranks.rank(), "all_to_all"));
  }
  CD_ASSIGN(const auto below, ranks.exclusive_sum(std::span(mine).first(1)));
  CD_TRY(expect(below[0] == ranks.rank() * (ranks.rank() - 1) / 2, "exclusive_sum"));
  CD_ASSIGN(const int64_t sum, ranks.fold(ranks.rank(), ranks::Fold::kSum));
  CD_TRY(expect(sum == n * (n - 1) / 2, "fold"));
  const std::string text(static_cast<size_t>(1'000 * ranks.rank()), 'x');
  CD_ASSIGN(const auto strings, ranks.gather(text, ranks.limit()));
  for (int rank = 0; rank < n; ++rank) {
    CD_TRY(expect(strings[static_cast<size_t>(rank)].size() == static_cast<size_t>(1'000 * rank),
                  "gather"));
  }
  const Status first = ranks.agree(ranks.rank() == n - 1 ? Status(wrong("of the last")) : Status());
  if (!first.ok() && first.error().code == ErrorCode::kAgentLost) return first;
  return expect(!first.ok() && first.error().message.ends_with("of the last"), "agree");
}

Status put_rounds(ranks::Communicator& ranks) {
  CD_TRY(collect(ranks));
  const auto memory = Memory::create(kBudget);
  const ranks::Communicator::Traffic before = ranks.traffic();
  for (int round = 0; round < 12; ++round) CD_TRY(ranks::put_and_look(ranks, memory, round));
  CD_TRY(expect((ranks.traffic().put_messages > before.put_messages) == (ranks.size() > 1),
                "puts are counted"));
  CD_TRY(ranks.trim_windows());
  CD_TRY(expect(memory->used_bytes() == 0, "trimmed"));
  return ranks::put_and_look(ranks, memory, 1);
}

// Five GiB in rank 0, of which only the pages exist that are touched.
Status put_far_away(ranks::Communicator& ranks) {
  constexpr int64_t kPart = int64_t{5} << 30;
  const auto memory = Memory::create(kBudget);
  CD_ASSIGN(const auto window, ranks.open_window(ranks.rank() == 0 ? kPart : 0, memory, "test"));
  const std::vector<int64_t> mine(10, ranks.rank() + 1);
  CD_TRY(window->put(0, kPart - 80 * (ranks.rank() + 1), std::as_bytes(std::span(mine))));
  CD_TRY(window->fence());
  if (ranks.rank() == 0) {
    for (int from = 0; from < ranks.size(); ++from) {
      const auto* const come =
          reinterpret_cast<const int64_t*>(window->data() + kPart - 80 * (from + 1));
      CD_TRY(expect(come[0] == from + 1 && come[9] == from + 1, "far away"));
    }
  }
  return ranks.barrier();
}

Status no_room(ranks::Communicator& ranks) {
  const int64_t huge = int64_t{1} << 50;  // more than there are addresses
  const auto memory = Memory::create(huge * 2);
  const auto window =
      ranks.open_window(ranks.rank() == ranks.size() - 1 ? huge : 8, memory, "test");
  CD_TRY(expect(!window.ok() && window.error().code == ErrorCode::kOutOfMemoryBudget, "no room"));
  const auto none =
      ranks.open_window(1000, Memory::create(ranks.rank() == 0 ? 10 : 10'000), "test");
  CD_TRY(expect(!none.ok() && none.error().code == ErrorCode::kOutOfMemoryBudget, "no budget"));
  return ranks::put_and_look(ranks, Memory::create(kBudget), 2);
}

// Others put to a rank that calls nothing for a while.
Status no_progress(ranks::Communicator& ranks) {
  const auto memory = Memory::create(kBudget);
  CD_ASSIGN(const auto window, ranks.open_window(100'000, memory, "test"));
  if (ranks.rank() == 1) {
    std::this_thread::sleep_for(milliseconds(500));
  } else {
    const std::vector<std::byte> bytes(100'000 / static_cast<size_t>(ranks.size()), std::byte{7});
    const int64_t at = ranks.rank() * static_cast<int64_t>(bytes.size());
    for (int to = 0; to < ranks.size(); ++to) {
      CD_TRY(window->put(to, at, bytes));
      CD_TRY(window->flush(to));
    }
  }
  CD_TRY(window->fence());
  return expect(window->data()[0] == std::byte{7}, "arrived");
}

// A loop that waits for a word in its window, which others put there.
Status wait_for_words(ranks::Communicator& ranks) {
  const auto memory = Memory::create(kBudget);
  CD_ASSIGN(const auto window, ranks.open_window(8, memory, "test"));
  auto* const word = reinterpret_cast<int64_t*>(window->data());
  std::atomic_ref(*word).store(0);
  CD_TRY(window->fence());
  const int next = (ranks.rank() + 1) % ranks.size();
  const int64_t one = 1;
  CD_TRY(window->put(next, 0, std::as_bytes(std::span(&one, 1))));
  CD_TRY(window->flush(next));
  while (std::atomic_ref(*word).load() == 0) {
    CD_TRY(ranks.progress());
    std::this_thread::yield();
  }
  return window->fence();
}

// All work in rounds until one of them does not.
Status until_one_fails(ranks::Communicator& ranks, const Options& options) {
  const auto memory = Memory::create(kBudget);
  for (int round = 0;; ++round) {
    if (ranks.rank() == options.who && round == options.when) {
      if (options.name == "throw") throw std::runtime_error("the file ends early");
      if (options.name == "kill") ::raise(SIGKILL);
      if (options.name == "leave") {
        std::this_thread::sleep_for(milliseconds(4'000));
        return wrong("left");
      }
      return wrong("the file ends early");
    }
    CD_TRY(ranks::put_and_look(ranks, memory, round));
    CD_TRY(collect(ranks));
  }
}

Status run(ranks::Communicator& ranks, const Options& options) {
  const std::map<std::string, std::function<Status()>> cases = {
      {"puts", [&] { return put_rounds(ranks); }},
      {"far", [&] { return put_far_away(ranks); }},
      {"room", [&] { return no_room(ranks); }},
      {"progress", [&] { return no_progress(ranks); }},
      {"words", [&] { return wait_for_words(ranks); }},
      {"phase",
       [&] {
         return ended_in_phase(ranks, {options.phase, options.who, false});
       }},
      {"phase_throws",
       [&] {
         return ended_in_phase(ranks, {options.phase, options.who, true});
       }},
  };
  const auto named_case = cases.find(options.name);
  return named_case == cases.end() ? until_one_fails(ranks, options) : named_case->second();
}

// CASE [limit=MS] [apart] [per_host=N] [who=RANK] [when=ROUND] [phase=NAME]
Options read(int count, char** words) {
  Options options;
  options.name = words[1];
  for (int i = 2; i < count; ++i) {
    const std::string word = words[i];
    const size_t at = word.find('=');
    const int number = at == std::string::npos ? 0 : std::atoi(words[i] + at + 1);
    const std::string key = word.substr(0, at);
    if (key == "limit") options.settings.limit = milliseconds(number);
    if (key == "apart") options.settings.shares_memory = false;
    if (key == "per_host") options.settings.ranks_per_host = number;
    if (key == "who") options.who = number;
    if (key == "when") options.when = number;
    if (key == "phase") options.phase = word.substr(at + 1);
  }
  return options;
}

// A second communicator, for a group that says otherwise who this is.
int meet_otherwise(const Options& options) {
  class Other : public ranks::RankGroup {
   public:
    int rank() const override { return 0; }
    int size() const override { return 77; }
    Result<std::vector<std::string>> gather(const std::string& mine, milliseconds) override {
      return std::vector<std::string>{mine};
    }
  };
  const Other other;
  const auto opened = ranks::open_communicator(&other, options.settings);
  if (opened.ok() || opened.error().code != ErrorCode::kInvalidArgument) return 4;
  std::printf("%s\nfine\n", opened.error().message.c_str());
  return 0;
}

// As channels do: ranks that meet by whatever started them.
int join() {
  auto group = ranks::join_environment();
  if (!group.ok()) {
    std::printf("not joined: %s\n", group.error().message.c_str());
    return 3;
  }
  for (int round = 0; round < 5; ++round) {
    const auto text = [&](int rank) {
      return std::string(static_cast<size_t>(1 + 10'000 * rank), static_cast<char>('a' + round));
    };
    const auto all = group.value()->gather(text(group.value()->rank()), milliseconds(20'000));
    for (int rank = 0; rank < group.value()->size(); ++rank) {
      if (!all.ok() || all.value()[static_cast<size_t>(rank)] != text(rank)) return 4;
    }
  }
  std::fputs(
      "fine\n",
      stdout);  // at once: where MPICH has no buffer, puts writes the end of the line by itself
  std::fflush(stdout);
  return 0;
}

int main_of(int count, char** words) {
  if (count < 2) return 2;
  const Options options = read(count, words);
  if (options.name == "join") return join();
  auto opened = ranks::open_communicator(nullptr, options.settings);
  if (!opened.ok()) {
    std::printf("not opened: %s\n", opened.error().message.c_str());
    return 3;
  }
  ranks::Communicator& ranks = *opened.value();
  if (options.name == "group") return meet_otherwise(options);
  Status status;
  try {
    status = run(ranks, options);
  } catch (const std::exception& problem) {
    status = wrong(problem.what());
  }
  if (!status.ok()) ranks.give_up(status.error());
  const std::string said = status.ok() ? "fine" : status.error().message;
  std::printf("rank %d of %d: %s\n", ranks.rank(), ranks.size(), said.c_str());
  std::fflush(stdout);
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace crossdock

int main(int count, char** words) { return crossdock::main_of(count, words); }
