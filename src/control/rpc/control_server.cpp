// The services as gRPC's callback API wants them. Methods are raw: bytes are decoded here, so that a message that
// breaks the protocol gets an error with words.
//
// Who ends what: a reactor lives until OnDone, holds itself until then, and counts as a call of the server. A unary
// call is finished once, by its answer or by its cancellation, whichever comes first. A stream is finished when its
// queue has ended and no thread writes.
#include "control/rpc/control_server.hpp"

#include <chrono>
#include <mutex>
#include <optional>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "base/check.hpp"
#include "control/rpc/connection_acceptor.hpp"
#include "control/rpc/control.grpc.pb.h"
#include "control/rpc/grpc_bytes.hpp"
#include "control/rpc/live_calls.hpp"
#include "control/rpc/message_queue.hpp"

namespace crossdock::control {
namespace {

namespace pb = ::crossdock::control::v1;
using grpc::ByteBuffer;
using grpc::CallbackServerContext;

constexpr auto kShutdownGrace = std::chrono::milliseconds(200);
constexpr int kPingIntervalMinMs = 2'000;  // agents ping every ten seconds
// A caller whose machine is gone is noticed within their sum, whether or not a call is under way.
constexpr int kServerPingAfterMs = 30'000;
constexpr int kServerPingWithinMs = 10'000;
// Of a connection: until it has greeted, and then without a call. Callers connect again by themselves.
constexpr int kGreetingWithinMs = 10'000;
constexpr int kIdleMaxMs = 600'000;

Status check_token(const CallbackServerContext& context, const std::string& token) {
  if (token.empty()) return {};
  const auto entry = context.client_metadata().find(kTokenKey);
  if (entry == context.client_metadata().end()) {
    return make_error(ErrorCode::kNotAllowed,
                      "a token is wanted, and the call carries none\n"
                      "  try      --token-file  \u00b7  CROSSDOCK_CONTROL_TOKEN");
  }
  const std::string_view given(entry->second.data(), entry->second.size());
  if (given.starts_with(kTokenScheme) && is_token(token, given.substr(kTokenScheme.size())))
    return {};
  return make_error(ErrorCode::kNotAllowed,
                    "the token is not the one that is wanted\n"
                    "  try      the token file that the controller was started with");
}

void tell(CallbackServerContext& context, const Error& error) {
  context.AddTrailingMetadata(kErrorKey, code_text(error.code));
}

double seconds_left(const CallbackServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  return std::chrono::duration<double>(left).count();
}

// ---- requests -------------------------------------------------------------------------------------------------------

class RequestReactor final : public grpc::ServerUnaryReactor {
 public:
  RequestReactor(CallbackServerContext& context,
                 ByteBuffer& response,
                 size_t kind,
                 LiveCalls& calls)
      : context_(context), response_(response), kind_(kind), calls_(calls) {
    calls_.begin();
  }

  void ask(RequestTarget& target, Request request) {
    const auto self = self_;
    const RequestTarget::Ticket ticket = target.ask(
        std::move(request), seconds_left(context_), [self](Reply reply) { self->answer(reply); });
    const std::lock_guard held(mutex_);
    target_ = &target;
    ticket_ = ticket;
  }

  void fail(const Error& error) {
    if (!takes_end()) return;
    tell(context_, error);
    Finish(status_of(error));
  }

  std::shared_ptr<RequestReactor> self_;  // until OnDone

 private:
  void answer(const Reply& reply) {
    if (const Error* error = std::get_if<Error>(&reply)) return fail(*error);
    if (!takes_end()) return;
    response_ = buffer_of(encode_shared_reply(kind_, reply));
    Finish(grpc::Status::OK);
  }

  // True for the one who ends the call.
  bool takes_end() {
    const std::lock_guard held(mutex_);
    return !std::exchange(is_finished_, true);
  }

