// The pool of windows: which one all ranks take is decided by each of them alone, from what all have said.
#include <algorithm>
#include <bit>
#include <exception>
#include <limits>

#include "data/ranks/communicator.hpp"
#include "data/ranks/window_slot.hpp"

namespace crossdock::ranks {
namespace {

constexpr size_t kSlotsMax = 1024;   // MPICH has numbers for some 2,000 windows and communicators
constexpr size_t kWordBits = 64;     // in which a rank tells which slots it does not use
constexpr int kIdleMax = 8;          // more than this many make room for a new one
constexpr int64_t kWasteFactor = 2;  // a window of the pool may be this much too large
constexpr int64_t kPageBytes = 1 << 12;

// Sizes that are almost alike share a window: an eighth of the power of two below.
int64_t room_for(int64_t bytes) {
  if (bytes == 0) return 0;
  const auto power = int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes)) - 1);
  const int64_t step = std::max(kPageBytes, power / 8);
  return bytes > std::numeric_limits<int64_t>::max() - step ? bytes
                                                            : (bytes + step - 1) / step * step;
}

// The largest number if it would be more.
int64_t sum_of(const std::vector<int64_t>& values) {
  int64_t sum = 0;
  for (const int64_t value : values) {
    if (__builtin_add_overflow(sum, value, &sum)) return std::numeric_limits<int64_t>::max();
  }
  return sum;
}

}  // namespace

struct Communicator::WindowRequest {
  std::vector<int64_t> bytes;  // by rank
  std::shared_ptr<Memory> memory;
  std::string_view who;
};

Communicator::Communicator() : exceptions_(std::uncaught_exceptions()) {}

Communicator::~Communicator() = default;

void Communicator::leave() {
  for (const std::shared_ptr<WindowSlot>& slot : slots_) {
    if (slot != nullptr) slot->window->communicator_ = nullptr;
  }
  if (std::uncaught_exceptions() <= exceptions_) return;
  give_up(make_error(ErrorCode::kAgentLost, "it left by an exception; its own output says which"));
}

// All sizes, and the slots that are not used in any rank. All ranks have as many slots.
Result<std::vector<bool>> Communicator::idle_in_all(WindowRequest& request) {
  const size_t words = std::max<size_t>(1, (slots_.size() + kWordBits - 1) / kWordBits);
  std::vector<uint64_t> idle(words);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i] == nullptr || slots_[i]->is_used.load(std::memory_order_acquire)) continue;
    Window& window = *slots_[i]->window;
    // Who dropped it could not flush it: its puts must not come into the next use.
    const Status flushed = window.has_put_.exchange(false) ? window.flush_all_far() : Status();
    if (!flushed.ok()) {
      give_up(flushed.error());
      return flushed.error();
    }
    idle[i / kWordBits] |= uint64_t{1} << i % kWordBits;
  }
  std::vector<int64_t> mine{request.bytes[static_cast<size_t>(rank())]};
  for (const uint64_t word : idle) mine.push_back(static_cast<int64_t>(word));
  CD_ASSIGN(const std::vector<int64_t> all, all_gather(mine));
  for (size_t rank = 0; rank < request.bytes.size(); ++rank) {
    const int64_t* const theirs = all.data() + rank * mine.size();
    request.bytes[rank] = theirs[0];
    for (size_t w = 0; w < words; ++w) idle[w] &= static_cast<uint64_t>(theirs[1 + w]);
  }
  std::vector<bool> idle_slots(slots_.size());
  for (size_t i = 0; i < idle_slots.size(); ++i)
    idle_slots[i] = (idle[i / kWordBits] >> i % kWordBits & 1) != 0;
  return idle_slots;
}

std::shared_ptr<WindowSlot> Communicator::find_slot(const WindowRequest& request,
                                                    const std::vector<bool>& idle) const {
  const int64_t asked = sum_of(request.bytes);
  std::shared_ptr<WindowSlot> best;
  int64_t found_bytes = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!idle[i]) continue;
    const int64_t bytes = sum_of(slots_[i]->room_bytes);
    const bool fits =
        std::ranges::equal(request.bytes, slots_[i]->room_bytes, std::less_equal<int64_t>());
    const bool wastes = (bytes - size() * kPageBytes) / kWasteFactor > asked;
    if (!fits || wastes || (best != nullptr && bytes >= found_bytes)) continue;
    best = slots_[i];
    found_bytes = bytes;
  }
  return best;
}

