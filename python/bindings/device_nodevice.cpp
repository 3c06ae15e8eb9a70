// In the place of device.cpp where tables on devices were not built (CROSSDOCK_PLUGINS): nothing is bound, and
// crossdock.device says so.
#include "bindings/device.hpp"

namespace crossdock::python {

void bind_device(nanobind::module_&) {}

}  // namespace crossdock::python
