// Which host this process is on, as far as sharing memory goes.
#pragma once

#include <string>

#include "base/result.hpp"

namespace crossdock::transports {

// The same text in two processes exactly if abstract sockets lead from one to the other: the same boot of the same
// kernel, and the same network namespace. No spaces. CD-603 if the system does not say.
Result<std::string> host_identity();

}  // namespace crossdock::transports
