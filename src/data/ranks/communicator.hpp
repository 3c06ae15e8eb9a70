// Ranks that compute together: small collectives of whole numbers, and windows, into which ranks put bytes one-sidedly.
//
// It follows Barthels et al., "Distributed Join Algorithms on Thousands of Cores" (PVLDB 10(5), 2017, the section on
// one-sided communication): counts are exchanged first, so every rank opens a window of exactly the bytes that will
// come and each puts to places no other puts to; no receiver takes part. Three things go another way. Ranks of
// one host write into each other's memory themselves (`Window::direct`). Windows are kept and used again, since fresh
// pages and their registration cost more than a transfer. And no call of ours waits for ever: each has a limit, and
// ends before it if a rank gives up. MPI's own flushes, and the making of its windows, have none.
//
// Two implementations: threads of one process (thread_communicator.hpp) and MPI (the plugins mpi_openmpi and
// mpi_mpich). Collectives are written once, here, over `transfer`, so both send the same messages, which are counted.
//
// "All ranks call it" means: in the same order as all other such calls. Threads: one thread of a rank at a time, but
// for Window's put, flush_local, flush and note_stored, which any number of threads call at once. An MPI that the
// program itself started without MPI_THREAD_SERIALIZED takes calls of the thread only that started it (CD-105).
//
// Errors of all calls: CD-617 names the ranks that did not come within limit(), or the rank that gave up and why; from
// then on all calls have that error. CD-603 with MPI's own words if a transfer failed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "data/ranks/rank_group.hpp"
#include "data/ranks/window.hpp"
#include "memory/budget.hpp"

namespace crossdock::ranks {

enum class Fold { kSum, kMin, kMax };

struct WindowSlot;  // of the pool

class Communicator : public RankGroup {
 public:
  using Clock = std::chrono::steady_clock;

  Communicator();
  ~Communicator() override;

  // Ranks whose windows this one reaches by pointers, ascending; itself is one of them.
  virtual const std::vector<int>& neighbours() const = 0;

  // How long any call waits for other ranks. At first two minutes.
  std::chrono::milliseconds limit() const { return limit_; }
  void set_limit(std::chrono::milliseconds limit) { limit_ = limit; }

  // Messages to other ranks, in all and per rank, for n ranks; bytes are those of the values:
  //   barrier, all_gather   ceil(log2 n) per rank, n - 1 for n <= 8; (n - 1) * mine.size() * 8 bytes per rank
  //   all_to_all            n - 1 per rank; blocks.size() / n * 8 bytes each
  //   exclusive_sum         rank r: as many k as have r + 2^k < n; values.size() * 8 + 8 bytes each
  //   fold                  2 (n - 1) in all: a tree to rank 0, and back; values.size() * 8 bytes each, sums 8 more. Of
  //                         up to 8 ranks least and largest of up to 4,096 values in one step, n (n - 1) in all
  //   agree                 as fold of one value; n - 1 more of 4,000 bytes if there is an error
  //   gather                as all_gather of 1,024 bytes (n > 64: of 8), then of the rest of strings that are longer
  // The rank's own part is not counted.

  // Every rank has called it when it returns.
  Status barrier();
  // mine.size() is the same in all ranks; the answer has those of rank 0 first.
  Result<std::vector<int64_t>> all_gather(std::span<const int64_t> mine);
  // Blocks of blocks.size() / size() values, by rank: block r goes to rank r. The answer has what came, by rank.
  // CD-105 if it cannot be divided.
  Result<std::vector<int64_t>> all_to_all(std::span<const int64_t> blocks);
  // Place by place, the sums of the ranks below this one: zeros in rank 0. CD-303 in the ranks whose sums pass 64 bits.
  Result<std::vector<int64_t>> exclusive_sum(std::span<const int64_t> values);
  // Place by place over all ranks. CD-303 if a sum passes 64 bits; in all ranks.
  Result<std::vector<int64_t>> fold(std::span<const int64_t> values, Fold how);
  Result<int64_t> fold(int64_t value, Fold how);
  // Strings of any lengths. at_most stands for limit().
  Result<std::vector<std::string>> gather(const std::string& mine,
                                          std::chrono::milliseconds at_most) override;

  // The same for all ranks: good if all passed that, else the error of the first rank that has one, "rank 3: ...". A
  // rank that passed an error gets its own.
  Status agree(const Status& mine);

  // A window with `bytes` (0: none) of this rank, not cleared; all ranks call it, each with its own size. Its memory is
  // charged to `memory` in the name of `who`. When the last pointer is dropped (by any thread, also after the
  // communicator) it goes to the pool, still charged, and is used again when all ranks have dropped it; what lies in
  // the pool goes when there is no room for another. CD-201 in all ranks if one has no room, naming that one.
  Result<std::shared_ptr<Window>> open_window(int64_t bytes,
                                              const std::shared_ptr<Memory>& memory,
                                              std::string_view who);
  // All ranks call it: windows that no rank uses give their memory back.
  Status trim_windows();
  // All ranks call it: what agree() says of a step of each. Where some rank had no room (CD-201), and none another
  // error, windows that no rank uses make room, and all take the step once more, which drops what it had got before.
  Status agree_with_room(const std::function<Status()>& step);

