// The public ends of a channel: Arrow arrays become batches and back, and calls that wait, with a drain.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "data/channels/sent_part.hpp"
#include "session/group_state.hpp"
#include "table/arrow_export.hpp"
#include "table/arrow_import.hpp"
#include "table/copy_rows.hpp"
#include "table/validate.hpp"

namespace crossdock {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::microseconds;

constexpr double kNapS = 0.01;
// Who has a drain looks again soon: what arrives for it makes no room here before it is taken.
constexpr double kNapWithDrainS = 50e-6;
// Segments of one drain, after which it is the sender's turn.
constexpr int kSegmentsPerKeep = 16;

Microseconds microseconds(double s) {
  constexpr double kLongestS = 3e7;  // about a year, which the clock can count
  return std::chrono::duration_cast<Microseconds>(
      std::chrono::duration<double>(std::clamp(s, 0.0, kLongestS)));
}

// The array is released, now or by the batch.
Batch batch_of(ArrowArray* rows, const SchemaPtr& schema) {
  Batch batch = value_or_throw(import_batch(rows, schema));
  for (size_t at = 0; at < batch.columns.size(); ++at) {
    ColumnView& column = batch.columns[at];
    column.longest_text = value_or_throw(validate_column(schema->fields[at], column));
  }
  return batch;
}

// Which columns of `sent` are those of the channel, in its order.
std::vector<int> columns_of(const Schema& sent, const Schema& channel) {
  std::vector<int> columns;
  for (const Field& field : channel.fields) {
    columns.push_back(value_or_throw(sent.find(field.name, "the rows that are sent")));
  }
  if (sent.fields.size() == channel.fields.size()) return columns;
  for (const Field& field : sent.fields) value_or_throw(channel.find(field.name, "the channel"));
  return columns;
}

}  // namespace

struct RowSender::State {
  std::shared_ptr<RowChannel::State> of;
  std::unique_ptr<channels::Sender> sender;

  const SchemaPtr& schema() const { return of->channel->layout().schema(); }

  bool offer(const Batch& rows, int to) {
    if (rows.rows == 0) return true;
    return value_or_throw(to < 0 ? sender->send(rows) : sender->send_to(rows, to)) > 0;
  }

  template <class IsDone>
  void keep_trying(const Drain& drain, IsDone is_done) {
    while (!is_done()) {
      if (drain) drain();
      sender->wait(microseconds(drain ? kNapWithDrainS : kNapS));
    }
  }

  void send_all(const Batch& rows, const SendOptions& options) {
    for (int64_t begin = 0; begin < rows.rows; begin += channels::kRowsPerSend) {
      const Batch part = channels::sent_part(rows, begin);
      keep_trying(options.drain, [&] { return offer(part, options.to); });
    }
  }
};

RowSender::RowSender(std::unique_ptr<State> state) : state_(std::move(state)) {}
RowSender::RowSender(RowSender&&) noexcept = default;
RowSender& RowSender::operator=(RowSender&&) noexcept = default;
RowSender::~RowSender() = default;

