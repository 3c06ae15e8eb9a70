#include "data/sorters/row_sorter.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "data/rings/atomic.hpp"
#include "data/sorters/list_rows.hpp"

namespace crossdock::sorters {
namespace {

// A block's columns and lists share a quarter of a megabyte, and leave the rest of a second-level cache to segments.
constexpr uint64_t kBlockBytes = uint64_t{256} << 10;
constexpr uint64_t kBlockRowsMin = 4096;
constexpr uint64_t kBlockRowsMax = 65536;
// Of a block and an outlet, on average: a run pays for a few atomics and for calls per column.
constexpr uint64_t kRunRowsMin = 64;

// Each failed attempt is the success of another sorter.
constexpr int kAttempts = 64;

// All rows have the same outlet; there is one at least. Ends at the first that has another.
bool go_together(const std::vector<uint16_t>& outlets) {
  constexpr size_t kCompared = 1024;  // compared without branches
  for (size_t begin = 0; begin < outlets.size(); begin += kCompared) {
    const size_t end = std::min(begin + kCompared, outlets.size());
    uint16_t difference = 0;
    for (size_t i = begin; i < end; ++i) difference |= outlets[i] ^ outlets.front();
    if (difference != 0) return false;
  }
  return !outlets.empty();
}

// Every slot has a segment, and the last of them takes no rows any more.
bool is_full(const rings::Ring& ring) {
  using Word = rings::StdAtomic<uint64_t, rings::Scope::kSystem>;
  using Fields = rings::CpuRingTraits::Word;
  const uint64_t head = Word(*ring.head).load(rings::Acquire{});
  const uint64_t tail = Word(*ring.tail).load(rings::Acquire{});
  if (tail < head + ring.slots()) return false;
  const uint64_t last = Word(ring.word(ring.slot_of(tail - 1))).load(rings::Relaxed{});
  const uint64_t lap = Fields::generation_at(tail - 1, ring.shape.slot_bits);
  return Fields::generation(last) == lap && Fields::is_closed(last);
}

}  // namespace

struct RowSorter::Rows {
  const uint32_t* list = nullptr;  // null: rows first, first + 1, …
  uint32_t first = 0;
  uint32_t count = 0;

  uint32_t operator[](uint32_t i) const { return list != nullptr ? list[i] : first + i; }
  Rows from(uint32_t i) const {
    return {list != nullptr ? list + i : nullptr, first + i, count - i};
  }
};

class RowSorter::Listing {
 public:
  Listing(uint32_t block_rows, size_t outlets)
      : lists(block_rows, static_cast<int>(outlets)), waiting(outlets) {}

  // Rows of an outlet whose ring was full.
  struct Waiting {
    std::vector<uint32_t> rows;
    uint32_t done = 0;

    bool is_empty() const { return done == rows.size(); }
  };

  RowLists lists;
  std::vector<Waiting> waiting;     // by outlet
  std::vector<uint16_t> who_waits;  // outlets with rows there, in any order

