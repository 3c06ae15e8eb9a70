// Kernels as they were without a number of blocks: what it changes is measured beside them.
#pragma once

#define CD_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads)
