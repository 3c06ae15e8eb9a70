// The trace of a whole group: every rank notes for itself, and at the end the notes of all come to rank 0, as rows of a
// channel.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "data/channels/data_plane.hpp"
#include "memory/budget.hpp"

namespace crossdock::channels {

// Ends the trace of this process (SegmentTrace::start has begun it) and answers that of all ranks at rank 0, "" at the
// others. All ranks call it, as they call DataPlane::create_channel, with a channel id that is not used again. Times of
// other hosts are moved by the difference of their real-time clocks from that of rank 0's host.
//
// While it works, rank 0 takes kTraceNoteBytes of the budget for each note. CD-105: no trace is running here (the
// others get theirs); CD-201 in all ranks; errors of channels.
Result<std::string> finish_group_trace(DataPlane& plane, Memory& memory, uint64_t channel_id);
inline constexpr int64_t kTraceNoteBytes = 400;  // a note, its place in the order, and its text

// Ends it and answers what this process noted, for one whose others may be gone. CD-105 as above.
Result<std::string> finish_own_trace(const DataPlane& plane);

}  // namespace crossdock::channels
