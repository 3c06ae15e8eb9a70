// A window over MPI: memory that ranks of a host share, and passive-target puts to all others.
#pragma once

#include <memory>
#include <vector>

#include "data/ranks/window.hpp"
#include "data/transports/mpi/mpi_core.hpp"
#include "data/transports/shared_region.hpp"

namespace crossdock::transports {

// The parts that this process has mapped, by rank: its own, and those of neighbours.
struct MpiParts {
  std::vector<std::unique_ptr<SharedRegion>> shared;
  std::byte* memory_of(int rank) const { return at(static_cast<size_t>(rank)); }
  std::byte* at(size_t rank) const {
    return shared[rank] == nullptr ? nullptr : shared[rank]->bytes().data();
  }
};

class MpiWindow : public ranks::Window {
 public:
  // `win` is null where all ranks are neighbours.
  MpiWindow(MpiCore& core, int rank, std::shared_ptr<MpiParts> parts, std::shared_ptr<MpiWin> win);

  const std::shared_ptr<MpiWin>& win() const { return win_; }

 private:
  Status put_far(int target, int64_t at, std::span<const std::byte> from) override;
  Status flush_far(int target, bool locally) override;
  Status flush_all_far() override;
  Status sync_far() override;

  MpiCore& core_;
  std::shared_ptr<MpiParts> parts_;
  std::shared_ptr<MpiWin> win_;
};

}  // namespace crossdock::transports
