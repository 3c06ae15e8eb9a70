// What an agent answers itself, and what becomes of endpoints whose application is gone.
#include "control/rpc/agent_requests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/rpc/control_site.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

class AgentRequestsTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(comes_true([&] { return site_.all_joined(); }));
    for (size_t i = 0; i < 2; ++i) {
      ClientSettings settings;
      settings.address = site_.listen(i);
      applications_.push_back(std::move(ControlClient::make(settings).value()));
    }
    direct_ = site_.client();
  }

  // An endpoint on the server of each application, kept by it.
  std::vector<EndpointId> endpoints() {
    std::vector<EndpointId> created;
    for (size_t i = 0; i < 2; ++i) {
      const std::string server = "node" + std::to_string(i);
      const RequestId request = make_request_id();
      keep(*applications_[i], request);
      created.push_back(create(*applications_[i], request, server));
    }
    return created;
  }

  void keep(ControlClient& application, RequestId request) {
    application.ask(KeepEndpoint{request}, 1000, [this](const Reply& reply) {
      if (const auto* error = std::get_if<Error>(&reply)) why_unkept_ = error->code;
      ++unkept_;
    });
  }

  static EndpointId create(ControlClient& client, RequestId request, const std::string& server) {
    const Reply reply = client.call(CreateEndpoint{request, server, "gpu0"}, 10).value();
    return std::get<EndpointCreated>(reply).endpoint;
  }

  ControlSite site_{2};
  std::vector<std::unique_ptr<ControlClient>> applications_;
  std::unique_ptr<ControlClient> direct_;
  std::atomic<int> unkept_ = 0;
  std::atomic<ErrorCode> why_unkept_ = ErrorCode::kInternal;
};

TEST_F(AgentRequestsTest, ItKnowsItsServerAndItsParts) {
  const auto server = std::get<ServerIs>(applications_[1]->call(AskServer{}, 10).value());
  EXPECT_EQ(server.name, "node1");
  EXPECT_EQ(*server.shape, *dgx_shape());
  EXPECT_EQ(std::get<ServerIs>(direct_->call(AskServer{}, 10).value()).name, "");

  const ChannelId channel = site_.create_channel(*applications_[0], endpoints()).value();
  for (uint32_t i = 0; i < 2; ++i) {
    const auto part = std::get<PartIs>(applications_[i]->call(AskPart{channel}, 10).value()).part;
    EXPECT_EQ(part->outline->channel, channel);
    EXPECT_EQ(part->server, i);
    EXPECT_FALSE(part->tables->empty());
  }
  const auto unknown = applications_[0]->call(AskPart{{77}}, 10);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownId);
  EXPECT_THAT(unknown.error().message, HasSubstr("agent 'node0' has no part of channel"));
}

TEST_F(AgentRequestsTest, EndpointsAndTheirChannelsGoWithTheApplication) {
  const std::vector<EndpointId> ends = endpoints();
  ASSERT_TRUE(site_.create_channel(*applications_[0], ends).ok());
  EXPECT_EQ(site_.status(*direct_).endpoints, 2);
  applications_[0].reset();
  EXPECT_TRUE(comes_true([&] { return site_.status(*direct_).endpoints == 1; }));
  EXPECT_TRUE(site_.status(*direct_).channels.empty());
}

TEST_F(AgentRequestsTest, TheyAreDeletedWhenTheControllerIsBack) {
  endpoints();
  site_.stop_controller();
  applications_[1].reset();
  site_.start_controller();
  EXPECT_TRUE(comes_true([&] { return site_.all_joined(); }));
  EXPECT_TRUE(comes_true([&] { return site_.status(*direct_).endpoints == 1; }));
}

TEST_F(AgentRequestsTest, OneThatIsMadeAfterTheApplicationHasGoneGoesToo) {
  const RequestId request = make_request_id();
  keep(*applications_[0], request);
  // The agent answers in the order in which it is asked: it keeps by now.
  ASSERT_TRUE(applications_[0]->call(AskServer{}, 10).ok());
  applications_[0].reset();
  // It may be deleted as soon as the agent has it, which then is the answer.
  const auto created = direct_->call(CreateEndpoint{request, "node0", "gpu0"}, 10);
  EXPECT_TRUE(created.ok() || created.error().code == ErrorCode::kUnknownId);
  EXPECT_TRUE(comes_true([&] { return site_.status(*direct_).endpoints == 0; }));
}

TEST_F(AgentRequestsTest, WhoKeepsAnEndpointLearnsThatTheAgentHasItNoLonger) {
  const std::vector<EndpointId> ends = endpoints();
  ASSERT_TRUE(direct_->call(DeleteEndpoint{ends[0]}, 10).ok());
  EXPECT_TRUE(comes_true([&] { return unkept_ == 1; }));
  EXPECT_EQ(why_unkept_, ErrorCode::kUnknownId);
  EXPECT_EQ(site_.status(*direct_).endpoints, 1);
}

// A controller that refuses to delete one endpoint, whatever the reason.
class Stubborn final : public RequestTarget {
 public:
  Ticket ask(Request request, double, Answer answer) override {
    const auto* const deletion = std::get_if<DeleteEndpoint>(&request);
    if (deletion != nullptr && deletion->endpoint == EndpointId{1}) {
      ++refused;
      answer(make_error(ErrorCode::kInvalidArgument, "endpoint 1 is named by a channel"));
    } else {
      deleted += deletion != nullptr;
      answer(Done{});
    }
    return 1;
  }
  void abandon(Ticket) override {}

  std::atomic<int> refused = 0;
  std::atomic<int> deleted = 0;
};

TEST(AgentRequests, AnEndpointThatCannotBeDeletedKeepsNoOtherFromIt) {
  Stubborn controller;
  ServerSettings settings;
  settings.listen = "127.0.0.1:0";
  const auto server = std::move(ControlServer::start(settings, controller).value());
  ClientSettings caller;
  caller.address = server->address();
  const auto client = std::move(ControlClient::make(caller).value());
  PlanLedger ledger;
  AgentRequests requests(*client, ledger, "node0", dgx_shape());
  std::vector<RequestTarget::Ticket> kept;
  for (uint64_t i = 1; i <= 3; ++i) {
    ledger.hold({{i}, {i, i}, "gpu0"});
    kept.push_back(requests.ask(KeepEndpoint{{i, i}}, 1000, [](const Reply&) {}));
  }
  for (const RequestTarget::Ticket ticket : kept) requests.abandon(ticket);
  EXPECT_TRUE(comes_true([&] { return controller.refused > 0 && controller.deleted == 2; }));
}

TEST_F(AgentRequestsTest, AnAgentThatEndsDeletesNothing) {
  const std::vector<EndpointId> ends = endpoints();
  ASSERT_TRUE(site_.create_channel(*applications_[0], ends).ok());
  site_.drop_agent(0);
  EXPECT_TRUE(comes_true([&] { return unkept_ == 1; })) << "the application learns of it";
  EXPECT_EQ(site_.status(*direct_).channels.size(), 1) << "until the agent counts as lost";
}

}  // namespace
}  // namespace crossdock::control
