// How many threads a block of a kernel has, and how many blocks a multiprocessor is to hold: the registers that this
// leaves are the kernel's. Without the second number the compiler aims at many threads, and keeps registers in memory.
#pragma once

#define CD_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
