#include "base/home_process.hpp"

#include <atomic>
#include <pthread.h>
#include <unistd.h>

#include "base/check.hpp"

namespace crossdock {
namespace {

std::atomic<uint64_t> forks_behind{0};

// Registered once per copy of this code: a plugin counts by itself.
void count_forks() {
  static const int registered = ::pthread_atfork(
      nullptr, nullptr, [] { forks_behind.fetch_add(1, std::memory_order_relaxed); });
  CD_CHECK(registered == 0, "pthread_atfork answers {}", registered);
}

}  // namespace

HomeProcess::HomeProcess() {
  count_forks();
  forks_ = forks_behind.load(std::memory_order_relaxed);
  process_ = ::getpid();
}

bool HomeProcess::is_here() const { return forks_behind.load(std::memory_order_relaxed) == forks_; }

Status HomeProcess::check(const std::string& what) const {
  if (is_here()) return {};
  return make_error(ErrorCode::kChannelClosed,
                    "{} is of process {}, and this is process {}, a copy that fork() made of it\n"
                    "  try      what belongs to the group in the process that joined it, or start "
                    "others afresh (multiprocessing: the start method \"spawn\")",
                    what,
                    process_,
                    int64_t{::getpid()});
}

}  // namespace crossdock
