// What any gRPC tool may ask a controller's port, in raw bytes: health and reflection.
#include <condition_variable>
#include <mutex>
#include <optional>

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "control/rpc/control_site.hpp"
#include "control/rpc/grpc_bytes.hpp"

namespace crossdock::control {
namespace {

// A call with one message each way.
class OneExchange final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  OneExchange(const std::string& address, const std::string& method, const std::string& request)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        sent_(buffer_of(request)) {
    stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartRead(&received_);
    StartWriteLast(&sent_, {});
    StartCall();
  }

  std::string reply() {
    std::unique_lock held(mutex_);
    ended_.wait(held, [this] { return status_.has_value(); });
    EXPECT_TRUE(status_->ok()) << status_->error_message();
    return reply_;
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok) reply_ = std::string(ReceivedBytes(received_).view());
  }
  void OnDone(const grpc::Status& status) override {
    const std::lock_guard held(mutex_);
    status_ = status;
    ended_.notify_all();
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::ByteBuffer sent_;
  grpc::ByteBuffer received_;
  std::string reply_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<grpc::Status> status_;
};

TEST(PublicServices, SayThatTheControllerServes) {
  ServerSettings settings;
  settings.security.token = "0123456789abcdef";  // which these do not want
  const ControlSite site(0, settings);
  OneExchange check(site.address(), "/grpc.health.v1.Health/Check", "");
  EXPECT_EQ(check.reply(), std::string("\x08\x01", 2));  // SERVING
}

TEST(PublicServices, DescribeTheServices) {
  const ControlSite site(0);
  const std::string list_services("\x3a\x00", 2);
  OneExchange list(site.address(),
                   "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                   list_services);
  const std::string reply = list.reply();
  EXPECT_THAT(reply, testing::HasSubstr("crossdock.control.v1.Control"));
  EXPECT_THAT(reply, testing::HasSubstr("crossdock.control.v1.Attendance"));
}

}  // namespace
}  // namespace crossdock::control
