// Segments on their way through the stages, as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
// Off unless somebody starts it: a note then costs a load of one word that nobody writes. On, it costs a clock and a
// store into the thread's own buffer; when that is full, further notes are counted and dropped. The file says how many.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace crossdock {

// In the order in which a segment passes them; the time between two is what it spent in a stage.
enum class SegmentStep : uint8_t {
  kPublished,  // full or sealed, in its sort ring
  kPut,        // handed to a link
  kArrived,    // in its place at the other end of a link
  kTaken,      // handed to a receiver
  kGivenBack,  // its rows are no longer used
};

struct SegmentNote {
  uint64_t channel = 0;
  uint64_t sequence = 0;
  uint16_t source = 0;
  uint16_t outlet = 0;
  SegmentStep step = SegmentStep::kPublished;
  uint16_t detail = 0;  // of kPut and kArrived: the link
};

// One at a time in a process. Threads may note while it starts and ends.
class SegmentTrace {
 public:
  // From now on each thread keeps up to `notes_per_thread` notes. CD-105: a trace is running already, or the number is
  // 0 or above kNotesMax.
  static Status start(uint32_t notes_per_thread = 1 << 18);
  static constexpr uint32_t kNotesMax = 1 << 24;
  // Ends it and answers the trace as JSON of one process, named by its rank. CD-105: none is running.
  static Result<std::string> finish(int rank);

  static bool is_on() { return is_on_.load(std::memory_order_relaxed); }
  static void note(const SegmentNote& note) {
    if (is_on()) [[unlikely]]
      keep(note);
  }

 private:
  static void keep(const SegmentNote& note);
  static inline std::atomic<bool> is_on_{false};
};

}  // namespace crossdock
