// Frames of others that pass through this process: taken off one link, put on the next.
//
// Nothing here can wait in a circle. A frame on its second link goes to the process that has the outlet, where it
// always finds its slot: the credit for it was taken before it first left. So what is in transit waits for nothing but
// its link, and its place is free again after that; only frames on their first link wait for such a place. Frames pass
// one process at most, so there is no third kind. And neither kind takes room from the other, or from this process's
// own frames: places here are counted per incoming link, room on the outgoing link separately for own and passed
// frames.
//
// A sender has no more than `transit` frames under way through the process at a link's other end, so a place is there;
// only what was sent again may find none, and is dropped, counted, and sent again.
//
// Bounds: `transit` frames per link, each of at most transit_bytes_max; a buffer lives as long as its frame. One
// thread, the mover's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "data/rings/segment_header.hpp"
#include "data/transports/link.hpp"

namespace crossdock::movers {

struct TransitFrame {
  rings::SegmentHeader header;
  transports::LinkIndex from = 0;
  std::unique_ptr<std::byte[]> payload;  // header.bytes of them
};

class Transit {
 public:
  Transit(size_t links, int frames_per_link, uint32_t bytes_max);

  // Where the payload of a frame to another process goes, or null if there is no place for it.
  std::byte* place(transports::LinkIndex link, const rings::SegmentHeader& header);
  // It is there. False: place() never answered that payload, or its link is lost.
  bool placed(transports::LinkIndex link, const std::byte* payload, uint32_t checksum);
  // What was being written from the link will not be.
  void lost(transports::LinkIndex link);

  // By receiving rank: what waits for a link to it, oldest first. No entry is empty.
  using Waiting = std::map<transports::PeerIndex, std::deque<std::unique_ptr<TransitFrame>>>;
  Waiting& waiting() { return waiting_; }
  // Takes the oldest frame to the rank.
  std::unique_ptr<TransitFrame> take(transports::PeerIndex to);
  // The frame left, or was dropped: its place is free.
  void release(std::unique_ptr<TransitFrame> frame);

  int held() const;

 private:
  int frames_per_link_;
  uint32_t bytes_max_;
  std::vector<int> held_;  // by incoming link
  std::vector<std::unique_ptr<TransitFrame>> arriving_;
  Waiting waiting_;
};

}  // namespace crossdock::movers