  // Not before the method has returned, and so after ask().
  void OnCancel() override {
    RequestTarget* target = nullptr;
    {
      const std::lock_guard held(mutex_);
      if (is_finished_) return;
      is_finished_ = true;
      target = target_;
    }
    if (target != nullptr) target->abandon(ticket_);
    Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the caller does not wait for the answer"));
  }

  void OnDone() override {
    LiveCalls& calls = calls_;
    const auto last = std::move(self_);
    calls.end();
  }

  CallbackServerContext& context_;
  ByteBuffer& response_;
  const size_t kind_;
  LiveCalls& calls_;
  std::mutex mutex_;
  RequestTarget* target_ = nullptr;
  RequestTarget::Ticket ticket_ = 0;
  bool is_finished_ = false;
};

template <class Base>
using RawMethods = pb::Control::WithRawCallbackMethod_CreateEndpoint<
    pb::Control::WithRawCallbackMethod_DeleteEndpoint<
        pb::Control::WithRawCallbackMethod_CreateChannel<
            pb::Control::WithRawCallbackMethod_DeleteChannel<
                pb::Control::WithRawCallbackMethod_Status<pb::Control::WithRawCallbackMethod_Meet<
                    pb::Control::WithRawCallbackMethod_Server<
                        pb::Control::WithRawCallbackMethod_Part<
                            pb::Control::WithRawCallbackMethod_Keep<Base>>>>>>>>>;

class ControlService final : public RawMethods<pb::Control::Service> {
 public:
  ControlService(RequestTarget& target, std::string token, LiveCalls& calls)
      : target_(target), token_(std::move(token)), calls_(calls) {}

 private:
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* CreateEndpoint(CallbackServerContext* c,
                          const ByteBuffer* in,
                          ByteBuffer* out) override {
    return begin(0, *c, *in, *out);
  }
  Reactor* DeleteEndpoint(CallbackServerContext* c,
                          const ByteBuffer* in,
                          ByteBuffer* out) override {
    return begin(1, *c, *in, *out);
  }
  Reactor* CreateChannel(CallbackServerContext* c, const ByteBuffer* in, ByteBuffer* out) override {
    return begin(2, *c, *in, *out);
  }
  Reactor* DeleteChannel(CallbackServerContext* c, const ByteBuffer* in, ByteBuffer* out) override {
    return begin(3, *c, *in, *out);
  }
  Reactor* Status(CallbackServerContext* c, const ByteBuffer* in, ByteBuffer* out) override {
    return begin(4, *c, *in, *out);
  }
  Reactor* Meet(CallbackServerContext* c, const ByteBuffer* in, ByteBuffer* out) override {
    return begin(5, *c, *in, *out);
  }
  Reactor* Server(CallbackServerContext* c, const ByteBuffer* in, ByteBuffer* out) override {
    return begin(6, *c, *in, *out);
  }
  Reactor* Part(CallbackServerContext* c, const ByteBuffer* in, ByteBuffer* out) override {
    return begin(7, *c, *in, *out);
  }
  Reactor* Keep(CallbackServerContext* c, const ByteBuffer* in, ByteBuffer* out) override {
    return begin(8, *c, *in, *out);
  }

  Reactor* begin(size_t kind,
                 CallbackServerContext& context,
                 const ByteBuffer& in,
                 ByteBuffer& out) {
    auto reactor = std::make_shared<RequestReactor>(context, out, kind, calls_);
    reactor->self_ = reactor;
    const crossdock::Status allowed = check_token(context, token_);
    if (!allowed.ok()) {
      reactor->fail(allowed.error());
      return reactor.get();
    }
    Result<Request> request = decode_request(kind, ReceivedBytes(in).view());
    if (request.ok()) {
      reactor->ask(target_, std::move(request.value()));
    } else {
      reactor->fail(request.error());
    }
    return reactor.get();
  }

