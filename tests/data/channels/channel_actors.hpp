// Senders and receivers of a channel as actors, so that one thread plays them in any order.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/channels/channel.hpp"
#include "data/channels/channel_rows.hpp"
#include "data/channels/channel_sender.hpp"
#include "data/rings/actor.hpp"

namespace crossdock::channels {

// What one destination took.
struct Taken {
  std::vector<int64_t> keys;
  std::string wrong;  // what is not as it should be; empty
};

// Sends its batches, then flushes. The first error ends it.
class SendingActor : public rings::Actor {
 public:
  // How a batch is sent, with its number; empty: by send().
  using Send = std::function<Result<int64_t>(Sender&, const Batch&, size_t)>;

  SendingActor(std::unique_ptr<Sender> sender, std::vector<Batch> batches, Send send = {})
      : sender_(std::move(sender)), batches_(std::move(batches)), send_(std::move(send)) {}

  rings::Step step() override;
  std::string state() const override;
  const Status& result() const { return result_; }

 private:
  rings::Step step_of_send();
  rings::Step fail(const Error& error);
  int64_t pending() const { return static_cast<ChannelSender&>(*sender_).pending_rows(); }

  std::unique_ptr<Sender> sender_;
  std::vector<Batch> batches_;
  Send send_;
  size_t next_ = 0;
  bool has_begun_flush_ = false;
  Status result_;
};

// Takes until the end, and keeps the last `held_max` batches, as a slow destination does.
class TakingActor : public rings::Actor {
 public:
  TakingActor(std::unique_ptr<Receiver> receiver, RowKind kind, size_t held_max, Taken& into)
      : receiver_(std::move(receiver)), kind_(kind), held_max_(held_max), into_(into) {}

  rings::Step step() override;
  std::string state() const override;
  const Status& result() const { return result_; }

 private:
  std::unique_ptr<Receiver> receiver_;
  RowKind kind_;
  size_t held_max_;
  Taken& into_;
  std::deque<Batch> held_;
  Status result_;
};

// Both in one: the loop of the paper's GroupBy, which sends and takes in turn.
class EndpointActor : public rings::Actor {
 public:
  EndpointActor(std::unique_ptr<SendingActor> sending, std::unique_ptr<TakingActor> taking)
      : sending_(std::move(sending)), taking_(std::move(taking)) {}

  rings::Step step() override;
  std::string state() const override { return sending_->state() + " / " + taking_->state(); }
  const SendingActor& sending() const { return *sending_; }
  const TakingActor& taking() const { return *taking_; }

 private:
  std::unique_ptr<SendingActor> sending_;
  std::unique_ptr<TakingActor> taking_;
  bool has_sent_ = false;
  bool has_taken_ = false;
};

}  // namespace crossdock::channels
