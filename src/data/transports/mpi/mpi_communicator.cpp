// Messages as non-blocking sends and receives that are looked at until they are done, so that no wait is without end.
#include "data/transports/mpi/mpi_communicator.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <list>
#include <unistd.h>

#include "data/transports/host_identity.hpp"
#include "data/transports/mpi/mpi_window.hpp"
#include "data/transports/mpi/patience.hpp"
#include "data/transports/rank_bells.hpp"

namespace crossdock::transports {
namespace {

using std::chrono::milliseconds;

constexpr int kDataTag = 1;
constexpr int kNoteTag = 2;
constexpr size_t kPieceBytes = size_t{1} << 30;
constexpr milliseconds kLookEvery{50};  // at who is known to have ended
// For what it sent before: so long, and so many looks of this rank, which may not have had a core meanwhile.
constexpr milliseconds kOnItsWay{1'000};
constexpr int kLooksForIt = 1'000;
constexpr milliseconds kTellWithin{500};
constexpr int64_t kTrialBytes = 4096;
constexpr size_t kEagerBytes = 2'048;  // which any MPI sends before its receiver asks

struct WireNote {
  int64_t kind = 0;
  int64_t calls = 0;
};

class MpiCommunicator : public ranks::Communicator {
 public:
  MpiCommunicator(MpiCore& core, MPI_Comm comm) : core_(core), comm_(comm) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    neighbours_ = {rank_};
    core_.opened_communicator();
  }
  ~MpiCommunicator() override {
    leave();
    if (over().has_value()) core_.set_broken();
    end_notes();
    core_.closed_communicator();
  }
  // Which ranks this one can share memory with, and they with it.
  Status meet(const ranks::CommunicatorSettings& settings);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::vector<int>& neighbours() const override { return neighbours_; }

 private:
  Result<bool> transfer(std::span<const Outgoing> out,
                        std::span<const Incoming> in,
                        Clock::time_point end) override;
  void tell(int to, const Note& note) override;
  void listen(Clock::time_point end) override;
  Result<std::shared_ptr<ranks::Window>> make_window(
      std::span<const int64_t> bytes_by_rank) override;
  void close_window(ranks::Window& window) override;
  Status make_win(void* memory, int64_t bytes, MpiWin& win);

  Status post(std::span<const Outgoing> out, std::span<const Incoming> in, MpiFlight& flight) const;
  Result<bool> test(MpiFlight& flight);
  Result<bool> wait(MpiFlight& flight,
                    Clock::time_point end,
                    const std::function<Status()>& check_peers);
  static Status check_lengths(std::span<const Incoming> in, const MpiFlight& flight);
  Status hear_all();
  void drop_notes();
  void end_notes();
  std::unique_ptr<SharedRegion> map_of(int rank, int64_t fd, int64_t bytes) const;
  Result<std::shared_ptr<MpiParts>> share(std::span<const int64_t> bytes_by_rank);

  MpiCore& core_;
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<int> neighbours_;
  RankBells bells_;
  bool shares_cores_ = false;       // there are fewer than neighbours
  std::vector<int64_t> processes_;  // their ids, by rank; 0: no neighbour
  std::list<MpiFlight> notes_;      // notes on their way
};

Status MpiCommunicator::post(std::span<const Outgoing> out,
                             std::span<const Incoming> in,
                             MpiFlight& flight) const {
  // Receives first: what comes need not be kept elsewhere. Buffers are MPI's until the end, awaited or not.
  const auto pieces = [&](std::vector<std::byte>& buffer, const auto& start) -> Status {
    size_t at = 0;
    do {
      const size_t bytes = std::min(kPieceBytes, buffer.size() - at);
      flight.requests.push_back(MPI_REQUEST_NULL);
      CD_TRY(start(buffer.data() + at, static_cast<int>(bytes), &flight.requests.back()));
      at += bytes;
    } while (at < buffer.size());
    return {};
  };
  flight.buffers.reserve(out.size() + in.size());
  for (const Incoming& message : in) {
    CD_TRY(pieces(flight.buffers.emplace_back(message.bytes.size()),
                  [&](std::byte* at, int count, MPI_Request* request) {
                    return MpiCore::check(
                        MPI_Irecv(at, count, MPI_BYTE, message.from, kDataTag, comm_, request),
                        "receive from another rank",
                        message.from);
                  }));
  }
  for (const Outgoing& message : out) {
    CD_TRY(pieces(flight.buffers.emplace_back(message.bytes.begin(), message.bytes.end()),
                  [&](std::byte* at, int count, MPI_Request* request) {
                    return MpiCore::check(
                        MPI_Isend(at, count, MPI_BYTE, message.to, kDataTag, comm_, request),
                        "send to another rank",
                        message.to);
                  }));
  }
  return {};
}

// Whether all has passed. Open MPI answers what it knew and looks for more afterwards, so that what has come is said by
// the second answer: without it, a rank would sleep beside its messages.
Result<bool> MpiCommunicator::test(MpiFlight& flight) {
  CD_ASSIGN(const auto held, core_.lock());
  const int count = static_cast<int>(flight.requests.size());
  int is_done = 0;
  for (int answer = 0; answer < 2 && is_done == 0; ++answer) {
    CD_TRY(
        MpiCore::check(MPI_Testall(count, flight.requests.data(), &is_done, flight.statuses.data()),
                       "pass a message (do all ranks make the same calls, with as many values?)",
                       rank_));
  }
  return is_done != 0;
}

// False: over, or `end`. Whom this rank waits for is looked at; those who wait for others tell it.
Result<bool> MpiCommunicator::wait(MpiFlight& flight,
                                   Clock::time_point end,
                                   const std::function<Status()>& check_peers) {
  Patience patience(shares_cores_);
  Status alive;
  int looks_left = 0;
  Clock::time_point next_look = Clock::now() + kLookEvery;
  while (true) {
    const uint32_t note = bells_.look();
    CD_ASSIGN(const bool is_done, test(flight));
    if (is_done) return true;
    CD_TRY(hear_all());
    const Clock::time_point now = Clock::now();
    if (over().has_value()) return false;
    if (now >= end && --looks_left < 0) {
      return alive.ok() ? Result<bool>(false) : Result<bool>(alive.error());
    }
    if (alive.ok() && now >= next_look) {
      alive = check_peers();
      if (!alive.ok()) {
        end = std::min(end, now + kOnItsWay);
        looks_left = kLooksForIt;
      }
      next_look = now + kLookEvery;
    }
    patience.wait(bells_, note);
  }
}

Status MpiCommunicator::check_lengths(std::span<const Incoming> in, const MpiFlight& flight) {
  size_t piece = 0;
  for (const Incoming& message : in) {
    size_t come = 0;
    const size_t length = message.bytes.size();
    for (size_t at = 0; at == 0 || at < length; at += kPieceBytes) {
      int count = 0;
      MPI_Get_count(&flight.statuses[piece++], MPI_BYTE, &count);
      come += static_cast<size_t>(count);
    }
    if (come != length) return unlike_lengths(message.from, come, length);
  }
  return {};
}

Result<bool> MpiCommunicator::transfer(std::span<const Outgoing> out,
                                       std::span<const Incoming> in,
                                       Clock::time_point end) {
  MpiFlight flight;
  Status posted;
  {
    CD_ASSIGN(const auto held, core_.lock());
    posted = post(out, in, flight);
    flight.statuses.resize(flight.requests.size());
  }
  for (const Outgoing& message : out) {
    bells_.arrive(message.to);
    if (message.bytes.size() > kEagerBytes) bells_.ring(message.to);  // who fetches it meanwhile
  }
  bells_.expect(static_cast<int64_t>(in.size()));
  const auto check_peers = [&]() -> Status {
    for (const Incoming& message : in) CD_TRY(check_alive(message.from));
    for (const Outgoing& message : out) CD_TRY(check_alive(message.to));
    return {};
  };
  const Result<bool> done =
      posted.ok() ? wait(flight, end, check_peers) : Result<bool>(posted.error());
  if (!done.ok() || !done.value()) {
    core_.set_broken();
    CD_ASSIGN(const auto held, core_.lock());
    core_.bury(std::move(flight));
    return done;
  }
  // A long message is over for its sender when the receiver has fetched it.
  for (const Incoming& message : in) {
    if (message.bytes.size() > kEagerBytes) bells_.ring(message.from);
  }
  CD_TRY(check_lengths(in, flight));
  for (size_t i = 0; i < in.size(); ++i) std::ranges::copy(flight.buffers[i], in[i].bytes.begin());
  return true;
}

void MpiCommunicator::drop_notes() {
  notes_.remove_if([](MpiFlight& flight) {
    int is_done = 0;
    return MPI_Test(flight.requests.data(), &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           is_done != 0;
  });
}

// Notes leave before their sender does, if a rank takes them.
void MpiCommunicator::end_notes() {
  const Clock::time_point end = Clock::now() + kTellWithin;
  Patience patience(shares_cores_);
  while (!notes_.empty()) {
    auto held = core_.lock();
    if (!held.ok()) return;
    drop_notes();
    if (Clock::now() < end) {
      held.value().unlock();
      patience.wait();
      continue;
    }
    for (MpiFlight& flight : notes_) core_.bury(std::move(flight));
    notes_.clear();
  }
}

void MpiCommunicator::tell(int to, const Note& note) {
  const auto held = core_.lock();
  if (!held.ok()) return;
  drop_notes();
  MpiFlight& flight = notes_.emplace_back();
  const WireNote head{static_cast<int64_t>(note.kind), note.calls};
  std::vector<std::byte>& bytes = flight.buffers.emplace_back(sizeof head + note.text.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, note.text.data(), note.text.size());
  flight.requests.push_back(MPI_REQUEST_NULL);
  MPI_Isend(bytes.data(),
            static_cast<int>(bytes.size()),
            MPI_BYTE,
            to,
            kNoteTag,
            comm_,
            flight.requests.data());
  bells_.ring(to);
}

Status MpiCommunicator::hear_all() {
  while (true) {
    int has_come = 0;
    MPI_Status status;
    std::vector<std::byte> bytes;
    {
      CD_ASSIGN(const auto held, core_.lock());
      CD_TRY(MpiCore::check(
          MPI_Iprobe(MPI_ANY_SOURCE, kNoteTag, comm_, &has_come, &status), "listen", rank_));
      if (has_come == 0) return {};
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      bytes.resize(static_cast<size_t>(count));
      CD_TRY(MpiCore::check(
          MPI_Recv(
              bytes.data(), count, MPI_BYTE, status.MPI_SOURCE, kNoteTag, comm_, MPI_STATUS_IGNORE),
          "receive a note",
          status.MPI_SOURCE));
    }
    WireNote head;
    if (bytes.size() < sizeof head) continue;
    std::memcpy(&head, bytes.data(), sizeof head);
    const auto* const text = reinterpret_cast<const char*>(bytes.data() + sizeof head);
    heard(status.MPI_SOURCE,
          {static_cast<Note::Kind>(head.kind),
           head.calls,
           std::string(text, bytes.size() - sizeof head)});
  }
}

void MpiCommunicator::listen(Clock::time_point end) {
  Patience patience(shares_cores_);
  do {
    if (const Status heard = hear_all(); !heard.ok()) return give_up(heard.error());
    if (enough() || Clock::now() >= end) return;
    patience.wait();
  } while (true);
}

// Null: not to be had. Another process of this user may open what it has open.
std::unique_ptr<SharedRegion> MpiCommunicator::map_of(int rank, int64_t fd, int64_t bytes) const {
  const std::string path = fmt::format("/proc/{}/fd/{}", processes_[static_cast<size_t>(rank)], fd);
  const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (opened < 0) return nullptr;
  Result<std::unique_ptr<SharedRegion>> mapped = SharedRegion::map(opened, bytes);
  return mapped.ok() ? std::move(mapped.value()) : nullptr;
}

Status MpiCommunicator::meet(const ranks::CommunicatorSettings& settings) {
  if (!settings.shares_memory) return {};
  const Result<std::string> host = host_identity();
  auto trial = SharedRegion::create(kTrialBytes);
  const int64_t number = Clock::now().time_since_epoch().count() ^ ::getpid();
  if (trial.ok()) std::memcpy(trial.value()->bytes().data(), &number, sizeof number);
  const int per_host = settings.ranks_per_host == 0 ? size_ : settings.ranks_per_host;
  const std::string own_host =
      fmt::format("{} {}", host.ok() ? host.value() : "", rank_ / per_host);
  CD_ASSIGN(const std::vector<std::string> hosts, gather(own_host, limit()));
  const int64_t mine[] = {::getpid(), host.ok() && trial.ok() ? trial.value()->fd() : -1, number};
  CD_ASSIGN(const std::vector<int64_t> all, all_gather(mine));
  processes_.assign(static_cast<size_t>(size_), 0);
  std::vector<int64_t> reaches(static_cast<size_t>(size_), 0);
  std::vector<std::unique_ptr<SharedRegion>> pages(static_cast<size_t>(size_));
  for (int rank = 0; rank < size_; ++rank) {
    const auto i = static_cast<size_t>(rank);
    if (rank == rank_ || hosts[i] != own_host || all[3 * i + 1] < 0 || mine[1] < 0) continue;
    processes_[i] = all[3 * i];
    auto mapped = map_of(rank, all[3 * i + 1], kTrialBytes);
    // The same process id may be another process's, where ranks see other processes each (containers).
    if (mapped == nullptr) continue;
    reaches[i] = std::memcmp(mapped->bytes().data(), &all[3 * i + 2], sizeof number) == 0 ? 1 : 0;
    if (reaches[i] != 0) pages[i] = std::move(mapped);
  }
  CD_ASSIGN(const std::vector<int64_t> reached, all_to_all(reaches));
  for (int rank = 0; rank < size_; ++rank) {
    const auto i = static_cast<size_t>(rank);
    if (reaches[i] != 0 && reached[i] != 0) neighbours_.push_back(rank);
  }
  std::ranges::sort(neighbours_);
  // Who is no neighbour does not ring, so that a rank that misses one looks by itself.
  const bool all_ring = std::ssize(neighbours_) == size_ && trial.ok();
  bells_ = RankBells(size_, all_ring ? std::move(trial.value()) : nullptr);
  for (const int rank : neighbours_) {
    if (rank != rank_) bells_.add(rank, std::move(pages[static_cast<size_t>(rank)]));
  }
  shares_cores_ = static_cast<int64_t>(neighbours_.size()) > ::sysconf(_SC_NPROCESSORS_ONLN);
  return {};
}

// Own memory, and that of neighbours. Answers only when all ranks have taken what they need, or failed to.
Result<std::shared_ptr<MpiParts>> MpiCommunicator::share(std::span<const int64_t> bytes_by_rank) {
  const auto parts = std::make_shared<MpiParts>();
  parts->shared.resize(bytes_by_rank.size());
  const auto self = static_cast<size_t>(rank_);
  Status status;
  int64_t fd = -1;
  if (bytes_by_rank[self] > 0) {
    auto region = SharedRegion::create(bytes_by_rank[self]);
    if (region.ok()) {
      fd = region.value()->fd();
      parts->shared[self] = std::move(region.value());
    } else {
      status = region.error();
    }
  }
  CD_ASSIGN(const std::vector<int64_t> fds, all_gather(std::span<const int64_t>(&fd, 1)));
  for (const int rank : neighbours_) {
    const auto i = static_cast<size_t>(rank);
    if (rank == rank_ || fds[i] < 0 || !status.ok()) continue;
    parts->shared[i] = map_of(rank, fds[i], bytes_by_rank[i]);
    if (parts->shared[i] != nullptr) continue;
    status = make_error(ErrorCode::kOutOfMemoryBudget,
                        "the window of rank {}, with {} bytes, cannot be mapped in rank {}, which "
                        "shares its memory; look at the limits of address space and descriptors",
                        rank,
                        bytes_by_rank[i],
                        rank_);
  }
  CD_TRY(agree(status));
  return parts;
}

Result<std::shared_ptr<ranks::Window>> MpiCommunicator::make_window(
    std::span<const int64_t> bytes_by_rank) {
  CD_ASSIGN(std::shared_ptr<MpiParts> parts, share(bytes_by_rank));
  std::shared_ptr<MpiWin> win;
  CD_ASSIGN(const int64_t fewest,
            fold(static_cast<int64_t>(neighbours_.size()), ranks::Fold::kMin));
  if (fewest < size_) {
    // All ranks have just been here: what MPI does together now does not wait for one that is gone.
    win = std::make_shared<MpiWin>();
    win->memory = parts;
    const Status opened =
        make_win(parts->memory_of(rank_), bytes_by_rank[static_cast<size_t>(rank_)], *win);
    // What some ranks have made can only be freed by all: MPI is not ended then, which would wait for them.
    CD_ASSIGN(const int64_t any_made, fold(int64_t{opened.ok()}, ranks::Fold::kMax));
    const Status all_made = any_made != 0 ? agree(opened) : opened;
    if (!all_made.ok() && any_made != 0) core_.set_broken();
    CD_ASSIGN(const auto held, core_.lock());
    if (opened.ok()) core_.keep(win);
    CD_TRY(all_made);
  }
  return std::shared_ptr<ranks::Window>(
      std::make_shared<MpiWindow>(core_, rank_, std::move(parts), std::move(win)));
}

Status MpiCommunicator::make_win(void* memory, int64_t bytes, MpiWin& win) {
  CD_ASSIGN(const auto held, core_.lock());
  CD_TRY(MpiCore::check(MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, comm_, &win.win),
                        "make a window, through which ranks put to other hosts (Open MPI over "
                        "TCP: OMPI_MCA_osc=pt2pt, or moves=\"channels\")",
                        rank_));
  MPI_Win_set_errhandler(win.win, MPI_ERRORS_RETURN);
  return MpiCore::check(
      MPI_Win_lock_all(MPI_MODE_NOCHECK, win.win), "open a window for puts", rank_);
}

void MpiCommunicator::close_window(ranks::Window& window) {
  const std::shared_ptr<MpiWin>& win = static_cast<MpiWindow&>(window).win();
  if (win == nullptr) return;
  const auto held = core_.lock();
  if (!held.ok()) return;
  core_.forget(win);
  MPI_Win_unlock_all(win->win);
  MPI_Win_free(&win->win);
}

// So that messages here meet none of the program's, nor those of another communicator.
Result<MPI_Comm> copy_of_world(MpiCore& core, milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  auto comm = std::make_unique<MPI_Comm>(MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  {
    CD_ASSIGN(const auto held, core.lock());
    CD_TRY(MpiCore::check(MPI_Comm_idup(MPI_COMM_WORLD, comm.get(), &request),
                          "make a communicator",
                          /*rank=*/-1));
  }
  Patience patience(true);
  while (true) {
    CD_ASSIGN(auto held, core.lock());
    int is_done = 0;
    CD_TRY(MpiCore::check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE),
                          "make a communicator",
                          /*rank=*/-1));
    if (is_done != 0) break;
    if (std::chrono::steady_clock::now() >= end) {
      comm.release();  // MPI may still write there
      core.set_broken();
      return make_error(ErrorCode::kAgentLost,
                        "not all ranks came to open a communicator within {:.3g} s; look at their "
                        "output",
                        static_cast<double>(at_most.count()) * 1e-3);
    }
    held.unlock();
    patience.wait();
  }
  CD_ASSIGN(const auto held, core.lock());
  MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN);
  core.keep(*comm);
  return *comm;
}

}  // namespace

Result<std::unique_ptr<ranks::Communicator>> open_mpi_communicator(
    const ranks::CommunicatorSettings& settings) {
  CD_ASSIGN(MpiCore* const core, MpiCore::get());
  CD_ASSIGN(const MPI_Comm comm, copy_of_world(*core, settings.limit));
  auto opened = std::make_unique<MpiCommunicator>(*core, comm);
  opened->set_limit(settings.limit);
  CD_TRY(opened->meet(settings));
  return std::unique_ptr<ranks::Communicator>(std::move(opened));
}

}  // namespace crossdock::transports
