#include "data/transports/system_error.hpp"

#include <cerrno>
#include <string>
#include <sys/resource.h>
#include <system_error>

#include "base/result.hpp"

namespace crossdock::transports {
namespace {

struct Advice {
  ErrorCode code = ErrorCode::kProbeFailed;
  std::string text;
};

std::string descriptors_max() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return "only some";
  return std::to_string(limit.rlim_cur);
}

Advice advice_for(int number) {
  switch (number) {
    case EMFILE:
    case ETOOMANYREFS:
      return {ErrorCode::kOutOfMemoryBudget,
              fmt::format("this process may hold {} descriptors at a time: raise `ulimit -n`, or "
                          "keep fewer channels open",
                          descriptors_max())};
    case ENFILE:
      return {ErrorCode::kOutOfMemoryBudget,
              "the machine may not hold more open files: raise fs.file-max"};
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:
    case EFBIG:
      return {ErrorCode::kOutOfMemoryBudget,
              "use smaller segments, fewer slots per flow or fewer endpoints, or raise what the "
              "process may map (`ulimit -v`, the memory limit of its control group)"};
    case ENOSYS:
      return {ErrorCode::kProbeFailed,
              "the kernel is too old for it: Linux 5.4 or newer is needed"};
    case EPERM:
    case EACCES:
      return {ErrorCode::kProbeFailed,
              "a rule of the system forbids it: look at the container's seccomp profile"};
    default:
      return {ErrorCode::kProbeFailed, "processes of this host cannot share memory without it"};
  }
}

}  // namespace

Error system_error(std::string_view what, int number) {
  const Advice advice = advice_for(number);
  return make_error(
      advice.code, "{}: {}; {}", what, std::generic_category().message(number), advice.text);
}

}  // namespace crossdock::transports
