// Whether code runs in the process that made an object, or in a copy of it that fork() made.
//
// A copy has the objects, but none of their threads, and shares descriptors and mapped memory with the process it came
// from. What an object would say, close or write there, others would take for that process's own.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace crossdock {

class HomeProcess {
 public:
  HomeProcess();
  // Costs a load. Any thread.
  bool is_here() const;
  // CD-618 that names `what`, both processes and the way out, if this is a copy.
  Status check(const std::string& what) const;

 private:
  uint64_t forks_;  // that lie behind the process
  int64_t process_;
};

}  // namespace crossdock
