// The runners that suites of operators are tried on, as the program that has the suites says: shapes of CPU threads
// (tried_runners_nocuda.cpp), or a GPU (tried_runners_cuda.cpp). The suites are the same.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

struct TriedRunner {
  std::string name;
  std::function<std::unique_ptr<DeviceRunner>()> make;
  uint64_t share =
      1;  // one in so many of the rows, where threads meet at barriers, which takes longer than the work

  uint64_t rows(uint64_t count) const { return count / share; }
};

inline std::ostream& operator<<(std::ostream& out, const TriedRunner& runner) {
  return out << runner.name;
}

std::vector<TriedRunner> tried_runners();

// Values of the host in a runner's memory, and back. A runner that fails ends the test program.
template <class T>
DeviceBuffer load(DeviceRunner& runner, const std::vector<T>& values) {
  const uint64_t bytes = values.size() * sizeof(T);
  DeviceBuffer buffer = std::move(DeviceBuffer::make(runner, bytes).value());
  if (!values.empty() && !runner.write(buffer.as<T>(), values.data(), bytes).ok()) std::abort();
  return buffer;
}

template <class T>
std::vector<T> values_of(DeviceRunner& runner, const DeviceBuffer& buffer, uint64_t count) {
  return std::move(read_values<T>(runner, buffer.as<T>(), count).value());
}

}  // namespace crossdock::operators