  void add(uint16_t outlet, std::span<const uint32_t> rows) {
    Waiting& queued = waiting[outlet];
    if (queued.is_empty()) {
      who_waits.push_back(outlet);
      queued.rows.clear();
      queued.done = 0;
    }
    queued.rows.insert(queued.rows.end(), rows.begin(), rows.end());
  }
};

uint32_t RowSorter::block_rows(const segments::RowLayout& layout, size_t outlets) {
  const rings::SegmentLayout& segments = layout.segments();
  const uint64_t row_bytes =
      segments.bytes / segments.rows_max + sizeof(uint32_t) + sizeof(uint16_t);
  const uint64_t rows = std::max({kBlockBytes / row_bytes, kBlockRowsMin, outlets * kRunRowsMin});
  return static_cast<uint32_t>(std::min(rows, kBlockRowsMax));
}

RowSorter::RowSorter(std::shared_ptr<const segments::RowLayout> layout,
                     std::span<const rings::Ring> rings,
                     std::vector<trace::SegmentNote> traced)
    : layout_(std::move(layout)),
      filler_(layout_),
      rings_(rings.begin(), rings.end()),
      producers_(rings.begin(), rings.end()),
      rows_of_(rings.size()),
      traced_(std::move(traced)),
      sent_(rings.size()) {
  CD_CHECK(!rings.empty() && rings.size() <= 65536, "{} rings", rings.size());
  CD_CHECK(traced_.empty() || traced_.size() == rings.size(), "{} names", traced_.size());
}

RowSorter::RowSorter(RowSorter&&) noexcept = default;
RowSorter::~RowSorter() = default;

Status RowSorter::accept(Batch batch,
                         std::span<const uint16_t> outlets,
                         std::span<const uint16_t> destinations) {
  CD_CHECK(pending_rows_ == 0, "a batch is given while {} rows are pending", pending_rows_);
  const bool is_broadcast = outlets.empty();
  if (!is_broadcast && outlets.size() != static_cast<size_t>(batch.rows)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} outlets are given for {} rows; every row has one",
                      outlets.size(),
                      batch.rows);
  }
  destinations_.assign(destinations.begin(), destinations.end());
  CD_TRY(filler_.set_batch(batch, destinations_));
  outlets_.assign(outlets.begin(), outlets.end());
  batch_ = std::move(batch);
  next_row_ = 0;
  std::fill(sent_.begin(), sent_.end(), 0);
  const bool is_whole = is_broadcast || go_together(outlets_);
  whole_begin_ = is_broadcast || !is_whole ? 0 : outlets_.front();
  whole_end_ = is_broadcast ? producers_.size() : whole_begin_ + (is_whole ? 1 : 0);
  CD_CHECK(whole_end_ <= producers_.size(), "outlet {} of {}", whole_begin_, producers_.size());
  pending_rows_ = batch_.rows * (is_whole ? static_cast<int64_t>(whole_end_ - whole_begin_) : 1);
  if (pending_rows_ == 0) forget_batch();
  if (!is_whole && listing_ == nullptr) {
    listing_ =
        std::make_unique<Listing>(block_rows(*layout_, producers_.size()), producers_.size());
  }
  return {};
}

void RowSorter::forget_batch() {
  batch_ = {};
  outlets_.clear();
}

bool RowSorter::push(std::vector<uint16_t>& published) {
  if (pending_rows_ == 0) return false;
  const int64_t before = pending_rows_;
  if (whole_begin_ != whole_end_) {
    move_whole(published);
  } else {
    move_waiting(published);
    // Once every ring is full, the rest is listed when there is room: while it is read it is in the cache then.
    while (next_row_ < batch_.rows && listing_->who_waits.size() < producers_.size()) {
      move_block(published);
    }
  }
  const bool has_moved = pending_rows_ != before;
  if (pending_rows_ == 0) forget_batch();
  return has_moved;
}

bool RowSorter::may_move() const {
  if (pending_rows_ == 0) return false;
  const auto has_room = [this](size_t outlet) { return !is_full(rings_[outlet]); };
  if (whole_begin_ == whole_end_) return std::ranges::any_of(listing_->who_waits, has_room);
  for (size_t outlet = whole_begin_; outlet < whole_end_; ++outlet) {
    if (sent_[outlet] < batch_.rows && has_room(outlet)) return true;
  }
  return false;
}

void RowSorter::list_full(std::vector<uint16_t>& outlets) const {
  if (pending_rows_ == 0) return;
  if (whole_begin_ == whole_end_) {
    outlets.insert(outlets.end(), listing_->who_waits.begin(), listing_->who_waits.end());
    return;
  }
  for (size_t outlet = whole_begin_; outlet < whole_end_; ++outlet) {
    if (sent_[outlet] < batch_.rows) outlets.push_back(static_cast<uint16_t>(outlet));
  }
}

void RowSorter::move_whole(std::vector<uint16_t>& published) {
  const auto rows = static_cast<uint32_t>(batch_.rows);
  for (size_t outlet = whole_begin_; outlet < whole_end_; ++outlet) {
    const uint32_t sent = sent_[outlet];
    sent_[outlet] += move(static_cast<uint16_t>(outlet), {nullptr, sent, rows - sent}, published);
  }
}

