#include "data/movers/incoming_flow.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.hpp"
#include "data/rings/wire_segment.hpp"
#include "data/segments/segment_rows.hpp"

namespace crossdock::movers {
namespace {

constexpr int kArrivedBitsBeyond = 64;

}  // namespace

IncomingFlow::IncomingFlow(MovedFlow moved, const MoverSettings& settings)
    : moved_(std::move(moved)),
      checks_(settings.checksums),
      window_(moved_.flow.ring),
      places_(moved_.flow.ring.slots(), 0) {
  noted(credit());
}

Status IncomingFlow::check(const rings::SegmentHeader& header, uint32_t ranks) const {
  const rings::SegmentLayout& layout = moved_.layout->segments();
  rings::SegmentLimits limits;
  limits.sources = uint32_t{moved_.id.source} + 1;
  limits.outlets = uint32_t{moved_.id.outlet} + 1;
  limits.ranks = ranks;
  limits.hops = 2;
  limits.rows_max = layout.rows_max;
  limits.heap_bytes_max = layout.heap_bytes;
  limits.raw_bytes_max = moved_.flow.ring.shape.segment_bytes - sizeof(rings::SegmentHeader);
  CD_TRY(rings::check_header(header, limits));
  const auto wrong = [](const char* what, uint64_t value, uint64_t expected) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a segment's {} is {}, and the flow's is {}; the peer speaks another version "
                      "or sends damaged data",
                      what,
                      value,
                      expected);
  };
  if (header.from_rank != moved_.peer) return wrong("sending rank", header.from_rank, moved_.peer);
  // Credit was given up to here; what is below the head has come before.
  const uint64_t limit = head() + slots();
  if (header.sequence >= limit) return wrong("number", header.sequence, limit - 1);
  if (is_ended_ && header.sequence >= segments_)
    return wrong("number", header.sequence, segments_ - 1);
  return {};
}

std::byte* IncomingFlow::place(const rings::SegmentHeader& header) {
  if (is_closed_) return nullptr;
  std::byte* segment = window_.place(header.sequence);
  if (segment == nullptr) {
    is_asked_ = true;
    return nullptr;
  }
  uint8_t& place = place_of(header.sequence);
  if ((place & kWritten) != 0) return nullptr;
  place |= kWritten;
  return segment + sizeof(rings::SegmentHeader);
}

void IncomingFlow::unplace(uint64_t sequence) {
  place_of(sequence) &= static_cast<uint8_t>(~kWritten);
}

bool IncomingFlow::may_change_hands(uint64_t sequence) const {
  return places_[moved_.flow.ring.slot_of(sequence)] == kWritten;
}

void IncomingFlow::change_hands(uint64_t sequence) {
  unplace(sequence);
  place_of(sequence) |= kChangedHands;
}

Status IncomingFlow::placed(const rings::SegmentHeader& header, std::optional<uint32_t> checksum) {
  place_of(header.sequence) = 0;
  if (is_closed_) return {};
  std::byte* segment = moved_.flow.ring.segment(moved_.flow.ring.slot_of(header.sequence));
  const std::span<const std::byte> payload(segment + sizeof(header), header.bytes);
  if (checks_) {
    CD_TRY(checksum ? rings::check_checksum(header, *checksum)
                    : rings::check_payload(header, payload));
  }
  std::memcpy(segment, &header, sizeof(header));
  CD_TRY(segments::check_rows(*moved_.layout, segment, sizeof(header) + header.bytes));
  window_.publish(header.sequence);
  end_ = std::max(end_, header.sequence + 1);
  return {};
}

Status IncomingFlow::end(uint64_t segments, uint64_t rows) {
  if (is_ended_ && segments == segments_ && rows == rows_) return {};
  if (is_ended_ || segments < end_) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a source ended after {} segments and {} rows, but before it said {} "
                      "segments and {} rows, and {} came",
                      segments,
                      rows,
                      segments_,
                      rows_,
                      end_);
  }
  is_ended_ = true;
  segments_ = segments;
  rows_ = rows;
  rings::end_flow_after(moved_.flow, segments, rows);
  return {};
}

uint64_t IncomingFlow::head() const {
  using Word = rings::CpuRingTraits::Atomic<uint64_t, rings::CpuRingTraits::kHandOver>;
  return Word(*moved_.flow.ring.head).load(rings::CpuRingTraits::Orders::ReadHead{});
}

NoteEntry IncomingFlow::credit() const {
  NoteEntry entry;
  entry.kind = NoteKind::kCredit;
  entry.flow = moved_.id;
  entry.head = head();
  entry.arrived = window_.contiguous();
  CD_CHECK(entry.head <= entry.arrived, "head {} arrived {}", entry.head, entry.arrived);
  for (int bit = 0; bit < kArrivedBitsBeyond; ++bit) {
    const uint64_t sequence = entry.arrived + 1 + static_cast<uint64_t>(bit);
    if (sequence >= end_) break;
    if (window_.has(sequence)) entry.beyond |= uint64_t{1} << bit;
  }
  return entry;
}

// Half a window is noted at once, so that the sender always has the other half. Less is noted when there is nothing
// better to do, or with the next note to the same process; if it is only that slots are free again, after a while, for
// more are about to be.
IncomingFlow::Owes IncomingFlow::owes(double now) {
  const NoteEntry entry = credit();
  if (is_asked_) return Owes::kNow;
  const bool is_arrival_noted = entry.arrived == noted_.arrived && entry.beyond == noted_.beyond;
  // Who may send the last segment already has no use for more credit.
  const bool has_all_credit = is_ended_ && noted_.head + slots() >= segments_;
  if (is_arrival_noted && (has_all_credit || entry.head == noted_.head)) {
    owes_since_ = -1;
    return Owes::kNothing;
  }
  const uint64_t half = std::max<uint64_t>(1, slots() / 2);
  if (entry.arrived - noted_.arrived >= half || entry.head - noted_.head >= half) return Owes::kNow;
  if (owes_since_ < 0) owes_since_ = now;
  if (now >= owes_since_ + kNotedWithinS) return Owes::kNow;
  return is_arrival_noted ? Owes::kLater : Owes::kWhenIdle;
}

void IncomingFlow::noted(const NoteEntry& credit) {
  noted_ = {credit.head, credit.arrived, credit.beyond};
  is_asked_ = false;
  owes_since_ = -1;
}

double IncomingFlow::next_due_s() const {
  return owes_since_ < 0 ? std::numeric_limits<double>::infinity() : owes_since_ + kNotedWithinS;
}

std::string IncomingFlow::state() const {
  const NoteEntry entry = credit();
  return fmt::format("in {}:{}:{} from rank {}: arrived {} head {} noted {}/{} beyond {:x}{}",
                     moved_.id.channel,
                     moved_.id.source,
                     moved_.id.outlet,
                     moved_.peer,
                     entry.arrived,
                     entry.head,
                     noted_.arrived,
                     noted_.head,
                     entry.beyond,
                     is_ended_ ? fmt::format(" of {}", segments_) : std::string());
}

}  // namespace crossdock::movers
