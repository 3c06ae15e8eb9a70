// What the system refused, as an Error: what was to be done, its reason, and what to try.
#pragma once

#include <string_view>

#include "base/error.hpp"

namespace crossdock::transports {

// "{what}: {reason}; {hint}". CD-201 if something has run out (memory, descriptors), else CD-603. `number`: an errno.
Error system_error(std::string_view what, int number);

}  // namespace crossdock::transports
