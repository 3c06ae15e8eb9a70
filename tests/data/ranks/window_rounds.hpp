// Rounds in which all ranks put to all, and look at every byte that has come; for threads and for MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "data/ranks/communicator.hpp"

namespace crossdock::ranks {

std::byte byte_of(int from, int to, int64_t place, int round);

// Opens a window of unequal sizes (of none in some ranks and rounds), puts twice to every rank, uses a buffer again
// after flush_local, fences. CD-901 names the first byte that is wrong.
Status put_and_look(Communicator& ranks, const std::shared_ptr<Memory>& memory, int round);

}  // namespace crossdock::ranks
