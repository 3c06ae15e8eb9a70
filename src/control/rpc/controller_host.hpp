// The controller among threads: one mutex around the state machine, a thread for its clock, and what comes out of it
// handed to connections and callers. Without gRPC; the server of control_server.hpp stands in front of it.
//
// Messages are decoded before and encoded after the mutex is held; under it they are moved into the queues of their
// connections, so that each connection gets them in the controller's order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "control/controller/controller.hpp"
#include "control/rpc/request_target.hpp"

namespace crossdock::control {

// The controller's end of a connection to an agent.
class AgentConnection {
 public:
  virtual ~AgentConnection() = default;

  // Under the controller's lock: must be quick and call nothing of the controller.
  virtual bool put(ControllerMessage message) = 0;  // false: too many wait already
  virtual void end() = 0;                           // to be closed once everything is written
  // Outside of it.
  virtual void write() = 0;      // what was put since
  virtual void break_off() = 0;  // at once: the other side does not read
};

// Thread-safe.
class ControllerHost final : public RequestTarget {
 public:
  ControllerHost(ControllerSettings settings, Epoch epoch);
  ~ControllerHost() override;

  LinkId open(std::shared_ptr<AgentConnection> connection);
  void on_messages(LinkId link, std::vector<AgentMessage> messages);
  void on_closed(LinkId link);

  Ticket ask(Request request, double within_s, Answer answer) override;
  void abandon(Ticket ticket) override;

 private:
  struct Outcome;
  // A connection that is to be closed once the other side has read what was written.
  struct Leaving {
    std::weak_ptr<AgentConnection> connection;
    double until_s = 0;
  };

  void tick_until_stopped();
  void break_off_late();
  // Lets `act` speak to the controller under the lock and passes on what comes of it.
  void drive(const std::function<void(Controller&, double now_s)>& act);
  void collect(Outcome& outcome);
  double now_s() const;

  const double tick_s_;
  std::mutex mutex_;
  Controller controller_;
  std::unordered_map<LinkId, std::shared_ptr<AgentConnection>> connections_;
  std::unordered_map<CallId, Answer> answers_;
  std::deque<Leaving> leaving_;  // by ascending until_s
  LinkId last_link_ = 0;
  CallId last_call_ = 0;
  std::condition_variable stop_asked_;
  bool is_stopping_ = false;
  std::thread clock_;
};

}  // namespace crossdock::control
