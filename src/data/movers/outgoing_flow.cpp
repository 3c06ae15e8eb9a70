#include "data/movers/outgoing_flow.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.hpp"

namespace crossdock::movers {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kDoublingsMax = 6;
constexpr uint8_t kSendsMax = std::numeric_limits<uint8_t>::max();
constexpr int kBitsBeyond = 64;
// A note is answered at once; one that was not is sent again after this time, then after twice as long, and so on.
constexpr double kAgainS = 0.05;
constexpr int kNoteDoublingsMax = 8;

}  // namespace

OutgoingFlow::OutgoingFlow(MovedFlow moved)
    : moved_(std::move(moved)), flights_(moved_.flow.ring.slots()), look_at_(kNever) {
  counters.id = moved_.id;
}

const std::byte* OutgoingFlow::segment(uint64_t sequence) const {
  return moved_.flow.ring.segment(slot_of(sequence));
}

const std::byte* OutgoingFlow::fresh() {
  if (next_ >= remote_head_ + slots()) return nullptr;
  return consumer().front(next_ - recycled_);
}

uint64_t OutgoingFlow::window_bytes() const {
  if (arrived_ == next_ || rings::total_of(moved_.flow).is_known) return 0;
  return slots() * moved_.flow.ring.shape.segment_bytes;
}

bool OutgoingFlow::is_held_back() {
  return next_ >= remote_head_ + slots() && consumer().front(next_ - recycled_) != nullptr;
}

// A frame is overdue once its time is over and a later one has arrived, whichever flow and path it was of; without that
// only the oldest is, at twice its time, and what is answered to it tells about the others. Where another path could
// take it that time is a few round trips, as in RACK (RFC 8985); links lose nothing that they take, so where there is
// none it is much longer.
void OutgoingFlow::look_for_due(const Evidence& evidence) {
  look_at_ = kNever;
  overtaken_at_ = evidence.overtaken_at;
  bool is_oldest = true;
  for (uint64_t sequence = arrived_; sequence < next_; ++sequence) {
    const Flight& flight = flights_[slot_of(sequence)];
    if (flight.has_arrived) continue;
    const bool is_overtaken = flight.sent_at < evidence.overtaken_at;
    const bool is_early = is_overtaken && evidence.sound.has_other(flight.path);
    const double time_s = is_early ? std::min(flight.overtaken_s, flight.timeout_s)
                                   : flight.timeout_s * (is_overtaken ? 1 : 2);
    if (!flight.goes_again && (is_overtaken || is_oldest)) {
      const double due =
          flight.sent_at + std::ldexp(time_s, std::min(flight.sends - 1, kDoublingsMax));
      if (due <= evidence.now) {
        send_again(sequence);
      } else {
        look_at_ = std::min(look_at_, due);
      }
    }
    is_oldest = false;
  }
}

std::optional<uint64_t> OutgoingFlow::again(const Evidence& evidence) {
  const bool is_overtaken = evidence.overtaken_at > overtaken_at_ + kOvertakenEveryS;
  if (evidence.now >= look_at_ || (is_overtaken && arrived_ != next_)) look_for_due(evidence);
  if (again_ == 0) return std::nullopt;
  for (uint64_t sequence = arrived_; sequence < next_; ++sequence) {
    const Flight& flight = flights_[slot_of(sequence)];
    if (flight.goes_again && !flight.has_arrived) return sequence;
  }
  return std::nullopt;
}

void OutgoingFlow::send_again(uint64_t sequence) {
  Flight& flight = flights_[slot_of(sequence)];
  if (flight.goes_again || flight.has_arrived) return;
  flight.goes_again = true;
  ++again_;
}

void OutgoingFlow::put(uint64_t sequence, const Flight& flight) {
  Flight& kept = flights_[slot_of(sequence)];
  if (sequence == next_) {
    kept = flight;
    kept.sends = 1;
    kept.puts = 1;
    kept.has_arrived = kept.goes_again = false;
    ++next_;
  } else {
    CD_CHECK(kept.goes_again, "segment {} of {}", sequence, next_);
    const uint16_t puts = kept.puts;
    const uint8_t sends = kept.sends;
    kept = flight;
    kept.puts = static_cast<uint16_t>(puts + 1);
    kept.sends = static_cast<uint8_t>(std::min<int>(sends + 1, kSendsMax));
    kept.has_arrived = kept.goes_again = false;
    --again_;
  }
  look_at_ = std::min(look_at_, kept.sent_at + kept.timeout_s);
}

void OutgoingFlow::sent(uint64_t sequence) {
  if (is_closed_) return;
  Flight& flight = flights_[slot_of(sequence)];
  CD_CHECK(sequence >= recycled_ && sequence < next_ && flight.puts > 0,
           "segment {} of [{}, {}), puts {}",
           sequence,
           recycled_,
           next_,
           flight.puts);
  --flight.puts;
  recycle();
}

void OutgoingFlow::path_lost(PathIndex path) {
  for (uint64_t sequence = arrived_; sequence < next_; ++sequence) {
    if (flights_[slot_of(sequence)].path == path) send_again(sequence);
  }
}

bool OutgoingFlow::arrive(uint64_t sequence, std::vector<Flight>& arrived) {
  Flight& flight = flights_[slot_of(sequence)];
  if (flight.has_arrived) return false;
  flight.has_arrived = true;
  if (flight.goes_again) --again_;
  flight.goes_again = false;
  arrived.push_back(flight);
  return true;
}

