// The control plane in one process.
#include "control/local/local_control.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/catalogue.hpp"

namespace crossdock::control {
namespace {

class CountingHost : public ChannelHost {
 public:
  Status open(std::shared_ptr<const ServerPart> part) override {
    if (is_full) return make_error(ErrorCode::kOutOfMemoryBudget, "no room for buffers");
    open_now.insert(part->outline->channel);
    return {};
  }
  void close(ChannelId channel, const Error& cause) override {
    EXPECT_EQ(open_now.erase(channel), 1);
    last_cause = cause.message;
  }

  bool is_full = false;
  std::set<ChannelId> open_now;
  std::string last_cause;
};

class LocalControlTest : public testing::Test {
 protected:
  LocalControlTest() {
    auto machine = topology::make_machine("dgx-a100");
    control = std::move(
        LocalControl::make("here", machine.value().shape_at(0), host, 0xabcd1234).value());
  }

  CountingHost host;
  std::unique_ptr<LocalControl> control;
};

TEST_F(LocalControlTest, OpensAndClosesAChannelByCallsAlone) {
  const EndpointId from = control->create_endpoint("gpu0").value();
  const EndpointId to = control->create_endpoint("gpu5").value();
  EXPECT_EQ(text_of(from), "abcd1234-1");
  const auto channel = control->create_channel({from}, {from, to});
  ASSERT_TRUE(channel.ok()) << channel.error().message;
  EXPECT_TRUE(host.open_now.contains(channel.value()));
  ASSERT_EQ(control->channels().size(), 1);
  EXPECT_EQ(control->channels()[0]->outline->servers[0].name, "here");
  EXPECT_EQ(control->status().open_channels, 1);
  ASSERT_TRUE(control->delete_channel(channel.value()).ok());
  EXPECT_TRUE(host.open_now.empty());
  EXPECT_TRUE(control->delete_channel(channel.value()).ok());
  EXPECT_TRUE(control->delete_endpoint(to).ok());
  EXPECT_EQ(control->status().endpoints, 1);
}

TEST_F(LocalControlTest, SaysWhyAChannelCannotBe) {
  const EndpointId gpu = control->create_endpoint("gpu0").value();
  EXPECT_EQ(control->create_endpoint("gpu99").error().code, ErrorCode::kUnknownId);
  EXPECT_EQ(control->create_endpoint("nic0").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(control->create_channel({gpu}, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(control->create_channel({gpu}, {EndpointId{77}}).error().code, ErrorCode::kUnknownId);
  host.is_full = true;
  const auto refused = control->create_channel({gpu}, {gpu});
  EXPECT_EQ(refused.error().code, ErrorCode::kOutOfMemoryBudget);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("no room for buffers"));
  EXPECT_EQ(control->status().channels.size(), 0);
  EXPECT_TRUE(control->delete_endpoint(gpu).ok());
}

TEST_F(LocalControlTest, KeepsAnEndpointThatAChannelNames) {
  const EndpointId gpu = control->create_endpoint("gpu0").value();
  const ChannelId channel = control->create_channel({gpu}, {gpu}).value();
  const Status refused = control->delete_endpoint(gpu);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(control->delete_channel(channel).ok());
  EXPECT_TRUE(control->delete_endpoint(gpu).ok());
}

TEST_F(LocalControlTest, TakesSeveralEndpointsOfOneVertex) {
  const EndpointId one = control->create_endpoint("gpu0").value();
  const EndpointId two = control->create_endpoint("gpu0").value();
  const auto channel = control->create_channel({one, two}, {two});
  ASSERT_TRUE(channel.ok()) << channel.error().message;
  EXPECT_EQ(control->channels()[0]->outline->sources.size(), 2);
}

TEST_F(LocalControlTest, ClosesWhatIsOpenWhenItEnds) {
  const EndpointId gpu = control->create_endpoint("gpu0").value();
  ASSERT_TRUE(control->create_channel({gpu}, {gpu}).ok());
  control.reset();
  EXPECT_TRUE(host.open_now.empty());
  EXPECT_THAT(host.last_cause, testing::HasSubstr("ended"));
}

TEST(LocalControl, RefusesANameThatNoServerMayHave) {
  CountingHost host;
  auto machine = topology::make_machine("dgx-a100");
  const auto made = LocalControl::make("a/b", machine.value().shape_at(0), host, 1);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kMalformedMessage);
}

}  // namespace
}  // namespace crossdock::control
