// What an agent does with its parts of channels: it keeps them for the processes that send and receive, which ask for
// them and move their rows themselves (AgentRequests). So rows take no way through the agent, and none is lost with it.
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

  std::shared_ptr<const ServerPart> find(ChannelId channel) const {
    const std::lock_guard held(mutex_);
    const auto found = parts_.find(channel);
    return found == parts_.end() ? nullptr : found->second;
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
