// Answers, keeping, and deleting what nobody keeps any more.
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

namespace crossdock {
namespace {

constexpr double kDeleteWithinS = 5;
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
        const PlanLedger& ledger,
        std::string name,
        std::shared_ptr<const ServerShape> shape)
      : controller_(controller),
        ledger_(ledger),
        name_(std::move(name)),
        shape_(std::move(shape)),
        deleting_([this] { delete_until_stopped(); }) {}

  Ticket ask(Request request, double within_s, Answer answer) {
    if (std::holds_alternative<AskServer>(request)) {
      answer(ServerIs{name_, shape_});
      return kOwnTicket;
    }
    if (const auto* part = std::get_if<AskPart>(&request)) {
      answer(part_of(part->channel));
      return kOwnTicket;
    }
    if (const auto* keep = std::get_if<KeepEndpoint>(&request)) return begin_keeping(*keep);
    return controller_.ask(std::move(request), within_s, std::move(answer));
  }

  void abandon(Ticket ticket) {
    if ((ticket & kOwnTicket) == 0) return controller_.abandon(ticket);
    const std::lock_guard held(mutex_);
    const auto kept = kept_.find(ticket);
    if (kept == kept_.end() || is_stopping_) return;
    unkept_.push_back(kept->second);
    kept_.erase(kept);
    changed_.notify_all();
  }

  void stop() {
    {
      const std::lock_guard held(mutex_);
      if (is_stopping_.exchange(true)) return;
      changed_.notify_all();
    }
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

  Ticket begin_keeping(const KeepEndpoint& request) {
    const std::lock_guard held(mutex_);
    const Ticket ticket = kOwnTicket | ++last_kept_;
    kept_.emplace(ticket, request.endpoint);
    return ticket;
  }

  void delete_until_stopped() {
    std::unique_lock held(mutex_);
    while (true) {
      changed_.wait(held, [this] { return is_stopping_ || !unkept_.empty(); });
      if (is_stopping_) return;
      const EndpointId endpoint = unkept_.front();
      held.unlock();
      const bool is_deleted = delete_all_of(endpoint);
      held.lock();
      if (is_deleted) {
        unkept_.pop_front();
      } else {
        changed_.wait_for(held, kRetryAfter, [this] { return is_stopping_.load(); });
      }
    }
  }

  // False: the controller did not answer, or a channel has come meanwhile.
  bool delete_all_of(EndpointId endpoint) {
    const auto is_stopping = [this] { return is_stopping_.load(); };
    for (const auto& [channel, part] : ledger_.parts()) {
      if (!names(*part->outline, endpoint)) continue;
      if (!controller_.call(DeleteChannel{channel}, kDeleteWithinS, is_stopping).ok()) return false;
    }
    return controller_.call(DeleteEndpoint{endpoint}, kDeleteWithinS, is_stopping).ok();
  }

  ControlClient& controller_;
  const PlanLedger& ledger_;
  const std::string name_;
  const std::shared_ptr<const ServerShape> shape_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<Ticket, EndpointId> kept_;
  std::deque<EndpointId> unkept_;
  Ticket last_kept_ = 0;
  std::atomic<bool> is_stopping_{false};
  std::thread deleting_;  // last: it uses the others
};

AgentRequests::AgentRequests(ControlClient& controller,
                             const PlanLedger& ledger,
                             std::string name,
                             std::shared_ptr<const ServerShape> shape)
    : state_(std::make_unique<State>(controller, ledger, std::move(name), std::move(shape))) {}
AgentRequests::~AgentRequests() { stop(); }

RequestTarget::Ticket AgentRequests::ask(Request request, double within_s, Answer answer) {
  return state_->ask(std::move(request), within_s, std::move(answer));
}

void AgentRequests::abandon(Ticket ticket) { state_->abandon(ticket); }
void AgentRequests::stop() { state_->stop(); }

}  // namespace crossdock
