// The exchange of exchange_block.hpp as a kernel, and rows for it.
#pragma once

#include "data/device/device_room.hpp"
#include "gpu/exchange_block.hpp"

namespace crossdock {

// All answer a cudaError_t; streams are CUDA's.
int load_exchange();
// Of blocks with so many threads.
int exchange_needs(device::KernelNeeds* needs);
int launch_exchange(const ExchangeWork& work, uint32_t threads, void* stream);
// keys[i] = multiply * (first + i), values[i] = first + i.
int launch_numbers(uint64_t* keys, uint64_t* values, uint64_t first, uint64_t rows, void* stream);
// Reads the word at address 0: a kernel that fails.
int launch_failure(void* stream);

}  // namespace crossdock
