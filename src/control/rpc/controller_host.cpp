#include "control/rpc/controller_host.hpp"

#include <algorithm>
#include <chrono>

namespace crossdock::control {
namespace {

constexpr double kLeaveWithinS = 5;

}  // namespace

// What one drive leads to outside of the lock.
struct ControllerHost::Outcome {
  std::vector<std::shared_ptr<AgentConnection>> written;
  std::vector<std::shared_ptr<AgentConnection>> broken;
  std::vector<std::pair<Answer, Reply>> answered;
};

ControllerHost::ControllerHost(ControllerSettings settings, Epoch epoch)
    : tick_s_(std::clamp(settings.heartbeat_s / 4, 0.01, 0.25)),
      controller_(std::move(settings), epoch, now_s()),
      clock_([this] { tick_until_stopped(); }) {}

ControllerHost::~ControllerHost() {
  {
    const std::lock_guard held(mutex_);
    is_stopping_ = true;
  }
  stop_asked_.notify_all();
  clock_.join();
}

double ControllerHost::now_s() const {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

LinkId ControllerHost::open(std::shared_ptr<AgentConnection> connection) {
  const std::lock_guard held(mutex_);
  connections_.emplace(++last_link_, std::move(connection));
  return last_link_;
}

void ControllerHost::on_messages(LinkId link, std::vector<AgentMessage> messages) {
  drive([&](Controller& controller, double now) {
    // A connection that the controller has closed may have had messages under way.
    if (!connections_.contains(link)) return;
    for (AgentMessage& message : messages) controller.on_message(link, std::move(message), now);
  });
}

void ControllerHost::on_closed(LinkId link) {
  drive([&](Controller& controller, double now) {
    if (connections_.erase(link) > 0) controller.on_link_closed(link, now);
  });
}

RequestTarget::Ticket ControllerHost::ask(Request request, double, Answer answer) {
  CallId call = 0;
  drive([&](Controller& controller, double now) {
    call = ++last_call_;
    answers_.emplace(call, std::move(answer));
    controller.on_request(call, std::move(request), now);
  });
  return call;
}

void ControllerHost::abandon(Ticket ticket) {
  drive([&](Controller& controller, double) {
    if (answers_.erase(ticket) > 0) controller.on_call_abandoned(ticket);
  });
}

void ControllerHost::tick_until_stopped() {
  const auto interval = std::chrono::duration<double>(tick_s_);
  std::unique_lock held(mutex_);
  while (!stop_asked_.wait_for(held, interval, [this] { return is_stopping_; })) {
    held.unlock();
    drive([](Controller& controller, double now) { controller.on_tick(now); });
    break_off_late();
    held.lock();
  }
}

void ControllerHost::break_off_late() {
  std::vector<std::shared_ptr<AgentConnection>> late;
  {
    const std::lock_guard held(mutex_);
    const double now = now_s();
    while (!leaving_.empty() && leaving_.front().until_s <= now) {
      if (auto connection = leaving_.front().connection.lock())
        late.push_back(std::move(connection));
      leaving_.pop_front();
    }
  }
  for (const auto& connection : late) connection->break_off();
}

void ControllerHost::drive(const std::function<void(Controller&, double)>& act) {
  Outcome outcome;
  {
    const std::lock_guard held(mutex_);
    act(controller_, now_s());
    collect(outcome);
  }
  std::ranges::sort(outcome.written);
  const auto repeated = std::ranges::unique(outcome.written);
  outcome.written.erase(repeated.begin(), repeated.end());
  for (const auto& connection : outcome.written) connection->write();
  for (const auto& connection : outcome.broken) connection->break_off();
  for (auto& [answer, reply] : outcome.answered) answer(std::move(reply));
}

void ControllerHost::collect(Outcome& outcome) {
  // A connection that is full is closed, which the controller hears of, and which may make further messages: each turn
  // closes at least one, so there are at most as many turns as connections.
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    ControllerOutbox outbox = controller_.take_outbox();
    for (auto& [link, message] : outbox.messages) {
      const auto connection = connections_.find(link);
      if (connection == connections_.end()) continue;
      if (connection->second->put(std::move(message))) {
        outcome.written.push_back(connection->second);
        continue;
      }
      outcome.broken.push_back(connection->second);
      connections_.erase(connection);
      controller_.on_link_closed(link, now_s());
      goes_on = true;
    }
    for (auto& [call, reply] : outbox.replies) {
      const auto answer = answers_.find(call);
      if (answer == answers_.end()) continue;
      outcome.answered.emplace_back(std::move(answer->second), std::move(reply));
      answers_.erase(answer);
    }
    for (const LinkId link : outbox.closing) {
      const auto connection = connections_.find(link);
      if (connection == connections_.end()) continue;
      connection->second->end();
      outcome.written.push_back(connection->second);
      leaving_.push_back({connection->second, now_s() + kLeaveWithinS});
      connections_.erase(connection);
    }
  }
}

}  // namespace crossdock::control
