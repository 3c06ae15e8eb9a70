// What an agent does with its parts of channels as long as this process moves no data: it keeps them, so that they can
// be looked at. Nothing is sent or received through a channel of a ledger.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "control/agent/agent.hpp"

namespace crossdock {

// Thread-safe.
class PlanLedger final : public ChannelHost {
 public:
  Status open(std::shared_ptr<const ServerPart> part) override {
    const std::lock_guard held(mutex_);
    const ChannelId channel = part->outline->channel;
    parts_.insert_or_assign(channel, std::move(part));
    return {};
  }

  void close(ChannelId channel, const Error&) override {
    const std::lock_guard held(mutex_);
    parts_.erase(channel);
  }

  std::map<ChannelId, std::shared_ptr<const ServerPart>> parts() const {
    const std::lock_guard held(mutex_);
    return parts_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<ChannelId, std::shared_ptr<const ServerPart>> parts_;
};

}  // namespace crossdock
