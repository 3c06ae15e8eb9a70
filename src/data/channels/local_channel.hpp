// A channel as its process holds it: opens senders and receivers over its core.
#pragma once

#include <memory>

#include "data/channels/channel.hpp"
#include "data/channels/channel_core.hpp"

namespace crossdock::channels {

class LocalChannel : public Channel {
 public:
  explicit LocalChannel(std::shared_ptr<ChannelCore> core) : core_(std::move(core)) {}
  ~LocalChannel() override;

  uint64_t id() const override { return core_->plan().spec().id; }
  const segments::RowLayout& layout() const override { return *core_->plan().layout(); }
  Result<bool> is_ready() const override;
  Result<std::unique_ptr<Sender>> open_sender(int source) override;
  Result<std::unique_ptr<Receiver>> open_receiver(int destination) override;
  void close(const Error& cause) override { core_->close(cause); }
  ChannelCounters counters() const override { return core_->counters(); }
  int64_t memory_bytes() const override { return static_cast<int64_t>(core_->part().bytes); }

 private:
  Error not_here(const char* end, int number, const std::vector<int>& ranks) const;

  std::shared_ptr<ChannelCore> core_;
};

}  // namespace crossdock::channels
