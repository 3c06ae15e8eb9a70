#include "data/movers/notes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "base/text_cut.hpp"
#include "data/rings/crc32c.hpp"

namespace crossdock::movers {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are copied as they lie");

constexpr uint16_t kNoteMagic = 0x4E58;  // "XN"
constexpr uint8_t kNoteVersion = 1;

struct WireHead {
  uint16_t magic = kNoteMagic;
  uint8_t version = kNoteVersion;
  uint8_t hop = 0;
  uint16_t from_rank = 0;
  uint16_t to_rank = 0;
  uint16_t bytes = 0;
  uint16_t entries = 0;
  uint32_t checksum = 0;
};
static_assert(sizeof(WireHead) == 16);

struct WireEntry {
  uint8_t kind = 0;
  uint8_t spare = 0;
  uint16_t bytes = 0;  // with this
};
static_assert(sizeof(WireEntry) == 4);

// Calls field(entry.*) for what an entry of its kind has on wires, in their order; the text comes behind.
template <class Entry, class Field>
constexpr void each_field(Entry& entry, const Field& field) {
  const auto is_any = [&](auto... kinds) { return ((entry.kind == kinds) || ...); };
  if (is_any(NoteKind::kKeepalive, NoteKind::kKeepaliveSeen)) return;
  field(entry.flow.channel);
  if (entry.kind == NoteKind::kFailed) field(entry.code);
  if (is_any(NoteKind::kFailed, NoteKind::kFailedSeen)) return;
  field(entry.flow.source);
  field(entry.flow.outlet);
  if (entry.kind == NoteKind::kCredit) {
    field(entry.arrived);
    field(entry.head);
    field(entry.beyond);
  } else if (entry.kind == NoteKind::kTotal) {
    field(entry.segments);
    field(entry.rows);
  }
}

size_t field_bytes(NoteKind kind) {
  NoteEntry entry;
  entry.kind = kind;
  size_t bytes = 0;
  each_field(entry, [&](const auto& field) { bytes += sizeof(field); });
  return bytes;
}

bool is_kind(uint8_t kind) {
  return kind >= static_cast<uint8_t>(NoteKind::kCredit) &&
         kind <= static_cast<uint8_t>(NoteKind::kKeepaliveSeen);
}

void write_fields(const NoteEntry& entry, std::byte* at) {
  each_field(entry, [&](const auto& field) {
    std::memcpy(at, &field, sizeof(field));
    at += sizeof(field);
  });
  std::ranges::copy(std::as_bytes(std::span(entry.text)), at);
}

NoteEntry read_fields(NoteKind kind, std::span<const std::byte> bytes) {
  NoteEntry entry;
  entry.kind = kind;
  each_field(entry, [&](auto& field) {
    CD_CHECK(bytes.size() >= sizeof(field), "{} of {} bytes", bytes.size(), sizeof(field));
    std::memcpy(&field, bytes.data(), sizeof(field));
    bytes = bytes.subspan(sizeof(field));
  });
  entry.text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return entry;
}

Error malformed(const char* what, uint64_t value, uint64_t expected) {
  return make_error(ErrorCode::kMalformedMessage,
                    "a mover's note: {} is {}, not {}; the peer speaks another version or sends "
                    "damaged data",
                    what,
                    value,
                    expected);
}

uint32_t checksum_of(WireHead head, std::span<const std::byte> rest) {
  head.checksum = 0;
  head.hop = 0;
  return rings::crc32c(rest, rings::crc32c(std::as_bytes(std::span(&head, 1))));
}

// One entry at the begin of `left`: its bytes are all there, and as many as its kind has.
Result<size_t> check_entry(std::span<const std::byte> left) {
  WireEntry wire;
  if (left.size() < sizeof(wire)) return malformed("an entry's room", left.size(), sizeof(wire));
  std::memcpy(&wire, left.data(), sizeof(wire));
  if (!is_kind(wire.kind)) return malformed("an entry's kind", wire.kind, 1);
  if (wire.spare != 0) return malformed("an entry's spare byte", wire.spare, 0);
  if (wire.bytes > left.size()) return malformed("an entry's length", wire.bytes, left.size());
  const auto kind = static_cast<NoteKind>(wire.kind);
  const size_t least = sizeof(wire) + field_bytes(kind);
  const size_t most = kind == NoteKind::kFailed ? least + kNoteTextMax : least;
  if (wire.bytes < least) return malformed("an entry's length", wire.bytes, least);
  if (wire.bytes > most) return malformed("an entry's length", wire.bytes, most);
  return size_t{wire.bytes};
}

}  // namespace

