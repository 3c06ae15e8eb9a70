// As operator_calls_nocuda.cpp.
#include "operators/device/primitive_calls.hpp"

namespace crossdock::operators::operator_calls {

int run(const DevicePrimitive&, DeviceScratch*, void*) { return 1; }

}  // namespace crossdock::operators::operator_calls
