// The notes of all ranks as one trace that Perfetto (ui.perfetto.dev) and chrome://tracing open: a process per rank, a
// few tracks per flow, on each track one segment after the other, and in it one slice per stage.
//
// A stage is shown in the rank where it begins. Clocks of hosts differ: times are moved by what each rank says, and
// where a step still seems to be later than the one after it, it is shown at that one's time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/trace/segment_trace.hpp"

namespace crossdock::trace {

struct RankNotes {
  int rank = 0;
  TraceNotes noted;
  int64_t behind_ns = 0;           // to be added to its times, so that they are those of one clock
  std::vector<std::string> links;  // their names, in order; those without one are shown by number
};

// Channels of a shuffle's second level have this bit; shown as the channel without it, and its level.
inline constexpr uint64_t kTraceSecondLevel = uint64_t{1} << 63;

// Cost: sorts the notes; the text has up to 300 bytes per note. Ranks are those that noted, each once.
std::string trace_json(const std::vector<RankNotes>& ranks);

}  // namespace crossdock::trace