NoteWriter::NoteWriter(uint16_t from_rank, uint16_t to_rank) : used_(sizeof(WireHead)) {
  WireHead head;
  head.from_rank = from_rank;
  head.to_rank = to_rank;
  std::memcpy(bytes_.data(), &head, sizeof(head));
}

bool NoteWriter::add(const NoteEntry& entry) {
  const std::string_view text = entry.kind == NoteKind::kFailed
                                  ? first_characters(entry.text, kNoteTextMax)
                                  : std::string_view();
  WireEntry wire;
  wire.kind = static_cast<uint8_t>(entry.kind);
  wire.bytes = static_cast<uint16_t>(sizeof(wire) + field_bytes(entry.kind) + text.size());
  if (used_ + wire.bytes > bytes_.size()) return false;
  std::memcpy(bytes_.data() + used_, &wire, sizeof(wire));
  NoteEntry cut = entry;
  cut.text = text;
  write_fields(cut, bytes_.data() + used_ + sizeof(wire));
  used_ += wire.bytes;
  ++entries_;
  return true;
}

std::span<const std::byte> NoteWriter::finish() {
  WireHead head;
  std::memcpy(&head, bytes_.data(), sizeof(head));
  head.bytes = static_cast<uint16_t>(used_);
  head.entries = static_cast<uint16_t>(entries_);
  head.checksum = checksum_of(head, std::span(bytes_).first(used_).subspan(sizeof(head)));
  std::memcpy(bytes_.data(), &head, sizeof(head));
  return std::span(bytes_).first(used_);
}

Result<NoteReader> NoteReader::read(std::span<const std::byte> note) {
  WireHead head;
  if (note.size() < sizeof(head)) return malformed("its length", note.size(), sizeof(head));
  std::memcpy(&head, note.data(), sizeof(head));
  if (head.magic != kNoteMagic) return malformed("its magic number", head.magic, kNoteMagic);
  if (head.version != kNoteVersion) return malformed("its version", head.version, kNoteVersion);
  if (head.bytes != note.size()) return malformed("its length", note.size(), head.bytes);
  const uint32_t checksum = checksum_of(head, note.subspan(sizeof(head)));
  if (checksum != head.checksum) return malformed("its checksum", checksum, head.checksum);

  NoteReader reader;
  reader.head_ = {.from_rank = head.from_rank, .to_rank = head.to_rank, .hop = head.hop};
  reader.entries_ = head.entries;
  reader.left_ = note.subspan(sizeof(head));
  std::span<const std::byte> left = reader.left_;
  int entries = 0;
  for (; !left.empty(); ++entries) {
    CD_ASSIGN(const size_t bytes, check_entry(left));
    left = left.subspan(bytes);
  }
  if (entries != reader.entries_) {
    return malformed("its number of entries",
                     static_cast<uint64_t>(entries),
                     static_cast<uint64_t>(reader.entries_));
  }
  return reader;
}

bool NoteReader::next(NoteEntry& entry) {
  if (left_.empty()) return false;
  WireEntry wire;
  std::memcpy(&wire, left_.data(), sizeof(wire));
  entry =
      read_fields(static_cast<NoteKind>(wire.kind), left_.first(wire.bytes).subspan(sizeof(wire)));
  left_ = left_.subspan(wire.bytes);
  return true;
}

void copy_note_for_next_hop(std::span<const std::byte> note, std::span<std::byte> out) {
  std::ranges::copy(note, out.begin());
  WireHead head;
  std::memcpy(&head, note.data(), sizeof(head));
  ++head.hop;
  std::memcpy(out.data(), &head, sizeof(head));
}

}  // namespace crossdock::movers
