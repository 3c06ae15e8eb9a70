// Puts in pieces that MPI can count, and flushes.
#include "data/transports/mpi/mpi_window.hpp"

#include <algorithm>

namespace crossdock {
namespace {

constexpr size_t kPutBytesMax = size_t{1} << 30;  // MPI 3 counts with an int

std::vector<std::byte*> places(const MpiParts& parts) {
  std::vector<std::byte*> direct;
  for (size_t rank = 0; rank < parts.shared.size(); ++rank) direct.push_back(parts.at(rank));
  return direct;
}

// Calls put(bytes, at, count) for pieces that an int can count.
template <class Put>
Status put_pieces(int target, int64_t at, std::span<const std::byte> from, const Put& put) {
  while (!from.empty()) {
    const size_t bytes = std::min(kPutBytesMax, from.size());
    const int count = static_cast<int>(bytes);
    CD_TRY(
        MpiCore::check(put(from.data(), at, count), "put into the window of another rank", target));
    at += count;
    from = from.subspan(bytes);
  }
  return {};
}

}  // namespace

MpiWindow::MpiWindow(MpiCore& core,
                     int rank,
                     std::shared_ptr<MpiParts> parts,
                     std::shared_ptr<MpiWin> win)
    : Window(rank, parts->own(rank), places(*parts)),
      core_(core),
      parts_(std::move(parts)),
      win_(std::move(win)),
      started_(parts_->shared.size()) {}

Status MpiWindow::put_far(int target, int64_t at, std::span<const std::byte> from) {
  CD_ASSIGN(const auto held, core_.lock());
  return put_pieces(target, at, from, [&](const std::byte* bytes, int64_t place, int count) {
    return MPI_Put(bytes, count, MPI_BYTE, target, place, count, MPI_BYTE, win_->win);
  });
}

// A put with a request sets out at once. What MPI_Put has been given, Open MPI's osc/pt2pt tells the target of only
// when somebody flushes.
Status MpiWindow::start_far(int target, int64_t at, std::span<const std::byte> from) {
  CD_ASSIGN(const auto held, core_.lock());
  std::vector<MPI_Request>& started = started_[static_cast<size_t>(target)];
  return put_pieces(target, at, from, [&](const std::byte* bytes, int64_t place, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        MPI_Rput(bytes, count, MPI_BYTE, target, place, count, MPI_BYTE, win_->win, &request);
    if (code == MPI_SUCCESS) started.push_back(request);
    return code;
  });
}

Result<bool> MpiWindow::has_left_far(int target) {
  CD_ASSIGN(const auto held, core_.lock());
  std::vector<MPI_Request>& started = started_[static_cast<size_t>(target)];
  if (started.empty()) return true;
  int is_done = 0;
  CD_TRY(MpiCore::check(
      MPI_Testall(static_cast<int>(started.size()), started.data(), &is_done, MPI_STATUSES_IGNORE),
      "put into the window of another rank",
      target));
  if (is_done != 0) started.clear();
  return is_done != 0;
}

// Their requests are MPI's memory. What went wrong with them, the flush says that follows.
void MpiWindow::end_started(int target) {
  std::vector<MPI_Request>& started = started_[static_cast<size_t>(target)];
  MPI_Waitall(static_cast<int>(started.size()), started.data(), MPI_STATUSES_IGNORE);
  started.clear();
}

Status MpiWindow::flush_far(int target, bool locally) {
  if (win_ == nullptr) return {};  // the target has no bytes, nor has any rank that is no neighbour
  CD_ASSIGN(const auto held, core_.lock());
  end_started(target);
  const int code =
      locally ? MPI_Win_flush_local(target, win_->win) : MPI_Win_flush(target, win_->win);
  return MpiCore::check(code, "flush what was put into the window of another rank", target);
}

Status MpiWindow::flush_all_far() {
  if (win_ == nullptr) return {};
  CD_ASSIGN(const auto held, core_.lock());
  for (size_t target = 0; target < started_.size(); ++target) end_started(static_cast<int>(target));
  return MpiCore::check(MPI_Win_flush_all(win_->win), "flush what was put into windows", rank());
}

Status MpiWindow::sync_far() {
  if (win_ == nullptr) return {};
  CD_ASSIGN(const auto held, core_.lock());
  return MpiCore::check(MPI_Win_sync(win_->win), "see what was put into the window", rank());
}

}  // namespace crossdock
