// CD_HOST_DEVICE: marks what a kernel may call too. The one place of this room that asks which compiler reads it: the
// mark is a keyword of nvcc, so no file can stand in for its absence.
#pragma once

#if defined(__CUDACC__)
#define CD_HOST_DEVICE __host__ __device__
#else
#define CD_HOST_DEVICE
#endif
