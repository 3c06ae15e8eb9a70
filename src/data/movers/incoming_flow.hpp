// The receiving end of a flow: where a segment goes, whether it is what it says, and what the other end is to know.
//
// A segment's number names its slot. While one link writes there, the same segment from another link is refused, for
// the memory can have one writer; if the first link is lost, or has fallen silent and revokes the place, the sender's
// next try gets it. One thread, the mover's; the ring's consumer may be any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "data/movers/mover.hpp"
#include "data/movers/notes.hpp"
#include "data/rings/cpu_ring_traits.hpp"
#include "data/rings/sequence_window.hpp"

namespace crossdock::movers {

class IncomingFlow {
 public:
  IncomingFlow(MovedFlow moved, const MoverSettings& settings);

  const MovedFlow& moved() const { return moved_; }
  bool is_listed = false;  // kept by who decides which flows are looked at

  // Whether a frame's header is one that may come: CD-613 if not. Any bytes are safe.
  Status check(const rings::SegmentHeader& header, uint32_t ranks) const;
  // Where the payload goes, or null if the segment is there already or is being written. `header` has passed check().
  std::byte* place(const rings::SegmentHeader& header);
  // What place() has answered for this header is written. CD-613 if it is not what was sent: by the checksum that
  // copy_payload answered where that made the copy; else the payload is read once more for it.
  Status placed(const rings::SegmentHeader& header, std::optional<uint32_t> checksum = {});
  void unplace(uint64_t sequence);
  // Whether the segment is being written, and has not changed hands before: or links that are slow, all of them, would
  // take it from each other for ever.
  bool may_change_hands(uint64_t sequence) const;
  void change_hands(uint64_t sequence);

  // The source has ended. CD-613 if that is not what it said before, or less than came.
  Status end(uint64_t segments, uint64_t rows);

  // How things stand, and whether and how soon the other end should get a note.
  NoteEntry credit() const;
  enum class Owes : uint8_t { kNothing, kLater, kWhenIdle, kNow };
  Owes owes(double now);
  void noted(const NoteEntry& credit);
  // The other end seems to have missed a note.
  void answer() { is_asked_ = true; }
  bool is_asked() const { return is_asked_; }
  double next_due_s() const;  // when what is owed is owed now

  bool has_arrived() const { return is_ended_ && window_.contiguous() == segments_; }
  uint64_t segments() const { return segments_; }
  void close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }
  std::string state() const;

 private:
  uint64_t slots() const { return moved_.flow.ring.slots(); }
  uint64_t head() const;

  MovedFlow moved_;
  bool checks_;
  rings::SequenceWindow<rings::CpuRingTraits> window_;
  // Of a place: a link writes there; another one did before it.
  static constexpr uint8_t kWritten = 1, kChangedHands = 2;
  uint8_t& place_of(uint64_t sequence) { return places_[moved_.flow.ring.slot_of(sequence)]; }
  std::vector<uint8_t> places_;  // by slot
  uint64_t end_ = 0;             // 1 + the highest number that came
  uint64_t segments_ = 0;
  uint64_t rows_ = 0;
  bool is_ended_ = false;
  bool is_closed_ = false;
  bool is_asked_ = false;
  // What the other end knows; there are many flows, and a NoteEntry has more.
  struct Noted {
    uint64_t head = 0, arrived = 0, beyond = 0;
  };
  Noted noted_;
  double owes_since_ = -1;
};

}  // namespace crossdock::movers
