// Tables on a device from what other libraries have there (Arrow C Device arrays, DLPack tensors), or from the host.
//
// Memory that is the device's is used where it lies, and its owner is kept; memory of the host is copied. Nothing is
// taken from a struct (its release stays set) where an error is answered. All of it belongs to one turn of the device,
// which these take.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "session/device/arrow_device.hpp"
#include "session/device/device_table.hpp"
#include "session/device/dlpack.hpp"

namespace crossdock::session {

// "CUDA 0", "the host's memory": for errors.
std::string place_text(int32_t type, int64_t id);

// Whether memory there can be used in place or copied from.
bool device_reaches(const Device& device, int32_t type, int64_t id);

// A struct of columns, or one column, named as the schema says. The array is waited for (sync_event), moved out and
// kept until nothing needs it. CD-102 for types that are not taken, CD-105 where it lies on another device, CD-301 for
// one that breaks Arrow's rules.
Result<DeviceTable> import_device_array(const DevicePtr& device,
                                        const ArrowSchema& schema,
                                        ArrowDeviceArray* array);

// One tensor of one dimension per column. `release` is called once nothing needs the tensor, or never where an error is
// answered. The producer knows the device's stream (DeviceFacts), so nothing is waited for.
struct TensorColumn {
  std::string name;
  dlpack::Tensor tensor{};
  std::function<void()> release;
};
Result<DeviceTable> import_tensors(const DevicePtr& device, std::vector<TensorColumn> columns);

}  // namespace crossdock::session