Status Communicator::charge(WindowSlot& slot, const WindowRequest& request) const {
  const int64_t bytes = slot.room_bytes[static_cast<size_t>(rank())];
  slot.charged.reset();
  if (bytes == 0) return {};
  CD_ASSIGN(slot.charged, request.memory->charge(bytes, request.who));
  return {};
}

void Communicator::drop_slots(const std::vector<bool>& which) {
  for (size_t i = 0; i < which.size(); ++i) {
    if (!which[i]) continue;
    close_window(*slots_[i]->window);
    slots_[i].reset();
  }
}

Result<std::shared_ptr<WindowSlot>> Communicator::make_slot(const WindowRequest& request) {
  const auto place = std::ranges::find(slots_, nullptr);
  if (place == slots_.end() && slots_.size() == kSlotsMax) {
    return make_error(ErrorCode::kOutOfMemoryBudget,
                      "\"{}\" needs a window, and all {} are in use; drop some",
                      request.who,
                      kSlotsMax);
  }
  const auto slot = std::make_shared<WindowSlot>();
  for (const int64_t bytes : request.bytes) slot->room_bytes.push_back(room_for(bytes));
  CD_TRY(agree(charge(*slot, request)));
  Result<std::shared_ptr<Window>> new_window = make_window(slot->room_bytes);
  CD_TRY(agree(new_window.ok() ? Status() : Status(new_window.error())));
  slot->window = std::move(new_window.value());
  slot->window->communicator_ = this;
  slot->window->puts_ = puts_;
  if (place == slots_.end()) {
    slots_.push_back(slot);
  } else {
    *place = slot;
  }
  return slot;
}

std::shared_ptr<Window> Communicator::hand_out(const std::shared_ptr<WindowSlot>& slot,
                                               const WindowRequest& request) {
  slot->window->bytes_of_ = request.bytes;
  slot->is_used.store(true, std::memory_order_relaxed);
  return {slot->window.get(), [slot](Window* window) {
            window->settle();
            slot->is_used.store(false, std::memory_order_release);
          }};
}

Result<std::shared_ptr<Window>> Communicator::open_window(int64_t bytes,
                                                          const std::shared_ptr<Memory>& memory,
                                                          std::string_view who) {
  WindowRequest request{std::vector<int64_t>(static_cast<size_t>(size()), 0), memory, who};
  request.bytes[static_cast<size_t>(rank())] = bytes;
  CD_ASSIGN(const std::vector<bool> idle, idle_in_all(request));
  const auto idle_count = std::ranges::count(idle, true);
  if (std::shared_ptr<WindowSlot> idle_slot = find_slot(request, idle); idle_slot != nullptr) {
    if (agree(charge(*idle_slot, request)).ok()) return hand_out(idle_slot, request);
    if (over_.has_value()) return *over_;
  } else if (idle_count < kIdleMax) {
    Result<std::shared_ptr<WindowSlot>> new_slot = make_slot(request);
    if (new_slot.ok()) return hand_out(new_slot.value(), request);
    if (over_.has_value() || idle_count == 0) return new_slot.error();
  }
  // What lies in the pool makes room.
  drop_slots(idle);
  CD_ASSIGN(const std::shared_ptr<WindowSlot> new_slot, make_slot(request));
  return hand_out(new_slot, request);
}

Status Communicator::trim_windows() {
  WindowRequest nothing{std::vector<int64_t>(static_cast<size_t>(size()), 0), nullptr, ""};
  CD_ASSIGN(const std::vector<bool> idle, idle_in_all(nothing));
  drop_slots(idle);
  return {};
}

Status Communicator::agree_with_room(const std::function<Status()>& step) {
  const Status first = step();
  const Status agreed = agree(first);
  if (agreed.ok() || over_.has_value()) return agreed;
  const bool lacks_room_only = first.ok() || first.error().code == ErrorCode::kOutOfMemoryBudget;
  CD_ASSIGN(const int64_t all, fold(int64_t{lacks_room_only}, Fold::kMin));
  if (all == 0) return agreed;
  CD_TRY(trim_windows());
  return agree(step());
}

}  // namespace crossdock::ranks
