// What only nvcc can compile of primitives: CUB's calls. Answers are 0 or CUDA's number of an error.
#pragma once

#include "operators/device/device_primitive.hpp"

namespace crossdock::operators::operator_calls {

// Where there is no memory, only the bytes that it should have are put in.
int run(const DevicePrimitive& primitive, DeviceScratch* scratch, void* stream);

}  // namespace crossdock::operators::operator_calls
