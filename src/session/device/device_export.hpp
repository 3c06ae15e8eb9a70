// Tables on a device for other libraries: without a copy where these read the device's memory, or copied to the host.
//
// What is exported keeps its columns. Who reads it waits for the event (Arrow) or has named a stream (DLPack); until
// the last export of a piece of memory is released, and the device has then done all that it was asked for, the pool
// does not use it again.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "session/device/arrow_device.hpp"
#include "session/device/device_table.hpp"
#include "session/device/dlpack.hpp"

namespace crossdock::session {

// A struct with the table's columns.
void export_device_schema(const DeviceTable& table, ArrowSchema* schema);
Status export_device_array(const DeviceTable& table, ArrowDeviceArray* array);
// The same on the host, for readers of the Arrow C Data interface.
Status export_host_array(const DeviceTable& table, ArrowArray* array);

// A column as a tensor, ready for `stream` as DLPack numbers them (0: the consumer orders itself). CD-102 where rows
// are NULL, which tensors cannot say. The struct is deleted by its own deleter.
Result<dlpack::Managed*> export_tensor(const DeviceTable& table,
                                       const std::string& name,
                                       uint64_t stream);
Result<dlpack::ManagedVersioned*> export_versioned_tensor(const DeviceTable& table,
                                                          const std::string& name,
                                                          uint64_t stream);

}  // namespace crossdock::session
