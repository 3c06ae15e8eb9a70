// Rows that are exchanged, sorted and gathered, or partitioned for a join, over ranks, one of which ends in the middle
// of a phase.
#pragma once

#include <string>

#include "data/ranks/communicator.hpp"

namespace crossdock {

struct EndedPhase {
  // Those of a bulk exchange, with "_" for blanks, then cut, sort and gather; and of the partitions of a join
  // join_histogram, join_window and join_network_partition.
  std::string phase;
  int who = 1;
  bool throws = false;  // else it is killed
};

// Does the work once, a join twice, which says when each phase was, and at which collectives; then rank `who`
// kills itself where the middle of the phase was, or throws at the collective before that, and the others find out.
Status ended_in_phase(ranks::Communicator& ranks, const EndedPhase& ending);

}  // namespace crossdock