bool RowSender::try_send(ArrowArray* rows, int to) {
  // Asked before the array is taken: a batch that was refused could not be given back as it was.
  const Result<bool> has_room = state_->sender->advance();
  if (has_room.ok() && !has_room.value()) {
    state_->of->refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const Batch batch = batch_of(rows, state_->schema());
  value_or_throw(has_room);
  const bool is_taken = state_->offer(batch, to);
  CD_CHECK(is_taken, "{} rows were refused by a sender that had room", batch.rows);
  return true;
}

bool RowSender::advance() { return value_or_throw(state_->sender->advance()); }
void RowSender::flush_begin() { ok_or_throw(state_->sender->flush_begin()); }
bool RowSender::flush_done() { return value_or_throw(state_->sender->flush_done()); }
void RowSender::wait(double at_most_s) const { state_->sender->wait(microseconds(at_most_s)); }

void RowSender::send(ArrowArray* rows, const SendOptions& options) {
  state_->send_all(batch_of(rows, state_->schema()), options);
}

void RowSender::send(const ArrowTable& rows, const SendOptions& options) {
  const Table& table = *rows.state()->table;
  const std::vector<int> columns = columns_of(*table.schema, *state_->schema());
  auto chosen = std::make_shared<Schema>();
  for (const int column : columns) chosen->fields.push_back(table.schema->fields[column]);
  for (const Batch& batch : table.batches) {
    Batch sent{chosen, batch.rows, {}, batch.owner};
    for (const int column : columns) sent.columns.push_back(batch.columns[column]);
    state_->send_all(sent, options);
  }
}

void RowSender::flush(const Drain& drain) {
  flush_begin();
  state_->keep_trying(drain, [this] { return flush_done(); });
}

struct ReceivedRows::State {
  Batch rows;
};

void ReceivedRows::export_array(ArrowArray* out) const {
  if (state_ == nullptr) {
    throw_error(
        make_error(ErrorCode::kInvalidArgument,
                   "there are no rows to export\n  try      only if recv has answered true"));
  }
  export_batch(state_->rows, out);
}

struct RowReceiver::State {
  std::shared_ptr<RowChannel::State> of;
  std::unique_ptr<channels::Receiver> receiver;
  SchemaPtr kept_schema;
  channels::Received taken{};  // rows that could not be kept, for want of memory
  std::vector<Batch> kept{};
  bool is_ended = false;

  // Rows that could not be kept come first.
  void take() {
    if (taken.kind == channels::Received::Kind::kRows) return;
    taken = value_or_throw(receiver->recv());
    is_ended = taken.kind == channels::Received::Kind::kEnd;
  }
};

RowReceiver::RowReceiver(std::unique_ptr<State> state) : state_(std::move(state)) {}
RowReceiver::RowReceiver(RowReceiver&&) noexcept = default;
RowReceiver& RowReceiver::operator=(RowReceiver&&) noexcept = default;
RowReceiver::~RowReceiver() = default;

bool RowReceiver::recv(ReceivedRows& rows, double wait_s) {
  rows = {};  // its segment may be the one that a source waits for
  const Clock::time_point end = Clock::now() + microseconds(wait_s);
  const bool is_endless = wait_s == std::numeric_limits<double>::infinity();
  while (true) {
    state_->take();
    if (state_->taken.kind == channels::Received::Kind::kRows) {
      channels::Received taken = std::exchange(state_->taken, {});
      rows.rows_ = taken.rows.rows;
      rows.source_ = taken.source;
      rows.state_ =
          std::make_shared<ReceivedRows::State>(ReceivedRows::State{std::move(taken.rows)});
      return true;
    }
    const Clock::time_point now = Clock::now();
    if (state_->is_ended || (!is_endless && now >= end)) return false;
    const double left_s = std::chrono::duration<double>(end - now).count();
    wait(is_endless ? kNapS : std::min(kNapS, left_s));
  }
}

bool RowReceiver::ended() const { return state_->is_ended; }

void RowReceiver::wait(double at_most_s) const { state_->receiver->wait(microseconds(at_most_s)); }

void RowReceiver::export_schema(ArrowSchema* out) const {
  crossdock::export_schema(*state_->of->channel->layout().received_schema(), out);
}

bool RowReceiver::keep() {
  Memory& memory = *state_->of->group->engine->memory;
  for (int segments = 0; segments < kSegmentsPerKeep; ++segments) {
    state_->take();
    if (state_->taken.kind != channels::Received::Kind::kRows) return segments > 0;
    state_->kept.push_back(
        value_or_throw(copy_rows(state_->taken.rows, state_->kept_schema, memory)));
    state_->taken = {};
  }
  return true;
}

ArrowTable RowReceiver::collect() {
  while (!state_->is_ended) {
    if (!keep() && !state_->is_ended) wait(kNapS);
  }
  auto table = std::make_shared<Table>();
  table->schema = state_->kept_schema;
  table->batches = std::exchange(state_->kept, {});
  for (const Batch& batch : table->batches) table->rows += batch.rows;
  auto state = std::make_shared<ArrowTable::State>();
  state->table = std::move(table);
  return ArrowTable(std::move(state));
}

std::vector<int> RowChannel::own_sources() const { return state_->own_sources; }
std::vector<int> RowChannel::own_destinations() const { return state_->own_destinations; }

RowSender RowChannel::open_sender(int source) const {
  auto sender = value_or_throw(state_->channel->open_sender(source));
  return RowSender(std::make_unique<RowSender::State>(RowSender::State{state_, std::move(sender)}));
}

RowReceiver RowChannel::open_receiver(int destination) const {
  auto receiver = value_or_throw(state_->channel->open_receiver(destination));
  SchemaPtr kept = without_dictionaries(*state_->channel->layout().schema());
  return RowReceiver(std::make_unique<RowReceiver::State>(
      RowReceiver::State{state_, std::move(receiver), std::move(kept)}));
}

void RowChannel::close(const std::string& cause) const {
  state_->channel->close(Error{ErrorCode::kChannelClosed, cause});
}

RowChannel::Counters RowChannel::counters() const {
  const channels::ChannelCounters counted = state_->channel->counters();
  Counters counters;
  counters.refused =
      static_cast<int64_t>(counted.refused) + state_->refused.load(std::memory_order_relaxed);
  for (const channels::FlowCounters& flow : counted.flows) {
    counters.flows.push_back({flow.source,
                              flow.outlet,
                              static_cast<int64_t>(flow.published),
                              static_cast<int64_t>(flow.recycled),
                              static_cast<int64_t>(flow.rows_sent),
                              static_cast<int64_t>(flow.rows_taken)});
  }
  return counters;
}

int64_t RowChannel::memory_bytes() const { return state_->channel->memory_bytes(); }

}  // namespace crossdock
