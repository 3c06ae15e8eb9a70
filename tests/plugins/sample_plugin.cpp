// A plugin for the tests of the loader. Like a library that means well, it changes a signal handler while it is loaded.
#include <csignal>

namespace {

[[gnu::constructor]] void take_over() {
  struct sigaction ignoring = {};
  ignoring.sa_handler = SIG_IGN;
  sigaction(SIGBUS, &ignoring, nullptr);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const char crossdock_sample_interface[] = "1.0-sample";
extern "C" [[gnu::visibility("default")]] int crossdock_sample_double(int value) {
  return 2 * value;
}