void RowSorter::move_waiting(std::vector<uint16_t>& published) {
  auto& who = listing_->who_waits;
  size_t kept = 0;
  for (const uint16_t outlet : who) {
    Listing::Waiting& queued = listing_->waiting[outlet];
    const auto left = static_cast<uint32_t>(queued.rows.size()) - queued.done;
    queued.done += move(outlet, {queued.rows.data() + queued.done, 0, left}, published);
    if (!queued.is_empty()) who[kept++] = outlet;
  }
  who.resize(kept);
}

void RowSorter::move_block(std::vector<uint16_t>& published) {
  RowLists& lists = listing_->lists;
  const int64_t count = std::min<int64_t>(lists.block_rows(), batch_.rows - next_row_);
  const auto block = std::span<const uint16_t>(outlets_).subspan(static_cast<size_t>(next_row_),
                                                                 static_cast<size_t>(count));
  lists.list(block, static_cast<uint32_t>(next_row_));
  for (size_t o = 0; o < producers_.size(); ++o) {
    const auto outlet = static_cast<uint16_t>(o);
    const std::span<const uint32_t> rows = lists.rows_of(outlet);
    if (rows.empty()) continue;
    uint32_t moved = 0;
    if (listing_->waiting[outlet].is_empty()) {
      moved = move(outlet, {rows.data(), 0, static_cast<uint32_t>(rows.size())}, published);
    }
    if (moved < rows.size()) listing_->add(outlet, rows.subspan(moved));
  }
  next_row_ += count;
}

// Rows of a call may lie in several segments. Answers how many of the first ones are in.
uint32_t RowSorter::move(uint16_t outlet, const Rows& rows, std::vector<uint16_t>& published) {
  uint32_t moved = 0;
  while (moved < rows.count) {
    const uint32_t some = move_some(outlet, rows.from(moved), published);
    if (some == 0) break;
    moved += some;
  }
  rows_of_[outlet] += moved;
  pending_rows_ -= moved;
  return moved;
}

// As many as the segment being filled has room for; 0 if the ring is full.
uint32_t RowSorter::move_some(uint16_t outlet, const Rows& rows, std::vector<uint16_t>& published) {
  auto& producer = producers_[outlet];
  const rings::Ticket ticket =
      layout_->has_strings() ? take_strings(outlet, rows, published) : producer.reserve(rows.count);
  if (ticket.rows == 0) return 0;
  if (rows.list != nullptr) {
    filler_.fill(producer.segment(ticket), ticket, {rows.list, ticket.rows});
  } else {
    filler_.fill_run(producer.segment(ticket), ticket, rows.first);
  }
  if (producer.commit(ticket)) add_published(outlet, published);
  return ticket.rows;
}

void RowSorter::add_published(uint16_t outlet, std::vector<uint16_t>& published) const {
  published.push_back(outlet);
  if (!trace::SegmentTrace::is_on() || traced_.empty()) return;
  trace::SegmentNote note = traced_[outlet];
  note.sequence = producers_[outlet].published();
  trace::SegmentTrace::note(note);
}

// Rows of which the strings fit, too: the longest prefix.
rings::Ticket RowSorter::take_strings(uint16_t outlet,
                                      const Rows& rows,
                                      std::vector<uint16_t>& published) {
  auto& producer = producers_[outlet];
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const rings::Room room = producer.offer();
    if (room.rows == 0) return {};
    const uint32_t rows_max = std::min(room.rows, rows.count);
    uint32_t count = 0;
    uint64_t heap_bytes = 0;
    for (; count < rows_max; ++count) {
      const uint64_t more = heap_bytes + filler_.heap_bytes_of(rows[count]);
      if (more > room.heap_bytes) break;
      heap_bytes = more;
    }
    if (count == 0) {
      const rings::Seal seal = producer.pass_on(1, filler_.heap_bytes_of(rows[0]));
      if (seal == rings::Seal::kPublished) add_published(outlet, published);
      continue;
    }
    const rings::Ticket ticket = producer.take(count, heap_bytes);
    if (ticket.rows != 0) return ticket;
  }
  return {};
}

void RowSorter::seal(std::vector<uint16_t>& published) {
  for (size_t outlet = 0; outlet < producers_.size(); ++outlet) {
    if (producers_[outlet].seal() == rings::Seal::kPublished) {
      add_published(static_cast<uint16_t>(outlet), published);
    }
  }
}

}  // namespace crossdock::sorters
