// Where paths to the network meet paths from it: which are used together.
//
// MGI joins the two sets at the network vertex (section 4.3) and leaves open which path goes with which. Here flows are
// laid side by side in the order of the paths, so that shares match and n + m paths make fewer than n + m ways. A path
// whose share is already met elsewhere, as all but the first are where one side is much faster, still gets a partner:
// tables name candidates, and the data plane decides at run time.
#pragma once

#include <vector>

#include "control/optimizer/structure_paths.hpp"

namespace crossdock::control {

struct Junction {
  int out = 0;  // index of a path to the network
  int in = 0;   // index of a path from it
  double flow_bytes_per_s = 0;
};

// Every path of both sets at least once; none if either set is empty.
std::vector<Junction> join(const SectionPaths& out, const SectionPaths& in);

}  // namespace crossdock::control
