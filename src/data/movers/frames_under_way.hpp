// Frames that links are sending: the header and, of packed ones, the payload, which stay until the link is through.
//
// Bounds: 2 * outstanding frames per link; buffers are kept and used again, so the memory is that of the most frames
// that were packed at once. One thread, the mover's.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "data/movers/outgoing_flow.hpp"
#include "data/movers/transit.hpp"
#include "data/rings/segment_header.hpp"
#include "data/transports/link.hpp"

namespace crossdock::movers {

struct FrameUnderWay {
  rings::SegmentHeader header;
  transports::LinkIndex link = 0;
  std::shared_ptr<OutgoingFlow> flow;       // own frames; keeps the memory that the link reads
  std::unique_ptr<TransitFrame> passed_on;  // those of other processes
  std::unique_ptr<std::byte[]> packed;
  uint64_t packed_bytes = 0;  // that fit in there
  bool is_used = false;
};

class FramesUnderWay {
 public:
  // A frame that is not used, and its token.
  FrameUnderWay& open(uint64_t& token);
  FrameUnderWay& at(uint64_t token);
  // Forgets it; its flow's memory may go.
  void close(uint64_t token);
  std::vector<uint64_t> on_link(transports::LinkIndex link) const;
  size_t count() const { return frames_.size() - free_.size(); }

 private:
  std::deque<FrameUnderWay> frames_;  // addresses stay
  std::vector<uint64_t> free_;
};

}  // namespace crossdock::movers