  RequestTarget& target_;
  const std::string token_;
  LiveCalls& calls_;
};

// ---- agents ---------------------------------------------------------------------------------------------------------

class AttendReactor final : public grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>,
                            public AgentConnection {
 public:
  AttendReactor(CallbackServerContext& context,
                ControllerHost& host,
                LiveCalls& calls,
                int64_t message_bytes_max)
      : context_(context), host_(host), calls_(calls), queue_(message_bytes_max) {
    calls_.begin();
  }

  void begin(const std::shared_ptr<AttendReactor>& self) {
    self_ = self;
    link_ = host_.open(self);
    StartRead(&incoming_);
  }

  void refuse(const std::shared_ptr<AttendReactor>& self, const Error& error) {
    self_ = self;
    // By the queue, which ends once: the caller may cancel at the same time.
    end_with(error);
  }

  bool put(ControllerMessage message) override { return queue_.put(std::move(message)); }
  void end() override { queue_.end(false); }
  void write() override { turn(queue_.begin(bytes_)); }
  void break_off() override {
    {
      // What was under way may end here and now, OnDone included.
      const std::lock_guard held(done_mutex_);
      if (is_done_) return;
      context_.TryCancel();
    }
    end_with(make_error(ErrorCode::kAgentLost, "the agent does not read what it is sent"));
  }

 private:
  using Next = MessageQueue<ControllerMessage>::Next;

  void turn(Next next) {
    if (next == Next::kWrite) {
      outgoing_ = buffer_of(bytes_);
      StartWrite(&outgoing_);
    } else if (next == Next::kFinish) {
      std::optional<Error> cause;
      {
        const std::lock_guard held(mutex_);
        cause = cause_;
      }
      if (cause.has_value()) tell(context_, *cause);
      Finish(cause.has_value() ? status_of(*cause) : grpc::Status::OK);
    }
  }

  // Everything that still waits is dropped; the stream ends with the first cause that was given.
  void end_with(std::optional<Error> cause) {
    {
      const std::lock_guard held(mutex_);
      if (!cause_.has_value()) cause_ = std::move(cause);
    }
    queue_.end(true);
    write();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      host_.on_closed(link_);
      end_with(std::nullopt);
      return;
    }
    Result<std::vector<AgentMessage>> messages =
        decode_agent_messages(ReceivedBytes(incoming_).view());
    if (!messages.ok()) {
      host_.on_closed(link_);
      end_with(messages.error());
      return;
    }
    host_.on_messages(link_, std::move(messages.value()));
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) queue_.end(true);
    turn(queue_.advance(bytes_));
  }

  void OnCancel() override {
    host_.on_closed(link_);
    end_with(std::nullopt);
  }

  void OnDone() override {
    host_.on_closed(link_);
    {
      const std::lock_guard held(done_mutex_);
      is_done_ = true;
    }
    LiveCalls& calls = calls_;
    const auto last = std::move(self_);
    calls.end();
  }

  CallbackServerContext& context_;
  ControllerHost& host_;
  LiveCalls& calls_;
  LinkId link_ = 0;
  MessageQueue<ControllerMessage> queue_;
  ByteBuffer incoming_;
  std::string bytes_;    // of the thread that has the turn to write
  ByteBuffer outgoing_;  // likewise
  std::mutex mutex_;
  std::optional<Error> cause_;
  std::recursive_mutex done_mutex_;
  bool is_done_ = false;
  std::shared_ptr<AttendReactor> self_;
};

class AttendanceService final
    : public pb::Attendance::WithRawCallbackMethod_Attend<pb::Attendance::Service> {
 public:
  AttendanceService(ControllerHost& host, const ServerSettings& settings, LiveCalls& calls)
      : host_(host),
        token_(settings.security.token),
        message_bytes_max_(settings.message_bytes_max),
        calls_(calls) {}

 private:
  grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* Attend(CallbackServerContext* context) override {
    const auto reactor =
        std::make_shared<AttendReactor>(*context, host_, calls_, message_bytes_max_);
    const crossdock::Status allowed = check_token(*context, token_);
    if (allowed.ok()) {
      reactor->begin(reactor);
    } else {
      reactor->refuse(reactor, allowed.error());
    }
    return reactor.get();
  }

  ControllerHost& host_;
  const std::string token_;
  const int64_t message_bytes_max_;
  LiveCalls& calls_;
};

