// Which launch started this process, so that ranks of two launches never form one group.
#pragma once

#include <string>

namespace crossdock::ranks {

// Means that nothing is known: the process was started by hand, or by a launcher that has no name for what it starts.
constexpr const char* kNoLaunch = "-";

// One word, the same in all processes of a launch and in no process of another: the launcher's name for the launch.
// kNoLaunch unless the launcher has started exactly `ranks` processes: else a group may be made of several launches,
// such as one `mpirun -n 1` per rank. Reads the environment at each call.
std::string launch_id(int ranks);

}  // namespace crossdock::ranks
