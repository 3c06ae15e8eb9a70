// Callers and hosts that make it hard: who hangs up while being refused, who answers with errors of every kind, who
// takes long.
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "control/rpc/control_site.hpp"
#include "control/rpc/live_calls.hpp"

namespace crossdock::control {
namespace {

// A call of Attend that no caller may make, given up as soon as it is under way.
class GivenUp final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  GivenUp(grpc::GenericStub& stub, LiveCalls& calls) : live_(calls) {
    stub.PrepareBidiStreamingCall(&context_, std::string(kAttendPath), {}, this);
    AddHold();  // a refusal may be here before the next line, and with it the end of this object
    StartCall();
    context_.TryCancel();
    RemoveHold();
  }

 private:
  void OnDone(const grpc::Status&) override { delete this; }

  const LiveCall live_;
  grpc::ClientContext context_;
};

TEST(ControlServer, OutlivesCallersThatHangUpWhileTheyAreRefused) {
  ServerSettings settings;
  settings.security.token = "0123456789abcdef";
  ControlSite site(0, settings);
  LiveCalls calls;
  grpc::GenericStub stub(grpc::CreateChannel(site.address(), grpc::InsecureChannelCredentials()));
  constexpr int kCalls = 2'000;
  for (int i = 0; i < kCalls; ++i) {
    new GivenUp(stub, calls);
    if (i % 100 == 99) calls.wait_for_none();
  }
  calls.wait_for_none();
  EXPECT_EQ(site.status(*site.client()).agents.size(), 0u);
}

// Answers everything with one error.
class Refuser final : public RequestTarget {
 public:
  explicit Refuser(Error error) : error_(std::move(error)) {}

  Ticket ask(Request, double, Answer answer) override {
    answer(error_);
    return 1;
  }
  void abandon(Ticket) override {}

 private:
  const Error error_;
};

// What a client gets whose calls are answered with `error`.
Error sent(const Error& error) {
  Refuser refuser(error);
  ServerSettings settings;
  settings.listen = "127.0.0.1:0";
  const auto server = std::move(ControlServer::start(settings, refuser).value());
  ClientSettings caller;
  caller.address = server->address();
  const auto client = std::move(ControlClient::make(caller).value());
  const Result<Reply> reply = client->call(AskStatus{}, 3);
  EXPECT_FALSE(reply.ok());
  return reply.ok() ? Error{} : reply.error();
}

TEST(ControlClient, GetsAnErrorOfTheControllerItselfAtOnce) {
  const Error error = sent({ErrorCode::kInternal, "a table is missing"});
  EXPECT_EQ(error.code, ErrorCode::kInternal);
  EXPECT_EQ(error.message, "a table is missing");
}

TEST(ControlClient, GetsErrorsOfManyWords) {
  std::string words;
  for (int i = 0; i < 4'000; ++i) words += "\u00e4";
  const Error error = sent({ErrorCode::kUnknownId, words});
  EXPECT_EQ(error.code, ErrorCode::kUnknownId);
  EXPECT_EQ(error.message, words);
}

// Takes its time to open a channel.
class SlowHost final : public ChannelHost {
 public:
  explicit SlowHost(double open_s) : open_s_(open_s) {}

  Status open(std::shared_ptr<const ServerPart>) override {
    ++opened_;
    std::this_thread::sleep_for(std::chrono::duration<double>(open_s_));
    return {};
  }
  void close(ChannelId, const Error&) override { ++closed_; }

  int opened() const { return opened_; }
  int closed() const { return closed_; }

 private:
  const double open_s_;
  std::atomic<int> opened_ = 0;
  std::atomic<int> closed_ = 0;
};

// The controller joins what waits for an agent into one message, and hears of each channel all the same.
TEST(AgentLink, SaysOfEachChannelThatItIsOpen) {
  ControllerSettings settings = quick_settings();
  settings.lost_after_s = 1.5;
  settings.apply_within_s = 20;
  ControlSite site(0, {}, settings);
  SlowHost host(0.9);
  auto link =
      AgentLink::start(site.client_settings(), {"slow", make_agent_instance()}, dgx_shape(), host);
  ASSERT_TRUE(link.ok());
  ASSERT_TRUE(comes_true([&] { return link.value()->state().is_joined; }));
  const auto client = site.client();
  const EndpointId end = site.create_endpoint(*client, "slow", "gpu0").value();
  std::atomic<int> open = 0;
  const auto ask = [&](size_t schema_bytes) {
    client->ask(
        CreateChannel{make_request_id(), {end}, {end}, {std::string(schema_bytes, 'x'), {}}},
        20,
        [&](const Reply& reply) { open += std::holds_alternative<ChannelOpen>(reply); });
  };
  ask(1);
  ASSERT_TRUE(comes_true([&] { return host.opened() == 1; }));
  ask(1'000'000);  // which is not read yet, so that the others wait behind it
  ask(1);
  ask(1);
  EXPECT_TRUE(comes_true([&] { return open == 4; }));
  EXPECT_EQ(host.closed(), 0);
  EXPECT_EQ(link.value()->state().joins, 1u);
}

TEST(AgentLink, HoldsNoMoreThanItCanReport) {
  ServerSettings settings;
  settings.message_bytes_max = 100'000;
  ControlSite site(0, settings);
  ClientSettings caller = site.client_settings();
  caller.message_bytes_max = settings.message_bytes_max;
  PlanLedger ledger;
  const auto link = AgentLink::start(caller, {"node0", make_agent_instance()}, dgx_shape(), ledger);
  ASSERT_TRUE(link.ok());
  ASSERT_TRUE(comes_true([&] { return link.value()->state().is_joined; }));
  const auto client = site.client();
  const std::vector<EndpointId> ends = {site.create_endpoint(*client, "node0", "gpu0").value()};
  const ChannelRows rows = {std::string(10'000, 'x'), {}};
  std::optional<Error> refusal;
  size_t open = 0;
  while (!refusal.has_value() && open < 20) {
    const auto reply = client->call(CreateChannel{make_request_id(), ends, ends, rows}, 10);
    if (reply.ok()) {
      ++open;
    } else {
      refusal = reply.error();
    }
  }
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->code, ErrorCode::kControlLimit) << refusal->message;
  site.stop_controller();
  site.start_controller();
  EXPECT_TRUE(comes_true([&] { return link.value()->state().joins == 2; }));
  EXPECT_EQ(ledger.parts().size(), open);
  EXPECT_EQ(site.status(*client).open_channels, open);
}

// It could otherwise never join again.
TEST(AgentLink, HoldsNothingOnceItsReportIsRefused) {
  ControlSite site(1);
  const auto client = site.client();
  const EndpointId end = site.create_endpoint(*client, "node0", "gpu0").value();
  const std::vector<EndpointId> ends = {end};
  const CreateChannel large{make_request_id(), ends, ends, {std::string(300'000, 'x'), {}}};
  ASSERT_TRUE(client->call(large, 10).ok());
  ASSERT_EQ(site.parts(0), 1u);
  site.stop_controller();
  EXPECT_EQ(site.parts(0), 1u);
  site.limit_messages(200'000);
  site.start_controller();
  EXPECT_TRUE(comes_true([&] { return site.parts(0) == 0 && site.all_joined(); }));
  EXPECT_EQ(site.status(*client).open_channels, 0u);
}

}  // namespace
}  // namespace crossdock::control
