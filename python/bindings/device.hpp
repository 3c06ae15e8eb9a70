// crossdock._native.Device and DeviceTable.
#pragma once

#include <nanobind/nanobind.h>

namespace crossdock::python {

void bind_device(nanobind::module_& module);

}  // namespace crossdock::python
