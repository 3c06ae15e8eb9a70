// The inside of the controller: one object whose parts stand in files of their own. State machines of endpoints
// (endpoints.cpp) and channels (channels.cpp), the comparison of what an agent reports with what is known
// (joining.cpp), and who is lost or overdue (deadlines.cpp).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "control/controller/agent_registry.hpp"
#include "control/controller/controller.hpp"
#include "control/controller/meeting_table.hpp"
#include "control/controller/part_maker.hpp"
#include "control/controller/pending_calls.hpp"
#include "control/controller/records.hpp"
#include "control/controller/request_table.hpp"

namespace crossdock::control {

class Controller::State {
 public:
  State(ControllerSettings settings, Epoch epoch, double now_s);

  void on_message(LinkId link, AgentMessage message, double now_s);
  void on_link_closed(LinkId link, double now_s);
  void on_request(CallId call, Request request, double now_s);
  void on_call_abandoned(CallId call) { calls_.abandon(call); }
  void on_tick(double now_s);
  ControllerOutbox take_outbox();

 private:
  using Endpoints = std::unordered_map<EndpointId, EndpointRecord>;
  using Channels = std::map<ChannelId, ChannelRecord>;
  using Event = Topic::Event;

  // Something that must have happened by a time. All wait equally long, so they stand in the order of their times.
  struct Deadline {
    enum class Kind : uint8_t { kHold, kApply, kClose };
    double at_s = 0;
    Kind kind = Kind::kHold;
    uint64_t id = 0;
  };
  // A channel's part on one agent.
  struct PartPlace {
    Channels::iterator channel;
    size_t server = 0;

    PartState& state() const { return channel->second.parts[server]; }
  };

  void advance(double now_s);
  void send(const AgentRecord& agent, ControllerMessage message);
  void refuse_link(LinkId link, Error cause);
  double set_deadline(Deadline::Kind kind, uint64_t id);  // when it is due

  // ---- requests (controller.cpp, endpoints.cpp, channels.cpp)
  void serve(CallId call, CreateEndpoint& request);
  void serve(CallId call, DeleteEndpoint& request);
  void serve(CallId call, CreateChannel& request);
  void serve(CallId call, DeleteChannel& request);
  void serve(CallId call, AskStatus& request);
  void serve(CallId call, Meet& request) { meetings_.take(call, request, listened_s_); }
  void serve(CallId call, AskServer&) { calls_.reply(call, ServerIs()); }
  void serve(CallId call, AskPart& request);
  void serve(CallId call, KeepEndpoint& request);
  // The answer to what cannot be said before agents have come back after a restart: to be asked again later.
  Error ask_again(std::string_view what, std::string_view hint = "") const;
  // True if agents may still report what was given this id, so that "unknown" says nothing yet.
  template <class Id>
  bool may_come_back(Id id, const std::unordered_set<Id>& gone) const;

  // ---- endpoints (endpoints.cpp)
  // Answers a request for an endpoint that is known already; false if it is not.
  bool repeat_endpoint(CallId call, const CreateEndpoint& request);
  void on_message(AgentRecord& agent, const Held& message);
  void end_endpoint(Endpoints::iterator place, Error why_gone);
  void count_use(EndpointId endpoint, int change);
  void count_uses(const ChannelRecord& record, int change);

  // ---- channels (channels.cpp)
  bool repeat_channel(CallId call, const CreateChannel& request);
  Result<std::vector<PlacedEndpoint>> place(const std::vector<EndpointId>& endpoints,
                                            const char* what) const;
  Status plan_and_open(CallId call, CreateChannel& request);
  std::optional<PartPlace> find_part(const AgentRecord& agent, ChannelId channel);
  void on_message(AgentRecord& agent, const Applied& message);
  void on_message(AgentRecord& agent, const Refused& message);
  void on_message(AgentRecord& agent, const Closed& message);
  void part_applied(PartPlace part);
  // The part is gone without having been asked to go: the whole channel goes.
  void part_lost(PartPlace part, const Error& cause);
  void part_ended(PartPlace part);
  void begin_close(Channels::iterator place, Error cause);
  void end_channel(Channels::iterator place);

  // ---- joining (joining.cpp)
  void join(LinkId link, JoinRequest join);
  Result<AgentRecord*> admit(const JoinRequest& join);
  Status check_room(const JoinRequest& join) const;
  void reconcile_endpoints(AgentRecord& agent, const JoinRequest& report);
  void reconcile_channels(AgentRecord& agent, JoinRequest& report);
  void recover_endpoint(AgentRecord& agent, const HeldEndpoint& held);
  void recover_channel(AgentRecord& agent, HeldChannel& held);
  void part_reported(PartPlace part, const HeldChannel& held);
  void part_missing(AgentRecord& agent, PartPlace part);
  Error recovery_fault(const ChannelRecord& record) const;
  void end_recovery();

  // ---- lost and overdue (deadlines.cpp)
  void give_up(AgentRecord& agent, const Error& cause);
  void find_silent();
  void find_overdue();
  // What is overdue: adds agents to `stuck` that are to be given up for it.
  void on_overdue(const Deadline& due, std::vector<std::string>& stuck);
  void on_overdue_hold(EndpointId id, double due_s, std::vector<std::string>& stuck);
  void on_overdue_apply(Channels::iterator place);
  void on_overdue_close(Channels::iterator place, std::vector<std::string>& stuck);
  // Whether the agent was connected for as long as it may take, so that it is its own fault.
  bool had_its_time(const AgentRecord& agent) const;

  const ControllerSettings settings_;
  const Epoch epoch_;
  const double started_s_;
  double clock_s_ = 0;     // of the driver
  double listened_s_ = 0;  // how long this controller has been awake: what all time limits count
  bool is_recovering_;
  uint32_t last_endpoint_ = 0, last_channel_ = 0;  // numbers given in this epoch
  uint64_t channels_created_ = 0, channels_closed_ = 0, open_channels_ = 0;

  AgentRegistry agents_;
  Endpoints endpoints_;
  Channels channels_;
  PendingCalls calls_;
  RequestTable requests_;
  MeetingTable meetings_{calls_};
  PartMaker parts_;
  std::deque<Deadline> deadlines_;

  // While recovering: channels by the agents that are to come back, uses of endpoints that are, and ids of former
  // epochs that ended meanwhile.
  std::map<std::string, std::set<ChannelId>, std::less<>> unseen_;
  std::unordered_map<EndpointId, uint32_t> unseen_uses_;
  std::unordered_set<EndpointId> gone_endpoints_;
  std::unordered_set<ChannelId> gone_channels_;

  std::vector<std::pair<LinkId, ControllerMessage>> messages_;
  std::vector<LinkId> closing_;
};

template <class Id>
bool Controller::State::may_come_back(Id id, const std::unordered_set<Id>& gone) const {
  return is_recovering_ && epoch_of(id) != epoch_ && !gone.contains(id);
}

}  // namespace crossdock::control