std::shared_ptr<grpc::ServerCredentials> credentials_of(const ServerSecurity& security) {
  if (security.certificate_pem.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      security.client_ca_pem.empty() ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                                     : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = security.client_ca_pem;
  options.pem_key_cert_pairs.push_back({security.key_pem, security.certificate_pem});
  return grpc::SslServerCredentials(options);
}

// Connections that come from elsewhere have gRPC look at certificate and key with the first of them; a port of its own
// makes it look now.
Status check_certificate(const ServerSettings& settings) {
  if (settings.security.certificate_pem.empty()) return {};
  grpc::ServerBuilder trial;
  int port = 0;
  trial.AddListeningPort("127.0.0.1:0", credentials_of(settings.security), &port);
  if (trial.BuildAndStart() != nullptr && port != 0) return {};
  return make_error(ErrorCode::kControllerUnreachable,
                    "cannot listen on {}: certificate and key do not fit",
                    settings.listen);
}

}  // namespace

class ControlServer::State {
 public:
  Status start(const ServerSettings& settings, RequestTarget& target, ControllerHost* host) {
    CD_TRY(check_rpc_settings(settings));
    quiet_grpc_log();
    CD_TRY(check_certificate(settings));
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    const std::string& token = settings.security.token;
    control_ = std::make_unique<ControlService>(target, token, calls_);
    grpc::ServerBuilder builder;
    intake_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        credentials_of(settings.security));
    builder.RegisterService(control_.get());
    if (host != nullptr) {
      attendance_ = std::make_unique<AttendanceService>(*host, settings, calls_);
      builder.RegisterService(attendance_.get());
    }
    set_limits(builder, settings);
    CD_ASSIGN(acceptor_, ConnectionAcceptor::listen(settings.listen));
    server_ = builder.BuildAndStart();
    CD_CHECK(server_ != nullptr, "a server at {}", acceptor_->address());
    acceptor_->start([this](int listener_fd, Descriptor connection) {
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
      taken.listener_fd = listener_fd;
      taken.fd = connection.release();
      intake_->HandleNewConnection(&taken);
    });
    return {};
  }

  ~State() {
    acceptor_.reset();
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
    calls_.wait_for_none();
  }

  const ConnectionAcceptor& acceptor() const { return *acceptor_; }

 private:
  static void set_limits(grpc::ServerBuilder& builder, const ServerSettings& settings) {
    builder.SetMaxReceiveMessageSize(static_cast<int>(settings.message_bytes_max));
    builder.SetMaxSendMessageSize(-1);
    grpc::ResourceQuota quota("crossdock-control");
    quota.Resize(static_cast<size_t>(settings.memory_bytes)).SetMaxThreads(settings.threads_max);
    builder.SetResourceQuota(quota);
    // A window that grows with the bandwidth lets callers send megabytes after the quota is used up.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kGreetingWithinMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMaxMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kPingIntervalMinMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kServerPingAfterMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kServerPingWithinMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // any number
  }

  LiveCalls calls_;
  std::unique_ptr<ControlService> control_;
  std::unique_ptr<AttendanceService> attendance_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> intake_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ConnectionAcceptor> acceptor_;
};

Result<std::unique_ptr<ControlServer>> ControlServer::start(ServerSettings settings,
                                                            ControllerHost& host) {
  auto state = std::make_unique<State>();
  CD_TRY(state->start(settings, host, &host));
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

Result<std::unique_ptr<ControlServer>> ControlServer::start(ServerSettings settings,
                                                            RequestTarget& target) {
  auto state = std::make_unique<State>();
  CD_TRY(state->start(settings, target, nullptr));
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ControlServer::~ControlServer() = default;
const std::string& ControlServer::address() const { return state_->acceptor().address(); }
int64_t ControlServer::refused_connections() const { return state_->acceptor().refused(); }

}  // namespace crossdock::control
