// Sends, flushes and receives that wait, without the GIL and with an eye on signals.
#include <algorithm>
#include <utility>

#include "bindings/channels.hpp"
#include "bindings/results.hpp"
#include "data/channels/sent_part.hpp"
#include "data/segments/row_layout.hpp"
#include "table/copy_rows.hpp"

namespace crossdock::python {
namespace {

constexpr std::chrono::milliseconds kSignalsEvery{50};
constexpr std::chrono::microseconds kNap{5000};
// While a sender waits for room and a receiver for rows, one bell is slept on and the other looked at.
constexpr std::chrono::microseconds kShortNap{200};

void raise_if(const Status& status) {
  if (!status.ok()) raise_error(status.error());
}

// Called without the GIL; raises what the handler of a signal does.
void raise_if_interrupted() {
  std::optional<nb::python_error> interruption;
  {
    const GilHold held;
    if (PyErr_CheckSignals() != 0) interruption.emplace();
  }
  if (interruption.has_value()) throw std::move(*interruption);
}

}  // namespace

ChannelObject::ChannelObject(std::shared_ptr<GroupObject> group,
                             std::shared_ptr<channels::Channel> channel,
                             std::unique_ptr<channels::Sender> sender,
                             std::unique_ptr<channels::Receiver> receiver)
    : group_(std::move(group)),
      schema_(channel->layout().schema()),
      received_(without_dictionaries(*schema_)),
      channel_(std::move(channel)),
      sender_(std::move(sender)),
      receiver_(std::move(receiver)),
      is_source_(sender_ != nullptr),
      is_destination_(receiver_ != nullptr) {}

ChannelObject::~ChannelObject() {
  // Buffers of Python may be released here: their owners take the GIL for that.
  const GilRelease released;
  taken_ = {};
  sender_.reset();
  receiver_.reset();
  channel_.reset();
}

// Before any lock, which a thread of the other process may have held when this one was made.
void ChannelObject::raise_if_copy() const { raise_if(home_.check("the channel")); }

// Acts in this object's turn. The GIL is given up before the lock is taken, or who has the lock could wait for it.
template <class Value, class Act>
Value ChannelObject::alone(const Act& act) {
  raise_if_copy();
  const GilRelease released;
  std::unique_lock lock(turn_, std::defer_lock);
  while (!lock.try_lock_for(kSignalsEvery)) raise_if_interrupted();
  return act();
}

std::shared_ptr<channels::Channel> ChannelObject::channel() const {
  const std::scoped_lock lock(channel_mutex_);
  return channel_;
}

std::shared_ptr<channels::Channel> ChannelObject::open_channel() const {
  raise_if_copy();
  if (std::shared_ptr<channels::Channel> open = channel()) return open;
  raise_error(make_error(ErrorCode::kChannelClosed,
                         "this end of the channel is closed\n  try      another channel"));
}

bool ChannelObject::move_on() {
  if (is_source_ && !is_flushing_) value_or_raise(sender_->advance());
  if (is_source_ && is_flushing_ && !is_flushed_)
    is_flushed_ = value_or_raise(sender_->flush_done());
  if (!is_destination_ || is_ended_) return false;
  // What could not be copied the last time comes before anything else.
  if (taken_.kind != channels::Received::Kind::kRows) taken_ = value_or_raise(receiver_->recv());
  if (taken_.kind == channels::Received::Kind::kEnd) is_ended_ = true;
  if (taken_.kind != channels::Received::Kind::kRows) return is_ended_;
  keep_rows();
  return true;
}

// Copies taken_ out of its segment, which it gives back; without memory for that it stays.
void ChannelObject::keep_rows() {
  Batch rows = value_or_raise(copy_rows(taken_.rows, received_, *group_->memory));
  kept_.push_back({std::move(rows), taken_.source});
  ++kept_count_;
  taken_ = {};
}

// Moves on until it is done; called without the GIL. A signal raises what its handler does.
void ChannelObject::wait_until(const std::function<bool()>& is_done) {
  Clock::time_point next_look = Clock::now() + kSignalsEvery;
  while (!is_done()) {
    if (!move_on() && !is_done()) {
      const bool sends = is_source_ && !is_flushed_;
      if (is_destination_ && !is_ended_) {
        receiver_->wait(sends ? kShortNap : kNap);
      } else if (sends) {
        sender_->wait(kNap);
      }
    }
    if (Clock::now() < next_look) continue;
    next_look = Clock::now() + kSignalsEvery;
    raise_if_interrupted();
  }
}

bool ChannelObject::offer(const Batch& rows, int to) {
  const int64_t taken = value_or_raise(to >= 0 ? sender_->send_to(rows, to) : sender_->send(rows));
  return taken > 0 || rows.rows == 0;
}

void ChannelObject::send(const Batch& rows, int to) {
  alone<void>([&] {
    open_channel();
    for (int64_t begin = 0; begin < rows.rows; begin += channels::kRowsPerSend) {
      const Batch part = channels::sent_part(rows, begin);
      bool is_taken = false;
      wait_until([&] {
        is_taken = is_taken || offer(part, to);
        return is_taken;
      });
    }
  });
}

bool ChannelObject::try_send(const Batch& rows, int to) {
  return alone<bool>([&] {
    open_channel();
    return offer(rows, to);
  });
}

bool ChannelObject::has_flushed() {
  if (!is_source_) return true;
  if (!is_flushing_) {
    raise_if(sender_->flush_begin());
    is_flushing_ = true;
  }
  return is_flushed_;
}

void ChannelObject::flush() {
  alone<void>([&] {
    open_channel();
    wait_until([this] { return has_flushed(); });
  });
}

std::optional<KeptRows> ChannelObject::recv(double wait_s) {
  return alone<std::optional<KeptRows>>([&]() -> std::optional<KeptRows> {
    open_channel();
    const bool is_endless = wait_s < 0;
    // Longer than a year is for ever, and would not fit the clock.
    const auto at_most = std::chrono::duration<double>(std::clamp(wait_s, 0.0, 3e7));
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(at_most);
    if (kept_.empty() && !is_ended_) move_on();
    if (wait_s != 0) {
      wait_until(
          [&] { return !kept_.empty() || is_ended_ || (!is_endless && Clock::now() >= end); });
    }
    if (kept_.empty()) return std::nullopt;
    KeptRows rows = std::move(kept_.front());
    kept_.pop_front();
    --kept_count_;
    return rows;
  });
}

void ChannelObject::drop_ends() {
  taken_ = {};
  sender_.reset();
  receiver_.reset();
  kept_.clear();
  kept_count_ = 0;
}

void ChannelObject::close(const std::string& cause) {
  if (!home_.is_here()) {
    const GilRelease released;
    drop_ends();
    channel_.reset();
    return;
  }
  {
    // Who has the turn may wait for rows that never come: that ends first.
    const GilRelease released;
    const std::shared_ptr<channels::Channel> open = channel();
    if (open == nullptr) return;
    const bool is_through = is_flushed() && (!is_destination_ || is_ended_);
    if (!is_through) open->close(Error{ErrorCode::kChannelClosed, cause});
  }
  alone<void>([&] {
    drop_ends();
    std::shared_ptr<channels::Channel>
        last;  // dropped without the lock, since that may take a while
    const std::scoped_lock lock(channel_mutex_);
    last.swap(channel_);
  });
}

int64_t ChannelObject::memory_bytes() const {
  const GilRelease released;
  return open_channel()->memory_bytes();
}

uint64_t ChannelObject::id() const { return open_channel()->id(); }

channels::ChannelCounters ChannelObject::counters() const {
  const GilRelease released;
  return open_channel()->counters();
}

}  // namespace crossdock::python
