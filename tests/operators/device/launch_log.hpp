// Which kernels and primitives of the closed lists were launched, by name: so that what no test launches can be said.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "operators/device/device_kernel.hpp"
#include "operators/device/device_primitive.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

template <class Work>
std::string name_of_work() {
  std::string_view text = __PRETTY_FUNCTION__;  // ends with "Work = …::JoinBuild; …]"
  text.remove_prefix(text.find("Work = ") + 7);
  text = text.substr(0, text.find_first_of(";]"));
  return std::string(text.substr(text.rfind(':') + 1));
}

template <class... Work>
std::string name_of(const std::variant<Work...>& work) {
  return std::visit([]<class Some>(const Some&) { return name_of_work<Some>(); }, work);
}

// A range by what it is taken of.
inline std::string name_of_primitive(const DevicePrimitive& primitive) {
  const auto* range = std::get_if<DeviceRangeWork>(&primitive);
  return range == nullptr ? name_of(primitive) : name_of(range->of);
}

template <class... Work>
void add_names(const std::variant<Work...>*, std::set<std::string>& names) {
  (names.insert(name_of_work<Work>()), ...);
}

inline std::set<std::string> names_of_all_work() {
  std::set<std::string> names;
  add_names(static_cast<const DeviceKernel*>(nullptr), names);
  add_names(static_cast<const DevicePrimitive*>(nullptr), names);
  names.erase(name_of_work<DeviceRangeWork>());
  add_names(static_cast<const DeviceRangeSource*>(nullptr), names);
  return names;
}

// Passes everything on, and keeps the names.
class LoggedRunner : public DeviceRunner {
 public:
  explicit LoggedRunner(std::unique_ptr<DeviceRunner> inner) : inner_(std::move(inner)) {}

  // Of all runners of the process.
  static std::set<std::string>& launched() {
    static std::set<std::string> names;
    return names;
  }

  DeviceTraits traits() const override { return inner_->traits(); }
  Result<std::byte*> allocate(uint64_t bytes) override { return inner_->allocate(bytes); }
  void release(std::byte* memory, uint64_t bytes) override { inner_->release(memory, bytes); }
  Status launch(const DeviceKernel& kernel, uint32_t blocks) override {
    launched().insert(name_of(kernel));
    return inner_->launch(kernel, blocks);
  }
  Result<uint64_t> scratch_bytes(const DevicePrimitive& primitive) override {
    return inner_->scratch_bytes(primitive);
  }
  Status run(const DevicePrimitive& primitive, const DeviceScratch& scratch) override {
    launched().insert(name_of_primitive(primitive));
    return inner_->run(primitive, scratch);
  }
  Status read(void* to, const void* from, uint64_t bytes) override {
    return inner_->read(to, from, bytes);
  }
  Status write(void* to, const void* from, uint64_t bytes) override {
    return inner_->write(to, from, bytes);
  }

 private:
  const std::unique_ptr<DeviceRunner> inner_;
};

}  // namespace crossdock::operators
