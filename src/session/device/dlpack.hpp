// DLPack: tensors of one library as another sees them (https://dmlc.github.io/dlpack). The struct layouts, of version 1
// and of the time before versions, are the contract.
#pragma once

#include <cstdint>

namespace crossdock::session::dlpack {

struct Device {
  int32_t type = 1;  // MemoryPlace
  int32_t id = 0;
};

enum class Code : uint8_t { kInt = 0, kUInt = 1, kFloat = 2 };

struct DataType {
  uint8_t code = 0;
  uint8_t bits = 64;
  uint16_t lanes = 1;
};

struct Tensor {
  void* data = nullptr;
  Device device{};
  int32_t dimensions = 0;
  DataType type{};
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;  // in values; null: rows one behind the other
  uint64_t byte_offset = 0;
};

struct Managed {
  static constexpr const char* kName = "dltensor";
  static constexpr const char* kUsedName = "used_dltensor";
  Tensor tensor{};
  void* owner = nullptr;
  void (*deleter)(Managed*) = nullptr;
};

struct Version {
  uint32_t major = 1;
  uint32_t minor = 0;
};

inline constexpr uint64_t kReadOnly = 1;

struct ManagedVersioned {
  static constexpr const char* kName = "dltensor_versioned";
  static constexpr const char* kUsedName = "used_dltensor_versioned";
  Version version{};
  void* owner = nullptr;
  void (*deleter)(ManagedVersioned*) = nullptr;
  uint64_t flags = 0;
  Tensor tensor{};
};

}  // namespace crossdock::session::dlpack
