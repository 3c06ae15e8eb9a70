// Controller, agents and applications over real sockets.
#include <atomic>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/rpc/control_site.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

TEST(ControlServer, OpensAndClosesChannelsAmongItsAgents) {
  ControlSite site(3);
  const auto client = site.client();
  std::vector<EndpointId> endpoints;
  for (const char* agent : {"node0", "node1", "node2"}) {
    const auto endpoint = site.create_endpoint(*client, agent, "gpu0");
    ASSERT_TRUE(endpoint.ok()) << endpoint.error().message;
    endpoints.push_back(endpoint.value());
  }
  const auto channel = site.create_channel(*client, endpoints);
  ASSERT_TRUE(channel.ok()) << channel.error().message;
  for (size_t agent = 0; agent < 3; ++agent) EXPECT_EQ(site.parts(agent), 1u);
  const ControlStatus status = site.status(*client);
  EXPECT_EQ(status.agents.size(), 3u);
  EXPECT_EQ(status.agents[0].gpus, 8u);
  EXPECT_EQ(status.open_channels, 1u);
  ASSERT_TRUE(client->call(DeleteChannel{channel.value()}, 10).ok());
  EXPECT_TRUE(comes_true([&] { return site.parts(0) + site.parts(1) + site.parts(2) == 0; }));
  ASSERT_TRUE(client->call(DeleteEndpoint{endpoints[0]}, 10).ok());
  EXPECT_EQ(site.status(*client).endpoints, 2u);
}

std::vector<EndpointId> endpoints_of(ControlSite& site, ControlClient& client, int agents) {
  std::vector<EndpointId> endpoints;
  for (int i = 0; i < agents; ++i) {
    const auto endpoint = site.create_endpoint(client, "node" + std::to_string(i), "gpu0");
    EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
    if (endpoint.ok()) endpoints.push_back(endpoint.value());
  }
  return endpoints;
}

TEST(ControlServer, IsRebuiltFromItsAgents) {
  ControlSite site(3);
  const auto client = site.client();
  const std::vector<EndpointId> endpoints = endpoints_of(site, *client, 3);
  const CreateChannel request{make_request_id(), endpoints, endpoints, {"schema", {0}}};
  const auto before = client->call(request, 10);
  ASSERT_TRUE(before.ok()) << before.error().message;
  site.stop_controller();
  EXPECT_EQ(site.parts(0), 1u);  // open channels stay
  EXPECT_TRUE(comes_true([&] { return site.state(0).trouble.has_value(); }));
  site.start_controller();
  ASSERT_TRUE(comes_true([&] { return site.all_joined(); }));
  const auto again = client->call(request, 10);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(std::get<ChannelOpen>(again.value()).channel,
            std::get<ChannelOpen>(before.value()).channel);
  const ControlStatus status = site.status(*client);
  EXPECT_EQ(status.epoch, 2u);
  EXPECT_EQ(status.open_channels, 1u);
  EXPECT_EQ(status.endpoints, 3u);
}

TEST(ControlServer, ClosesTheChannelsOfAnAgentThatWent) {
  ControlSite site(2);
  const auto client = site.client();
  const std::vector<EndpointId> endpoints = endpoints_of(site, *client, 2);
  ASSERT_TRUE(site.create_channel(*client, endpoints).ok());
  site.drop_agent(1);
  EXPECT_TRUE(comes_true([&] { return site.parts(0) == 0; }));
  EXPECT_EQ(site.status(*client).open_channels, 0u);
  const auto refused = site.create_channel(*client, endpoints);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnknownId);
}

TEST(ControlServer, RefusesTheSecondOfTwoAgentsWithOneName) {
  ControlSite site(1);
  site.add_agent("node0");
  ASSERT_TRUE(comes_true([&] { return site.state(1).trouble.has_value(); }));
  EXPECT_EQ(site.state(1).trouble->code, ErrorCode::kNameTaken);
  EXPECT_FALSE(site.state(1).is_joined);
  EXPECT_TRUE(site.state(0).is_joined);
}

TEST(ControlServer, WantsItsToken) {
  ServerSettings settings;
  settings.security.token = "0123456789abcdef";
  ControlSite site(1, settings);
  EXPECT_EQ(site.status(*site.client()).agents.size(), 1u);
  for (const char* token : {"", "0123456789abcdeF", "0123456789abcdef0"}) {
    ClientSettings wrong = site.client_settings();
    wrong.security.token = token;
    const auto reply = ControlClient::make(wrong).value()->call(AskStatus{}, 10);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::kNotAllowed);
    PlanLedger ledger;
    const auto stranger =
        AgentLink::start(wrong, {"x", make_agent_instance()}, dgx_shape(), ledger);
    ASSERT_TRUE(comes_true([&] { return stranger.value()->state().trouble.has_value(); }));
    EXPECT_EQ(stranger.value()->state().trouble->code, ErrorCode::kNotAllowed);
  }
}

TEST(ControlServer, RefusesMessagesAboveItsLimit) {
  ServerSettings settings;
  settings.message_bytes_max = 4096;
  ControlSite site(0, settings);
  CreateChannel large{make_request_id(), std::vector<EndpointId>(1000, EndpointId{1}), {}, {}};
  const auto reply = site.client()->call(large, 10);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kMalformedMessage);
  EXPECT_THAT(reply.error().message, HasSubstr("4096"));
  site.add_agent("node0");  // whose topology takes more
  ASSERT_TRUE(comes_true([&] { return site.state(0).trouble.has_value(); }));
  EXPECT_EQ(site.state(0).trouble->code, ErrorCode::kMalformedMessage);
}

