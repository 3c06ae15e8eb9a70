// Notes: what movers tell each other about flows, a few entries at a time, in at most kNoteBytesMax bytes.
//
// A note may be lost, doubled, or overtaken by a later one. So each entry says how things stand, not what changed, and
// a process that needs an answer repeats the question. Notes pass at most one process in the middle, like segments.
//
// On wires, little-endian: a head of 16 bytes (magic, version, hop, sending rank, receiving rank, bytes of the note,
// entries, CRC-32C of the note with this field and the hop 0), then per entry its kind, its bytes, and its fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "data/movers/flow_id.hpp"
#include "data/transports/link.hpp"

namespace crossdock::movers {

enum class NoteKind : uint8_t {
  kCredit = 1,  // from the receiving end: what has arrived, and what was recycled
  kTotal,       // from the sending end: how many segments and rows it was
  kTotalSeen,   // answers it
  kAsk,         // from the sending end: how do things stand? Answered by kCredit
  kUnknown,     // answers what is said of a flow that this process does not have
  kFailed,      // the channel is over
  kFailedSeen,  // answers it
  kKeepalive,   // answered over the link it came from
  kKeepaliveSeen,
};
inline constexpr size_t kNoteTextMax = 512;

// One entry. Fields that its kind does not have are 0.
struct NoteEntry {
  NoteKind kind = NoteKind::kKeepalive;
  FlowId flow;            // kFailed, kFailedSeen: the channel alone; not of keepalives
  uint64_t arrived = 0;   // kCredit: segments 0 ... arrived - 1 have arrived
  uint64_t head = 0;      // kCredit: of them were recycled; head <= arrived
  uint64_t beyond = 0;    // kCredit: bit i: segment arrived + 1 + i has arrived too
  uint64_t segments = 0;  // kTotal
  uint64_t rows = 0;      // kTotal
  uint16_t code = 0;      // kFailed: an ErrorCode
  std::string_view text;  // kFailed: of at most kNoteTextMax bytes; lies in the note

  bool operator==(const NoteEntry&) const = default;
};

struct NoteHead {
  uint16_t from_rank = 0;
  uint16_t to_rank = 0;
  uint8_t hop = 0;  // links that the note has passed
};

class NoteWriter {
 public:
  NoteWriter(uint16_t from_rank, uint16_t to_rank);
  // False: there is no room for it any more; an empty note has room for any entry.
  bool add(const NoteEntry& entry);
  int entries() const { return entries_; }
  // Valid until the next call.
  std::span<const std::byte> finish();

 private:
  std::array<std::byte, transports::kNoteBytesMax> bytes_{};
  size_t used_ = 0;
  int entries_ = 0;
};

class NoteReader {
 public:
  // Checks all of it, entries too. CD-613 with what is wrong; any bytes are safe. The bytes live as long as the reader.
  static Result<NoteReader> read(std::span<const std::byte> note);

  const NoteHead& head() const { return head_; }
  int entries() const { return entries_; }
  // Entry by entry; false after the last.
  bool next(NoteEntry& entry);

 private:
  NoteHead head_;
  int entries_ = 0;
  std::span<const std::byte> left_;
};

// The note for the next link: one hop more. `note` is one that NoteReader::read has accepted, `out` as long as it.
void copy_note_for_next_hop(std::span<const std::byte> note, std::span<std::byte> out);

}  // namespace crossdock::movers
