// A flow: what one source puts in for one outlet, as a ring and the few words that its two ends tell each other.
//
// An outlet is a destination, or for a broadcast all destinations of one process together. Where both ends share memory
// (threads of a process, processes of a host) they share the flow itself, and nothing is copied. Where they do not,
// each end has a flow of the same shape, and movers mirror the one into the other: segment number n lies in slot n mod
// slots of both, so a number says where a segment goes, whether its place is free, and whether it has come before.
//
// Plain values in memory that they do not own. Who writes what: the source's side `total_*`, the outlet's side the
// ring's head and lock; `failed` either, once, from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "data/rings/ring.hpp"

namespace crossdock::rings {

struct FlowWords {
  alignas(kRingLineBytes) uint64_t total_segments_plus_1 = 0;  // 0: the source has not ended
  uint64_t total_rows = 0;                      // written before; valid once the other is not 0
  alignas(kRingLineBytes) uint64_t failed = 0;  // an ErrorCode; 0: all is well
};
static_assert(sizeof(FlowWords) == 2 * kRingLineBytes);

struct Flow {
  Ring ring;
  FlowWords* words = nullptr;
};

// Bytes of a flow in one block of memory, a multiple of 128, and the flow in such a block: aligned to 128, cleared,
// left alone while the flow lives, and mapped by as many processes as like. CD-105 if it is too small or askew.
uint64_t flow_bytes(const RingShape& shape);
Result<Flow> place_flow(const RingShape& shape, std::span<std::byte> memory);

// Says that the source is through: nothing will be committed after the segments that the ring has counted until now.
// By one thread, after all blocks of the source have sealed and their commits are done.
void end_flow(const Flow& flow, uint64_t rows);
// The same at the other end of a mirrored flow, where a mover knows the numbers from the source's process.
void end_flow_after(const Flow& flow, uint64_t segments, uint64_t rows);

struct FlowTotal {
  bool is_known = false;
  uint64_t segments = 0;
  uint64_t rows = 0;
};
FlowTotal total_of(const Flow& flow);

// Any thread of any process. The first failure stays.
void fail_flow(const Flow& flow, ErrorCode code);
// 0, or the ErrorCode of why the flow is over before its end.
uint16_t failure_of(const Flow& flow);

}  // namespace crossdock::rings
