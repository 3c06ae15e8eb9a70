// Transports of several threads at once, each with its own, and UCX's thread beside them. The thread sanitizer sees
// this project does; UCX is not compiled for it, so what it reports from within its libraries is left out. The preset
// sets UCX_MEM_EVENTS=n, or UCX would look at the memory of threads that the sanitizer knows no longer.
#include <atomic>
#include <thread>

#include "data/transports/ucx/ucx_end.hpp"

// Asked by the sanitizer for what to leave out. The last is for the end of libucs, which gives back a mutex that it
// took where the sanitizer was not looking.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "called_from_lib:libucp.so\ncalled_from_lib:libuct.so\ncalled_from_lib:libucs.so\n"
         "called_from_lib:libucm.so\nmutex:_dl_call_fini\n";
}

namespace crossdock::transports {
namespace {

// Frames of both kinds and notes go both ways; then one side gives up, and both end.
TEST(UcxLinks, ConcurrentTransportsEachInItsThread) {
  constexpr uint64_t kFrames = 60;
  UcxEnd a, b;
  call(a, b);
  const auto large = made_bytes(100'000, 1), small = made_bytes(3000, 2);
  std::atomic<int> through = 0;
  const auto drive = [&](LinkEnd& end, bool gives_up) {
    uint64_t put = 0;
    // One for ten frames: a note at each step fills the sockets, and frames stand behind it.
    uint64_t notes = 0;
    const auto step = [&] {
      const auto& payload = put % 2 == 0 ? large : small;
      if (put < kFrames && end.link().put(header_of(put, payload.size()), payload, put)) ++put;
      if (put >= 10 * notes && end.link().tell(std::span(small).first(100))) ++notes;
      return end.arrived.size() == kFrames && end.sent_tokens.size() == kFrames;
    };
    bool has_counted = false;
    EXPECT_TRUE(until(
        [&] {
          if (step() && !has_counted) ++through, has_counted = true;
          return through == 2;
        },
        {&end}));
    if (gives_up) end.link().abandon();
    EXPECT_TRUE(until([&] { return !end.lost_causes.empty(); }, {&end}));
    for (const auto& [sequence, bytes] : end.arrived) {
      EXPECT_EQ(bytes, sequence % 2 == 0 ? large : small);
    }
  };
  std::thread other([&] { drive(b, false); });
  drive(a, true);
  other.join();
}

}  // namespace
}  // namespace crossdock::transports