Status OutgoingFlow::acknowledge(const NoteEntry& credit,
                                 double now,
                                 std::vector<Flight>& arrived) {
  const uint64_t beyond_last =
      credit.beyond == 0 ? credit.arrived
                         : credit.arrived + 1 +
                               static_cast<uint64_t>(kBitsBeyond - std::countl_zero(credit.beyond));
  if (credit.head > credit.arrived || credit.arrived > next_ || beyond_last > next_) {
    return make_error(ErrorCode::kMalformedMessage,
                      "a mover's note says that {} segments arrived of flow {} (up to {}) and {} "
                      "were recycled, of {} that were sent",
                      credit.arrived,
                      moved_.id.source,
                      beyond_last,
                      credit.head,
                      next_);
  }
  const size_t before = arrived.size();
  for (uint64_t sequence = arrived_; sequence < credit.arrived; ++sequence) {
    arrive(sequence, arrived);
  }
  arrived_ = std::max(arrived_, credit.arrived);
  for (int bit = 0; bit < kBitsBeyond; ++bit) {
    const uint64_t sequence = credit.arrived + 1 + static_cast<uint64_t>(bit);
    if ((credit.beyond >> bit & 1) != 0 && sequence >= arrived_) arrive(sequence, arrived);
  }
  if (credit.head > remote_head_ || arrived.size() != before) is_asking_ = false;
  remote_head_ = std::max(remote_head_, credit.head);
  unknown_since_ = -1;
  if (arrived.size() != before && arrived_ != next_) look_at_ = now;  // another is the oldest
  recycle();
  return {};
}

void OutgoingFlow::recycle() {
  uint64_t count = 0;
  while (recycled_ + count < arrived_ && flights_[slot_of(recycled_ + count)].puts == 0) ++count;
  if (count == 0) return;
  consumer().recycle(count);
  recycled_ += count;
  has_recycled_ = true;
}

std::vector<Flight> OutgoingFlow::unacknowledged() const {
  std::vector<Flight> flights;
  for (uint64_t sequence = arrived_; sequence < next_; ++sequence) {
    const Flight& flight = flights_[slot_of(sequence)];
    if (!flight.has_arrived) flights.push_back(flight);
  }
  return flights;
}

bool OutgoingFlow::take_recycled() { return std::exchange(has_recycled_, false); }

bool OutgoingFlow::has_arrived() const {
  const rings::FlowTotal total = rings::total_of(moved_.flow);
  return total.is_known && total.segments == arrived_;
}

std::optional<NoteEntry> OutgoingFlow::to_tell(double now) {
  NoteEntry entry;
  entry.flow = moved_.id;
  const rings::FlowTotal total = rings::total_of(moved_.flow);
  if (total.is_known && !is_total_seen_) {
    is_asking_ = false;  // the answer to a total says how things stand, too
    if (totals_ > 0 && now < total_at_) return std::nullopt;
    entry.kind = NoteKind::kTotal;
    entry.segments = total.segments;
    entry.rows = total.rows;
    return entry;
  }
  // Nothing is heard of what is under way, or everything has arrived, more is there, and no credit comes: the note that
  // said so may be lost.
  // What the link has not let go of cannot have arrived.
  const bool is_leaving = arrived_ != next_ && flights_[slot_of(arrived_)].puts > 0;
  if (is_leaving || (arrived_ == next_ && !is_held_back())) {
    is_asking_ = false;
    return std::nullopt;
  }
  if (!is_asking_) {
    is_asking_ = true;
    ask_at_ = now + kAgainS;
    // Among thousands of flows a frame waits for its turn at a NIC, and a question before it can be there is one more
    // note each way.
    if (arrived_ != next_) {
      const Flight& oldest = flights_[slot_of(arrived_)];
      ask_at_ = std::max(ask_at_, oldest.sent_at + oldest.overtaken_s);
    }
    asks_ = 0;
  }
  if (now < ask_at_) return std::nullopt;
  entry.kind = NoteKind::kAsk;
  return entry;
}

// Repeated less and less often: who does not answer may be slow, or have nothing new to say.
void OutgoingFlow::noted(NoteKind kind, double now) {
  int& times = kind == NoteKind::kTotal ? totals_ : asks_;
  double& at = kind == NoteKind::kTotal ? total_at_ : ask_at_;
  at = now + std::ldexp(kAgainS, std::min(times, kNoteDoublingsMax));
  ++times;
}

bool OutgoingFlow::has_work(double now) {
  if (again_ > 0 || look_at_ <= now || fresh() != nullptr) return true;
  if (rings::total_of(moved_.flow).is_known && !is_total_seen_)
    return totals_ == 0 || now >= total_at_;
  return is_asking_ && now >= ask_at_;
}

double OutgoingFlow::unknown_since(double now) {
  if (unknown_since_ < 0) unknown_since_ = now;
  return unknown_since_;
}

double OutgoingFlow::next_due_s() const {
  const double total_at = totals_ > 0 && !is_total_seen_ ? total_at_ : kNever;
  return std::min({look_at_, total_at, is_asking_ ? ask_at_ : kNever});
}

std::string OutgoingFlow::state() const {
  const rings::FlowTotal total = rings::total_of(moved_.flow);
  return fmt::format(
      "out {}:{}:{} to rank {}: next {} arrived {} recycled {} remote head {} again {}{}",
      moved_.id.channel,
      moved_.id.source,
      moved_.id.outlet,
      moved_.peer,
      next_,
      arrived_,
      recycled_,
      remote_head_,
      again_,
      total.is_known ? fmt::format(" of {}{}", total.segments, is_total_seen_ ? " (seen)" : "")
                     : std::string());
}

}  // namespace crossdock::movers
