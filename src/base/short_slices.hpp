// Threads that do a little, often, and should not wait long for a core that others compute on.
#pragma once

namespace crossdock {

// From now on the calling thread gets the core for a shorter time at once, and sooner: as much of it as before. Linux
// 6.12 and newer; elsewhere, and under policies that an administrator has chosen, nothing happens.
void ask_for_short_slices();

}  // namespace crossdock
