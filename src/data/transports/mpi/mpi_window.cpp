#include "data/transports/mpi/mpi_window.hpp"

#include <algorithm>

namespace crossdock::transports {
namespace {

constexpr size_t kPutBytesMax = size_t{1} << 30;  // MPI 3 counts with an int

std::vector<std::byte*> places(const MpiParts& parts) {
  std::vector<std::byte*> direct;
  for (size_t rank = 0; rank < parts.shared.size(); ++rank) direct.push_back(parts.at(rank));
  return direct;
}

}  // namespace

MpiWindow::MpiWindow(MpiCore& core,
                     int rank,
                     std::shared_ptr<MpiParts> parts,
                     std::shared_ptr<MpiWin> win)
    : ranks::Window(rank, parts->memory_of(rank), places(*parts)),
      core_(core),
      parts_(std::move(parts)),
      win_(std::move(win)) {}

Status MpiWindow::put_far(int target, int64_t at, std::span<const std::byte> from) {
  CD_ASSIGN(const auto held, core_.lock());
  while (!from.empty()) {
    const size_t bytes = std::min(kPutBytesMax, from.size());
    const int count = static_cast<int>(bytes);
    CD_TRY(MpiCore::check(
        MPI_Put(from.data(), count, MPI_BYTE, target, at, count, MPI_BYTE, win_->win),
        "put into the window of another rank",
        target));
    at += count;
    from = from.subspan(bytes);
  }
  return {};
}

Status MpiWindow::flush_far(int target, bool locally) {
  if (win_ == nullptr) return {};  // the target has no bytes, nor has any rank that is no neighbour
  CD_ASSIGN(const auto held, core_.lock());
  const int code =
      locally ? MPI_Win_flush_local(target, win_->win) : MPI_Win_flush(target, win_->win);
  return MpiCore::check(code, "flush what was put into the window of another rank", target);
}

Status MpiWindow::flush_all_far() {
  if (win_ == nullptr) return {};
  CD_ASSIGN(const auto held, core_.lock());
  return MpiCore::check(MPI_Win_flush_all(win_->win), "flush what was put into windows", rank());
}

Status MpiWindow::sync_far() {
  if (win_ == nullptr) return {};
  CD_ASSIGN(const auto held, core_.lock());
  return MpiCore::check(MPI_Win_sync(win_->win), "see what was put into the window", rank());
}

}  // namespace crossdock::transports
