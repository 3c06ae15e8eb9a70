// The host's part of a device: copies full segments of sort rings into the windows of the next nodes, while kernels run
// (MGI, sections 5.1 and 5.4). One thread; an actor, so that it is tested under any order of steps.
//
// A link is a sort ring and its window, which have the same shape: segment number n lies in slot n mod slots of both,
// so a free slot in the window is all the credit there is. A few copies of a link are under way at once, in order on a
// stream. When the oldest has arrived its slot in the sort ring is given back; it is published in the window then, or,
// to kernels, by a copy of a word right behind it. Each word has one writer.
//
// The copier decides what a copy is: cudaMemcpyAsync between events, or memcpy in a test. It must never wait.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/rings/actor.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/ring_consumer.hpp"
#include "data/rings/sequence_window.hpp"

namespace crossdock::device {

enum class CopyState : uint8_t { kPending, kDone, kFailed };

struct CopyRequest {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  uint64_t bytes = 0;
  // A word that is to follow the bytes, if not null: kernels see it when these are there.
  uint64_t* word_to = nullptr;
  const uint64_t* word_from = nullptr;
};

// Copies of a link are in order. One thread.
class SegmentCopier {
 public:
  virtual ~SegmentCopier() = default;
  // False if the link has as many under way as it may.
  virtual bool begin(uint32_t link, const CopyRequest& copy) = 0;
  // The oldest copy of a link that is not known to be done yet; it is forgotten with kDone.
  virtual CopyState oldest(uint32_t link) = 0;
};

// `to` is the window as the mover sees it. Where its consumer is a kernel, ready words and head lie on the device, so
// that no kernel polls pinned memory: the ready word follows the segment as a copy from `generations` (word g is g),
// and the head comes as a mirror. The mover's own ready words then are its memory of what it has published.
struct MoverLink {
  rings::Ring from;
  rings::Ring to;
  uint64_t* device_ready = nullptr;
  const uint64_t* generations = nullptr;
};

class RingMover {
 public:
  RingMover(const std::vector<MoverLink>& links, SegmentCopier& copier) : copier_(copier) {
    for (const MoverLink& link : links) links_.emplace_back(link);
  }

  // One turn over all links. kIdle also while copies are pending: time has to pass.
  rings::Step step() {
    bool has_moved = false;
    for (uint32_t at = 0; at < links_.size() && !has_failed_; ++at) {
      has_moved |= finish(at);
      has_moved |= begin(at);
    }
    return has_moved ? rings::Step::kProgress : rings::Step::kIdle;
  }

  bool has_failed() const { return has_failed_; }
  uint64_t segments() const { return segments_; }
  uint64_t bytes() const { return bytes_; }
  // Copies that were begun and have not arrived.
  bool is_quiet() const {
    return std::ranges::all_of(links_, [](const State& link) { return link.begun == link.done; });
  }

 private:
  struct State {
    explicit State(const MoverLink& link) : rings(link), from(link.from), to(link.to) {}
    MoverLink rings;
    rings::RingConsumer<rings::CpuRingTraits> from;
    rings::SequenceWindow<rings::CpuRingTraits> to;
    uint64_t begun = 0;
    uint64_t done = 0;
  };

  bool begin(uint32_t at) {
    State& link = links_[at];
    std::byte* segment = link.from.front(link.begun - link.done);
    if (segment == nullptr) return false;
    std::byte* place = link.to.place(link.begun);
    if (place == nullptr) return false;
    CopyRequest copy{place, segment, link.rings.from.shape.segment_bytes};
    if (link.rings.device_ready != nullptr) {
      const rings::Ring& to = link.rings.to;
      copy.word_to = link.rings.device_ready + to.slot_of(link.begun) * rings::kRingLineWords;
      copy.word_from = link.rings.generations +
                       rings::CpuRingTraits::Word::generation_at(link.begun, to.shape.slot_bits);
    }
    if (!copier_.begin(at, copy)) return false;
    ++link.begun;
    return true;
  }

  bool finish(uint32_t at) {
    State& link = links_[at];
    if (link.begun == link.done) return false;
    const CopyState state = copier_.oldest(at);
    has_failed_ |= state == CopyState::kFailed;
    if (state != CopyState::kDone) return false;
    link.to.publish(link.done);
    link.from.recycle();
    ++link.done;
    ++segments_;
    bytes_ += link.rings.from.shape.segment_bytes;
    return true;
  }

  std::vector<State> links_;
  SegmentCopier& copier_;
  bool has_failed_ = false;
  uint64_t segments_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace crossdock::device