  // This rank cannot go on: what others wait for now or later ends with CD-617 that names it and the cause. Does not
  // wait. A communicator that is destroyed by an exception does it by itself.
  void give_up(const Error& cause);

  // For loops that wait for something else than these calls, a word in a window, say: lets what is under way go on,
  // here and in others that put to this rank, and says whether a rank has given up. Does not wait.
  Status progress();

  // Gets the number of each collective, from 1, as this rank begins it, by the thread that does. For tests, which
  // end a rank there or throw.
  void set_watch(std::function<void(int64_t call)> watch) { watch_ = std::move(watch); }

  // What this rank sent to others since the beginning.
  struct Traffic {
    int64_t put_messages = 0;  // puts as the caller made them, and calls of note_stored
    int64_t put_bytes = 0;
    int64_t collective_messages = 0;
    int64_t collective_bytes = 0;
  };
  Traffic traffic() const;

 protected:
  struct Outgoing {
    int to = 0;
    std::span<const std::byte> bytes;
  };
  struct Incoming {
    int from = 0;
    std::span<std::byte> bytes;
  };
  // A few words beside the collectives, which no rank waits for: who asks where others are, who cannot go on.
  struct Note {
    enum class Kind : int32_t { kAsks, kAnswers, kGivesUp, kLeft };
    Kind kind = Kind::kAsks;
    int64_t calls = 0;  // how many collectives the sender has begun
    std::string text;   // an error, by error_text
  };
  static constexpr size_t kNoteTextBytesMax = 3'000;

  // Sends all and receives all, in any order; messages from one rank to another arrive in the order they were sent in.
  // No two of either list have the same rank, none is this one. Hears notes while it waits (`heard`) and ends when
  // over() says so. False: not all came until `end`. An error if a message had another length than was expected.
  virtual Result<bool> transfer(std::span<const Outgoing> out,
                                std::span<const Incoming> in,
                                Clock::time_point end) = 0;
  virtual void tell(int rank, const Note& note) = 0;
  // Hears notes until `end`, or until `enough()`.
  virtual void listen(Clock::time_point end) = 0;
  // The memory and whatever reaches it, at least bytes_by_rank[rank] for every rank. All ranks call it; what only this
  // rank knows to have failed is an error that the caller brings to all.
  virtual Result<std::shared_ptr<Window>> make_window(std::span<const int64_t> bytes_by_rank) = 0;
  // All ranks call it with the same windows, of which no caller has a pointer any more.
  virtual void close_window(Window& window) = 0;

  // What transfer answers if so many bytes came instead of those wanted.
  static Error unlike_lengths(int from, size_t came, size_t expected);
  // What transfer answers if nothing more can come from there.
  Error left_error(int from) const;
  bool has_left(int rank) const { return !left_.empty() && left_[static_cast<size_t>(rank)]; }
  void heard(int from, const Note& note);
  bool enough() const;  // everybody has answered, or it is over
  const std::optional<Error>& over() const { return over_; }
  void set_over(const Error& cause);
  int64_t calls() const { return calls_; }
  // For destructors: gives up if an exception is on its way.
  void leave();

 private:
  Status run(std::span<const Outgoing> out, std::span<const Incoming> in);
  Status start(std::chrono::milliseconds at_most);
  Error missing();
  Status gather_bytes(std::span<const std::byte> mine,
                      std::span<const size_t> sizes,
                      std::span<std::byte> all);
  Status gather_at_once(std::span<const std::byte> mine,
                        std::span<const size_t> sizes,
                        std::span<std::byte> all);
  Status fold_at_once(std::span<int64_t> values, Fold how);
  Status fold_up(std::span<int64_t> values, Fold how);
  Status broadcast(int root, std::span<std::byte> bytes);
  struct WindowRequest;                                           // a window
  Result<std::vector<bool>> idle_in_all(WindowRequest& request);  // by slot
  std::shared_ptr<WindowSlot> find_slot(const WindowRequest& request,
                                        const std::vector<bool>& idle) const;
  Result<std::shared_ptr<WindowSlot>> make_slot(const WindowRequest& request);
  Status charge(WindowSlot& slot, const WindowRequest& request) const;
  void drop_slots(const std::vector<bool>& which);
  std::shared_ptr<Window> hand_out(const std::shared_ptr<WindowSlot>& slot,
                                   const WindowRequest& request);

  std::chrono::milliseconds limit_{120'000};
  Clock::time_point end_;
  std::chrono::milliseconds waits_{0};
  int64_t calls_ = 0;
  std::function<void(int64_t)> watch_;
  std::optional<Error> over_;
  std::vector<int64_t> calls_of_;  // by rank; -1: has not answered
  std::vector<bool> left_;         // by rank; empty: none
  int exceptions_;
  int64_t collective_messages_ = 0;
  int64_t collective_bytes_ = 0;
  std::shared_ptr<PutCounters> puts_ = std::make_shared<PutCounters>();
  std::vector<std::shared_ptr<WindowSlot>> slots_;  // at most kSlotsMax; a place may be empty
};

}  // namespace crossdock::ranks
