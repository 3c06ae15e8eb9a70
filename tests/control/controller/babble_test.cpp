// Agents and applications that say anything at any time: whatever comes, every call gets one reply, no message leads
// outside the controller's tables, and what it tells agents is well formed.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "control/controller/controller.hpp"
#include "control/protocol/check.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

class Babble {
 public:
  explicit Babble(uint64_t seed) : random_(seed) {
    settings_.calls_max = 20;
    controller_ = std::make_unique<Controller>(settings_, 2, now_s_);
  }

  void step() {
    const size_t kind = pick(20);
    if (kind == 0) {
      now_s_ += 0.3 * static_cast<double>(pick(10));
      controller_->on_tick(now_s_);
    } else if (kind == 1) {
      controller_->on_link_closed(pick(6), now_s_);
    } else if (kind == 2 && !calls_.empty()) {
      controller_->on_call_abandoned(*calls_.begin());
      calls_.erase(calls_.begin());
    } else if (kind < 8) {
      calls_.insert(++last_call_);
      controller_->on_request(last_call_, request(), now_s_);
    } else {
      controller_->on_message(pick(6), message(), now_s_);
    }
    take();
  }

  size_t pending() const { return calls_.size(); }

  // Without agents everything that waits comes to an end.
  void end() {
    for (LinkId link = 0; link < 6; ++link) controller_->on_link_closed(link, now_s_);
    for (int i = 0; i < 200; ++i) {
      now_s_ += 0.5;
      controller_->on_tick(now_s_);
      take();
    }
  }

 private:
  size_t pick(size_t count) { return random_() % count; }
  // Of this epoch, of a former one, or none.
  uint64_t id() { return pick(12) == 0 ? 0 : (1 + pick(2)) << 32 | pick(9); }
  RequestId request_id() { return {0, pick(10)}; }
  std::string name() { return "node" + std::to_string(pick(3)); }

  template <class Id>
  std::vector<Id> ids() {
    std::vector<Id> list(pick(4));
    for (Id& one : list) one.value = id();
    return list;
  }

  Request request() {
    switch (pick(6)) {
      case 0:
        return CreateEndpoint{request_id(), name(), "gpu" + std::to_string(pick(3))};
      case 1:
        return DeleteEndpoint{{id()}};
      case 2:
        return DeleteChannel{{id()}};
      case 3:
        return AskStatus{};
      case 4:
        return meet();
      default:
        return CreateChannel{request_id(), ids<EndpointId>(), ids<EndpointId>(), {}};
    }
  }

  Meet meet() {
    Meet meet;
    meet.request = request_id();
    meet.group = name();
    meet.rank = static_cast<uint32_t>(pick(3));
    meet.size = 1 + static_cast<uint32_t>(pick(3));
    meet.round = pick(2);
    meet.within_s = static_cast<double>(1 + pick(9));
    return meet;
  }

  JoinRequest join() {
    JoinRequest join;
    join.name = name();
    join.instance = {1 + pick(2)};
    join.connection = 1 + pick(20);
    join.shape = shape_;
    for (size_t i = pick(4); i > 0; --i) join.endpoints.push_back({{id()}, request_id(), "gpu0"});
    for (size_t i = pick(4); i > 0; --i) {
      std::set<std::string> servers = {join.name};
      if (pick(2) == 0) servers.insert(name());
      join.channels.push_back({{id()},
                               request_id(),
                               ids<EndpointId>(),
                               ids<EndpointId>(),
                               {servers.begin(), servers.end()},
                               {}});
    }
    return join;
  }

  AgentMessage message() {
    switch (pick(8)) {
      case 0:
        return Heartbeat{};
      case 1:
      case 2:
        return Applied{{id()}};
      case 3:
        return Closed{{id()}};
      case 4:
        return Refused{{id()}, {ErrorCode::kInternal, "no"}};
      case 5:
      case 6:
        return Held{{id()}, pick(3) == 0};
      default:
        return join();
    }
  }

  void take() {
    ControllerOutbox outbox = controller_->take_outbox();
    for (const auto& [link, message] : outbox.messages) {
      const Status status = check(message, *shape_);
      EXPECT_TRUE(status.ok()) << status.error().message;
    }
    for (const auto& [call, reply] : outbox.replies) {
      EXPECT_EQ(calls_.erase(call), 1) << "a second reply, or one to no caller";
    }
  }

  std::mt19937_64 random_;
  ControllerSettings settings_;
  double now_s_ = 5;
  std::shared_ptr<const topology::ServerShape> shape_ =
      std::make_shared<const topology::ServerShape>(topology::two_sockets());
  std::unique_ptr<Controller> controller_;
  std::set<CallId> calls_;
  CallId last_call_ = 0;
};

TEST(Babble, IsAnsweredAndDoesNoHarm) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Babble babble(seed);
    for (int i = 0; i < 1000; ++i) babble.step();
    babble.end();
    ASSERT_EQ(babble.pending(), 0);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace crossdock::control
