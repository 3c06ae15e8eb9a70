// Notes of segments on their way through the stages: each thread keeps its own, and hands them out when the trace ends.
//
// Off unless it is started: a note then costs a load of one word that no thread writes. On, it costs a clock and a
// store into the thread's own buffer, which grows by kChunkNotes up to its bound; notes beyond it are counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/result.hpp"

namespace crossdock::trace {

// In the order in which a segment passes them; the time between two is what it spent in a stage. A step is noted when
// it is done (kGivenBack: just before), so the note of the next one may have an earlier time; no step is later than its
// note.
enum class SegmentStep : uint8_t {
  kPublished,  // full or sealed, in its sort ring
  kPut,  // handed to a link; more than once if it goes again, or if a process in the middle passes it on
  kArrived,    // in its place at the other end of a link
  kTaken,      // handed to a receiver; of a broadcast to each destination
  kGivenBack,  // its rows are no longer used; as often as it was taken
};

struct SegmentNote {
  uint64_t channel = 0;
  uint64_t sequence = 0;
  uint16_t source = 0;
  uint16_t outlet = 0;
  SegmentStep step = SegmentStep::kPublished;
  uint16_t link = 0;  // of kPut and kArrived: among the links of the process, in order
};

struct TimedNote {
  int64_t at_ns = 0;  // of a clock that is the same for all processes of a host
  SegmentNote note;
};

// What the threads of a process noted, in no order.
struct TraceNotes {
  std::vector<TimedNote> notes;
  uint64_t dropped = 0;  // for which there was no room
};

// One at a time in a process. Threads may note while it starts and ends.
class SegmentTrace {
 public:
  // From now on each thread keeps up to `notes_per_thread` notes, of 32 bytes. CD-105: a trace is running already, or
  // the number is 0 or above kNotesMax.
  static Status start(uint32_t notes_per_thread = 1 << 18);
  static constexpr uint32_t kNotesMax = 1 << 24;
  static constexpr uint32_t kChunkNotes = 1 << 10;
  // Ends it. CD-105: none is running.
  static Result<TraceNotes> finish();

  static bool is_on() { return is_on_.load(std::memory_order_relaxed); }
  static void note(const SegmentNote& note) {
    if (is_on()) [[unlikely]]
      keep(note);
  }

 private:
  static void keep(const SegmentNote& note);
  static inline std::atomic<bool> is_on_{false};
};

}  // namespace crossdock::trace
