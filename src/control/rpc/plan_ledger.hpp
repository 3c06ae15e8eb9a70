// What an agent does with its parts of channels: it keeps them for the processes that send and receive, which ask for
// them and move their rows themselves (AgentRequests). So rows take no way through the agent, and none is lost with it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "control/agent/agent.hpp"

namespace crossdock::control {

// Thread-safe.
class PlanLedger final : public ChannelHost {
 public:
  // Called for each endpoint that comes or goes, after it stands in the ledger; by one thread at a time, which holds
  // what the agent holds, so it must be quick and call nothing of the agent. It is not called any more when this has
  // returned.
  using OnEndpoint = std::function<void(const HeldEndpoint& endpoint, bool is_gone)>;
  void set_on_endpoint(OnEndpoint on_endpoint) {
    const std::lock_guard held(telling_);
    on_endpoint_ = std::move(on_endpoint);
  }

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

  void hold(const HeldEndpoint& endpoint) override {
    {
      const std::lock_guard held(mutex_);
      endpoints_.insert_or_assign(endpoint.endpoint, endpoint);
    }
    tell(endpoint, false);
  }

  void drop(const HeldEndpoint& endpoint) override {
    {
      const std::lock_guard held(mutex_);
      endpoints_.erase(endpoint.endpoint);
    }
    tell(endpoint, true);
  }

  std::shared_ptr<const ServerPart> find(ChannelId channel) const {
    const std::lock_guard held(mutex_);
    const auto entry = parts_.find(channel);
    return entry == parts_.end() ? nullptr : entry->second;
  }

  std::map<ChannelId, std::shared_ptr<const ServerPart>> parts() const {
    const std::lock_guard held(mutex_);
    return parts_;
  }

  // Which a request made; looks at all that there are.
  std::vector<EndpointId> endpoints_of(RequestId request) const {
    const std::lock_guard held(mutex_);
    std::vector<EndpointId> endpoints;
    for (const auto& [id, endpoint] : endpoints_) {
      if (endpoint.request == request) endpoints.push_back(id);
    }
    return endpoints;
  }

 private:
  void tell(const HeldEndpoint& endpoint, bool is_gone) {
    const std::lock_guard held(telling_);
    if (on_endpoint_) on_endpoint_(endpoint, is_gone);
  }

  mutable std::mutex mutex_;
  std::map<ChannelId, std::shared_ptr<const ServerPart>> parts_;
  std::map<EndpointId, HeldEndpoint> endpoints_;
  std::mutex telling_;
  OnEndpoint on_endpoint_;
};

}  // namespace crossdock::control