TEST(ControlServer, EndsWhileCallsAreUnderWay) {
  for (int round = 0; round < 5; ++round) {
    ControlSite site(2);
    auto client = site.client();
    const std::vector<EndpointId> endpoints = endpoints_of(site, *client, 2);
    std::atomic<int> answered = 0;
    for (int i = 0; i < 100; ++i) {
      client->ask(CreateChannel{make_request_id(), endpoints, endpoints, {}}, 10, [&](Reply) {
        ++answered;
      });
    }
    if (round % 2 == 0) client.reset();  // abandons what is under way
    site.stop_controller();
    if (client != nullptr) {
      EXPECT_TRUE(comes_true([&] { return answered == 100; }));
    }
    client.reset();
  }
}

TEST(ControlServer, DoesNotShareItsPort) {
  ControlSite site(0);
  ControllerHost other(quick_settings(), 9);
  ServerSettings settings;
  settings.listen = site.address();
  const auto second = ControlServer::start(settings, other);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("cannot listen on " + site.address()));
}

TEST(ControlServer, PassesRequestsOnForAnAgent) {
  ControlSite site(1);
  const auto upstream = site.client();
  ServerSettings settings;
  settings.listen = "unix:/tmp/crossdock-test-" + std::to_string(make_request_id().low);
  const auto local = ControlServer::start(settings, static_cast<RequestTarget&>(*upstream));
  ASSERT_TRUE(local.ok()) << local.error().message;
  ClientSettings caller;
  caller.address = settings.listen;
  const auto client = std::move(ControlClient::make(caller).value());
  const auto status = client->call(AskStatus{}, 30);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(std::get<ControlStatus>(status.value()).agents.size(), 1u);
  const auto unknown = client->call(CreateEndpoint{make_request_id(), "unknown", "gpu0"}, 30);
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownId);
}

TEST(ControlClient, SaysHowLongItWaitedForWhom) {
  ClientSettings settings;
  settings.address = "127.0.0.1:1";
  const auto reply = ControlClient::make(settings).value()->call(AskStatus{}, 0.3);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kControllerUnreachable);
  EXPECT_THAT(reply.error().message, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(reply.error().message, HasSubstr("waited 0."));
}

TEST(ControlClient, DoesNotWaitForWhatIsNoTime) {
  ClientSettings settings;
  settings.address = "127.0.0.1:1";
  for (const double within_s : {std::nan(""), -1.0, 0.0}) {
    const auto reply = ControlClient::make(settings).value()->call(AskStatus{}, within_s);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::kControllerUnreachable);
  }
}

TEST(ControlClient, IsInterrupted) {
  ClientSettings settings;
  settings.address = "127.0.0.1:1";
  int asked = 0;
  const auto reply =
      ControlClient::make(settings).value()->call(AskStatus{}, 60, [&] { return ++asked > 3; });
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kCancelled);
}

TEST(RpcSettings, AreLoopbackOrSafe) {
  const auto code_of = [](ServerSettings settings) {
    const Status status = check_rpc_settings(settings);
    return status.ok() ? 0 : static_cast<int>(status.error().code);
  };
  ServerSettings settings;
  EXPECT_EQ(code_of(settings), 0);
  for (const char* address : {"[::1]:1", "localhost:0", "unix:/tmp/x", "127.1.2.3:65535"}) {
    settings.listen = address;
    EXPECT_EQ(code_of(settings), 0) << address;
  }
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:65536", "h:8x", "http://h:80", "h 1:80"}) {
    settings.listen = address;
    EXPECT_EQ(code_of(settings), 105) << address;
  }
  for (const char* address :
       {"0.0.0.0:7613", "127.0.0.1.example.org:7613", "127.example.org:1", "[::]:1"}) {
    settings.listen = address;
    EXPECT_EQ(code_of(settings), 612) << address;
  }
  settings.security.token = "0123456789abcdef";
  EXPECT_EQ(code_of(settings), 612);
  settings.security.certificate_pem = "c";
  EXPECT_EQ(code_of(settings), 105);
  settings.security.key_pem = "k";
  EXPECT_EQ(code_of(settings), 0);
  settings.security = {};
  settings.security.is_insecure = true;
  EXPECT_EQ(code_of(settings), 0);
  settings.message_bytes_max = int64_t{1} << 31;
  EXPECT_EQ(code_of(settings), 105);
  settings.message_bytes_max = kMessageBytesDefault;
  settings.security.token = "short";
  EXPECT_EQ(code_of(settings), 105);
  settings.security.token = "no blanks in a token!";
  EXPECT_EQ(code_of(settings), 105);
}

TEST(RpcSettings, CompareTokens) {
  EXPECT_TRUE(is_token("0123456789abcdef", "0123456789abcdef"));
  for (const char* given :
       {"", "0123456789abcde", "0123456789abcdee", "0123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(is_token("0123456789abcdef", given)) << given;
  }
  EXPECT_FALSE(is_token("", ""));
}

}  // namespace
}  // namespace crossdock::control
