// A segment as it travels: its header, and its payload as it lies or packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/movers/frames_under_way.hpp"
#include "data/movers/mover.hpp"

namespace crossdock::movers {

// Bytes of the payload, as fill_frame will make it.
uint64_t frame_bytes(const segments::RowLayout& layout,
                     const std::byte* segment,
                     const rings::RingShape& shape);

// Fills in what the segment says of itself, and answers the payload: the segment's, or the frame's packed copy if that
// saves enough to be worth copying. Sender's rank and checksum are left to finish_frame.
std::span<const std::byte> fill_frame(FrameUnderWay& frame,
                                      const OutgoingFlow& flow,
                                      uint64_t sequence);
void finish_frame(rings::SegmentHeader& header,
                  std::span<const std::byte> payload,
                  bool has_checksum);

}  // namespace crossdock::movers
