#include "control/rpc/agent_requests.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace crossdock::control {
namespace {

constexpr double kDeleteWithinS = 5;
// Of requests that were given up and whose endpoint is not there: it may still be on its way.
constexpr size_t kLateMax = 4096;
constexpr auto kRetryAfter = std::chrono::seconds(1);
// Tickets of our own; those of the client count from 1.
constexpr RequestTarget::Ticket kOwnTicket = RequestTarget::Ticket{1} << 63;

bool names(const ChannelOutline& outline, EndpointId endpoint) {
  const auto is_it = [&](const PlannedEndpoint& one) { return one.endpoint == endpoint; };
  return std::ranges::any_of(outline.sources, is_it) ||
         std::ranges::any_of(outline.destinations, is_it);
}

}  // namespace

class AgentRequests::State {
 public:
  State(ControlClient& controller,
        PlanLedger& ledger,
        std::string name,
        std::shared_ptr<const topology::ServerShape> shape)
      : controller_(controller),
        ledger_(ledger),
        name_(std::move(name)),
        shape_(std::move(shape)),
        deleting_([this] { delete_until_stopped(); }) {
    ledger_.set_on_endpoint([this](const HeldEndpoint& endpoint, bool is_gone) {
      is_gone ? end_keeping(endpoint) : on_endpoint(endpoint);
    });
  }

  Ticket ask(Request request, double within_s, Answer answer) {
    if (std::holds_alternative<AskServer>(request)) {
      answer(ServerIs{name_, shape_});
      return kOwnTicket;
    }
    if (const auto* part = std::get_if<AskPart>(&request)) {
      answer(part_of(part->channel));
      return kOwnTicket;
    }
    if (const auto* keep = std::get_if<KeepEndpoint>(&request)) {
      return begin_keeping(*keep, std::move(answer));
    }
    return controller_.ask(std::move(request), within_s, std::move(answer));
  }

  void abandon(Ticket ticket) {
    if ((ticket & kOwnTicket) == 0) return controller_.abandon(ticket);
    const std::lock_guard held(mutex_);
    const auto kept = kept_.find(ticket);
    if (kept == kept_.end() || is_stopping_) return;
    unkept_.push_back(kept->second.request);
    kept_.erase(kept);
    changed_.notify_all();
  }

  void stop() {
    {
      const std::lock_guard held(mutex_);
      if (is_stopping_.exchange(true)) return;
      changed_.notify_all();
    }
    ledger_.set_on_endpoint({});
    deleting_.join();
  }

 private:
  Reply part_of(ChannelId channel) const {
    auto part = ledger_.find(channel);
    if (part != nullptr) return PartIs{std::move(part)};
    return make_error(ErrorCode::kUnknownId,
                      "agent '{}' has no part of channel {}: it was closed, or has no endpoint "
                      "here; create it again",
                      name_,
                      text_of(channel));
  }

  Ticket begin_keeping(const KeepEndpoint& request, Answer answer) {
    const std::lock_guard held(mutex_);
    const Ticket ticket = kOwnTicket | ++last_kept_;
    kept_.emplace(ticket, Kept{request.request, std::move(answer)});
    return ticket;
  }

  // It was given up before it came.
  void on_endpoint(const HeldEndpoint& endpoint) {
    const std::lock_guard held(mutex_);
    if (std::erase(late_, endpoint.request) == 0) return;
    unkept_.push_back(endpoint.request);
    changed_.notify_all();
  }

  // The controller has given it up, with the agent or by itself.
  void end_keeping(const HeldEndpoint& endpoint) {
    std::vector<Answer> lost;
    {
      const std::lock_guard held(mutex_);
      std::erase_if(kept_, [&](auto& kept) {
        if (kept.second.request != endpoint.request) return false;
        lost.push_back(std::move(kept.second.answer));
        return true;
      });
    }
    for (const Answer& answer : lost) {
      answer(make_error(ErrorCode::kUnknownId,
                        "agent '{}' has endpoint {} no longer; create it again",
                        name_,
                        text_of(endpoint.endpoint)));
    }
  }

  void delete_until_stopped() {
    std::unique_lock held(mutex_);
    while (true) {
      changed_.wait(held, [this] { return is_stopping_ || !unkept_.empty(); });
      if (is_stopping_) return;
      // One that cannot be deleted keeps the others waiting for no more than its turn.
      for (size_t turns = unkept_.size(); turns > 0 && !is_stopping_; --turns) {
        const RequestId request = unkept_.front();
        unkept_.pop_front();
        held.unlock();
        const Status deleted = delete_all_of(request);
        held.lock();
        if (deleted.ok()) continue;
        unkept_.push_back(request);
        if (deleted.error().code == ErrorCode::kControllerUnreachable) break;
      }
      if (!unkept_.empty()) {
        changed_.wait_for(held, kRetryAfter, [this] { return is_stopping_.load(); });
      }
    }
  }

  // Fails if the controller does not answer, or a channel has come meanwhile that the agent does not know yet.
  Status delete_all_of(RequestId request) {
    const auto is_stopping = [this] { return is_stopping_.load(); };
    std::vector<EndpointId> endpoints;
    {
      const std::lock_guard held(mutex_);
      endpoints = ledger_.endpoints_of(request);
      if (endpoints.empty()) late_.push_back(request);
      if (late_.size() > kLateMax) late_.pop_front();
    }
    for (const EndpointId endpoint : endpoints) {
      for (const auto& [channel, part] : ledger_.parts()) {
        if (!names(*part->outline, endpoint)) continue;
        CD_TRY(controller_.call(DeleteChannel{channel}, kDeleteWithinS, is_stopping));
      }
      CD_TRY(controller_.call(DeleteEndpoint{endpoint}, kDeleteWithinS, is_stopping));
    }
    return {};
  }

  struct Kept {
    RequestId request;
    Answer answer;  // if the endpoint goes first
  };

  ControlClient& controller_;
  PlanLedger& ledger_;
  const std::string name_;
  const std::shared_ptr<const topology::ServerShape> shape_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Ticket, Kept> kept_;
  std::deque<RequestId> unkept_;  // whose endpoints are to be deleted
  std::deque<RequestId> late_;    // whose endpoints are, when they come
  Ticket last_kept_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::thread deleting_;  // last: it uses the others
};

AgentRequests::AgentRequests(ControlClient& controller,
                             PlanLedger& ledger,
                             std::string name,
                             std::shared_ptr<const topology::ServerShape> shape)
    : state_(std::make_unique<State>(controller, ledger, std::move(name), std::move(shape))) {}
AgentRequests::~AgentRequests() { stop(); }

RequestTarget::Ticket AgentRequests::ask(Request request, double within_s, Answer answer) {
  return state_->ask(std::move(request), within_s, std::move(answer));
}

void AgentRequests::abandon(Ticket ticket) { state_->abandon(ticket); }
void AgentRequests::stop() { state_->stop(); }

}  // namespace crossdock::control
