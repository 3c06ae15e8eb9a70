// Rows that are exchanged, sorted and gathered over ranks, one of which is killed in the middle of a phase.
#pragma once

#include <string>

#include "data/ranks/communicator.hpp"

namespace crossdock {

// Phases are those of a bulk exchange, with "_" for blanks, then cut, sort and gather. Does the work twice. The first
// time says when each phase was, and at which collectives; in the second, rank `who` kills itself where the middle of
// `phase` was, and the others find out.
Status killed_in_phase(Communicator& ranks, const std::string& phase, int who);

}  // namespace crossdock
