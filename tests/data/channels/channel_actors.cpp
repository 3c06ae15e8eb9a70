// Steps of senders and receivers.
#include "data/channels/channel_actors.hpp"

namespace crossdock::channels {

rings::Step SendingActor::fail(const Error& error) {
  result_ = error;
  return rings::Step::kDone;
}

rings::Step SendingActor::step_of_send() {
  const int64_t before = pending();
  const Batch& batch = batches_[next_];
  const Result<int64_t> sent = send_ ? send_(*sender_, batch, next_) : sender_->send(batch);
  if (!sent.ok()) return fail(sent.error());
  if (batch.rows != 0 && sent.value() == 0) {
    return pending() == before ? rings::Step::kIdle : rings::Step::kProgress;
  }
  ++next_;
  return rings::Step::kProgress;
}

rings::Step SendingActor::step() {
  if (next_ < batches_.size()) return step_of_send();
  if (!has_begun_flush_) {
    if (const Status begun = sender_->flush_begin(); !begun.ok()) return fail(begun.error());
    has_begun_flush_ = true;
    return rings::Step::kProgress;
  }
  const int64_t before = pending();
  const Result<bool> done = sender_->flush_done();
  if (!done.ok()) return fail(done.error());
  if (done.value()) return rings::Step::kDone;
  return pending() == before ? rings::Step::kIdle : rings::Step::kProgress;
}

std::string SendingActor::state() const {
  return fmt::format("sender: batch {} of {}, {} rows pending{}",
                     next_,
                     batches_.size(),
                     pending(),
                     has_begun_flush_ ? ", flushing" : "");
}

rings::Step TakingActor::step() {
  Result<Received> got = receiver_->recv();
  if (!got.ok()) {
    result_ = got.error();
    held_.clear();
    return rings::Step::kDone;
  }
  Received& received = got.value();
  switch (received.kind) {
    case Received::Kind::kEnd:
      held_.clear();
      return rings::Step::kDone;
    case Received::Kind::kRows: {
      const auto keys = read_rows(kind_, received.rows, into_.wrong);
      into_.keys.insert(into_.keys.end(), keys.begin(), keys.end());
      held_.push_back(std::move(received.rows));
      if (held_.size() > held_max_) held_.pop_front();
      return rings::Step::kProgress;
    }
    case Received::Kind::kNothing:
      if (held_.empty()) return rings::Step::kIdle;
      held_.pop_front();
      return rings::Step::kProgress;
  }
  return rings::Step::kIdle;
}

std::string TakingActor::state() const {
  return fmt::format("receiver: {} rows taken, {} batches held", into_.keys.size(), held_.size());
}

rings::Step EndpointActor::step() {
  bool moved = false;
  if (!has_sent_) {
    const rings::Step step = sending_->step();
    moved |= step != rings::Step::kIdle;
    has_sent_ = step == rings::Step::kDone;
  }
  if (!has_taken_) {
    const rings::Step step = taking_->step();
    moved |= step != rings::Step::kIdle;
    has_taken_ = step == rings::Step::kDone;
  }
  if (has_sent_ && has_taken_) return rings::Step::kDone;
  return moved ? rings::Step::kProgress : rings::Step::kIdle;
}

}  // namespace crossdock::channels
