#include "data/perf/block_loop.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace crossdock::perf {
namespace {

// Segments that are taken before the next send: neither side waits long for the other.
constexpr int kSegmentsPerTurn = 8;
// The other end may be just about to go on; a sleep costs more than a few looks.
constexpr int kTurnsBeforeSleep = 2;
// Who waits for rows while its own rows have no room looks after both: neither bell rings for the other. Rows come more
// often than this where there is much to do.
constexpr std::chrono::microseconds kShortSleep{1000};
constexpr std::chrono::microseconds kLongSleep{5000};

}  // namespace

BlockLoop::BlockLoop(std::unique_ptr<channels::Sender> sender,
                     const SentRows& sent,
                     std::unique_ptr<channels::Receiver> receiver,
                     const ReceiveChecks& received)
    : sender_(std::move(sender)),
      sent_(sent),
      receiver_(std::move(receiver)),
      received_(received),
      is_sent_(sender_ == nullptr),
      is_received_(receiver_ == nullptr) {}

Status BlockLoop::run(const CancelFlag& cancel) {
  while (!is_sent_ || !is_received_) {
    if (cancel.is_set()) return make_error(ErrorCode::kCancelled, "the measurement was cancelled");
    bool moved = false;
    if (!is_sent_) {
      CD_ASSIGN(moved, send_some());
    }
    if (!is_received_) {
      CD_ASSIGN(const bool received, receive_some());
      moved = moved || received;
    }
    if (moved) {
      idle_turns_ = 0;
    } else {
      wait();
    }
  }
  return {};
}

Batch BlockLoop::next_batch() const {
  const Batch& table = *sent_.table;
  const int64_t first = sent_.begin % table.rows;
  Batch batch;
  batch.schema = table.schema;
  batch.rows = std::min({sent_.batch_rows, table.rows - first, sent_.end - sent_.begin});
  for (const ColumnView& column : table.columns) {
    batch.columns.push_back(slice(column, first, batch.rows));
    batch.columns.back().null_count = 0;
  }
  batch.owner = table.owner;
  return batch;
}

Result<bool> BlockLoop::send_some() {
  if (!is_flushing_ && sent_.begin < sent_.end) {
    const Batch batch = next_batch();
    const bool is_named = sent_.destination >= 0;
    CD_ASSIGN(const int64_t taken,
              is_named ? sender_->send_to(batch, sent_.destination) : sender_->send(batch));
    sent_.begin += taken;
    return taken > 0;
  }
  if (!is_flushing_) {
    CD_TRY(sender_->flush_begin());
    is_flushing_ = true;
  }
  CD_ASSIGN(is_sent_, sender_->flush_done());
  return is_sent_;
}

Result<bool> BlockLoop::receive_some() {
  for (int i = 0; i < kSegmentsPerTurn; ++i) {
    CD_ASSIGN(const channels::Received received, receiver_->recv());
    if (received.kind == channels::Received::Kind::kEnd) {
      is_received_ = true;
      return true;
    }
    if (received.kind == channels::Received::Kind::kNothing) return i > 0;
    if (received_.made_by.empty()) {
      received_.tally->take(received.rows, 0, RowTally::kAnySource, received_.checks);
      continue;
    }
    const auto source = static_cast<size_t>(received.source);
    const int made_by = source < received_.made_by.size() ? received_.made_by[source] : -1;
    received_.tally->take(received.rows, received.source, made_by, received_.checks);
  }
  return true;
}

void BlockLoop::wait() {
  if (++idle_turns_ <= kTurnsBeforeSleep) {
    std::this_thread::yield();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  if (!is_received_) {
    receiver_->wait(is_sent_ ? kLongSleep : kShortSleep);
  } else {
    sender_->wait(kLongSleep);
  }
  waited_s_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace crossdock::perf
