#include "control/rpc/agent_link.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include <grpcpp/generic/generic_stub.h>

#include "control/protocol/check.hpp"
#include "control/rpc/grpc_bytes.hpp"
#include "control/rpc/grpc_channel.hpp"
#include "control/rpc/live_calls.hpp"
#include "control/rpc/message_queue.hpp"

namespace crossdock::control {
namespace {

constexpr double kRejoinFirstS = 0.1;
constexpr double kRejoinMostS = 2.0;
constexpr double kTickMostS = 0.1;
constexpr double kTickLeastS = 0.005;

double now_s() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// One call of Attend. It holds itself until OnDone, and tells its keeper, who outlives it, what arrives.
class Attendance final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  struct Listener {
    virtual ~Listener() = default;
    virtual void on_received(const Attendance* from, std::vector<ControllerMessage> messages) = 0;
    // `is_refused`: what was said is not to be said again, since it is too large or not understood.
    virtual void on_ended(const Attendance* from, Error error, bool is_refused) = 0;
  };

  Attendance(const ClientSettings& settings, Listener& listener, LiveCalls& calls)
      : live_(calls), settings_(settings), listener_(listener), queue_(settings.message_bytes_max) {
    add_token(settings_, context_);
  }

  void begin(grpc::GenericStub& stub, const std::shared_ptr<Attendance>& self) {
    self_ = self;
    static const std::string path(kAttendPath);
    stub.PrepareBidiStreamingCall(&context_, path, {}, this);
    AddHold();  // writes begin outside of reactions; given back when the queue has ended
    StartRead(&incoming_);
    StartCall();
  }

  bool put(AgentMessage message) { return queue_.put(std::move(message)); }
  void write() { turn(queue_.begin(bytes_)); }
  void break_off() {
    {
      const std::lock_guard held(done_mutex_);
      if (is_done_) return;
      context_.TryCancel();
    }
    queue_.end(true);
    write();
  }

 private:
  using Next = MessageQueue<AgentMessage>::Next;

  void turn(Next next) {
    if (next == Next::kWrite) {
      outgoing_ = buffer_of(bytes_);
      StartWrite(&outgoing_);
    } else if (next == Next::kFinish) {
      RemoveHold();
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      queue_.end(true);
      write();
      return;
    }
    Result<std::vector<ControllerMessage>> messages =
        decode_controller_messages(ReceivedBytes(incoming_).view());
    if (!messages.ok()) {
      {
        const std::lock_guard held(done_mutex_);
        broken_ = messages.error();
      }
      break_off();
      return;
    }
    listener_.on_received(this, std::move(messages.value()));
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) queue_.end(true);
    turn(queue_.advance(bytes_));
  }

  void OnDone(const grpc::Status& status) override {
    std::optional<Error> broken;
    {
      const std::lock_guard held(done_mutex_);
      is_done_ = true;
      broken = broken_;
    }
    Error error =
        make_error(ErrorCode::kControllerUnreachable, "{} ended the connection", settings_.address);
    if (broken.has_value()) {
      error = *broken;
    } else if (!status.ok()) {
      error = error_of(status, context_, settings_);
    }
    // Who implements nothing of ours is no controller, whose refusal would count.
    const bool is_refused = !broken.has_value() && error.code == ErrorCode::kMalformedMessage &&
                            status.error_code() != grpc::StatusCode::UNIMPLEMENTED;
    listener_.on_ended(this, std::move(error), is_refused);
    const auto last = std::move(self_);
  }

  const LiveCall live_;
  const ClientSettings& settings_;
  Listener& listener_;
  grpc::ClientContext context_;
  MessageQueue<AgentMessage> queue_;
  grpc::ByteBuffer incoming_;
  std::string bytes_;          // of the thread that has the turn to write
  grpc::ByteBuffer outgoing_;  // likewise
  std::recursive_mutex done_mutex_;
  bool is_done_ = false;
  std::optional<Error> broken_;
  std::shared_ptr<Attendance> self_;
};

}  // namespace

AgentInstance make_agent_instance() {
  std::random_device random;
  const uint64_t value = (uint64_t{random()} << 32) | random();
  return {value == 0 ? 1 : value};
}

class AgentLink::Keeper final : public Attendance::Listener {
 public:
  Keeper(ClientSettings settings,
         AgentSettings agent,
         std::shared_ptr<const topology::ServerShape> shape,
         ChannelHost& host)
      : settings_(std::move(settings)),
        stub_(make_channel(settings_)),
        agent_(std::move(agent), std::move(shape), host) {}

  void start() {
    beating_ = std::thread([this] { beat_until_stopped(); });
  }

  void stop() {
    {
      const std::lock_guard held(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    beating_.join();  // from here on no thread makes a stream
    std::shared_ptr<Attendance> stream;
    {
      const std::lock_guard held(mutex_);
      stream = stream_;
    }
    if (stream != nullptr) stream->break_off();
    stream = nullptr;
    calls_.wait_for_none();
  }

  AgentLinkState state() const {
    const std::lock_guard held(mutex_);
    AgentLinkState state;
    state.is_joined = agent_.is_joined();
    if (!state.is_joined) state.trouble = trouble_;
    state.joins = joins_;
    state.endpoints = agent_.endpoints().size();
    state.channels = agent_.channels().size();
    return state;
  }

 private:
  void on_received(const Attendance* from, std::vector<ControllerMessage> messages) override {
    // Each by itself, and its answer sent: a host may take long to open a channel, and silence costs all others.
    for (ControllerMessage& message : messages) {
      drive([&] {
        if (from == stream_.get()) receive(std::move(message));
      });
    }
  }

  void receive(ControllerMessage message) {
    if (const auto* welcome = std::get_if<Welcome>(&message)) {
      ++joins_;
      backoff_s_ = kRejoinFirstS;
      tick_s_ = std::clamp(welcome->heartbeat_s / 10, kTickLeastS, kTickMostS);
    }
    agent_.on_message(std::move(message), now_s());
  }

  void on_ended(const Attendance* from, Error error, bool is_refused) override {
    drive([&] {
      if (from != stream_.get()) return;
      // The report of what it holds would be refused for ever. So it holds nothing from now on.
      if (is_refused && !agent_.is_joined()) agent_.on_message(Leave{sendable(error)}, now_s());
      if (!is_refused_) trouble_ = std::move(error);
      agent_.on_link_closed(now_s());
      stream_ = nullptr;
      std::minstd_rand random(std::random_device{}());
      const double jitter = std::uniform_real_distribution<double>(0.5, 1.0)(random);
      connect_at_s_ = now_s() + backoff_s_ * jitter;
      backoff_s_ = std::min(2 * backoff_s_, kRejoinMostS);
    });
  }

  void beat_until_stopped() {
    while (true) {
      std::shared_ptr<Attendance> attendance;
      {
        std::unique_lock held(mutex_);
        changed_.wait_for(
            held, std::chrono::duration<double>(tick_s_), [this] { return is_stopping_; });
        if (is_stopping_) return;
        if (stream_ == nullptr && now_s() >= connect_at_s_) {
          attendance = std::make_shared<Attendance>(settings_, *this, calls_);
          stream_ = attendance;
          is_refused_ = false;
        }
      }
      if (attendance != nullptr) attendance->begin(stub_, attendance);
      drive([&] {
        if (attendance != nullptr && attendance == stream_) agent_.on_link_open(now_s());
        agent_.on_tick(now_s());
      });
    }
  }

  // Lets `act` speak to the agent under the lock and sends what comes of it.
  void drive(const std::function<void()>& act) {
    std::shared_ptr<Attendance> stream;
    bool keeps_up = true;
    bool is_refused = false;
    {
      const std::lock_guard held(mutex_);
      act();
      stream = stream_;
      if (const Error* refusal = agent_.refusal(); refusal != nullptr && stream != nullptr) {
        trouble_ = *refusal;
        is_refused = is_refused_ = true;
      }
      for (AgentMessage& message : agent_.take_outbox()) {
        keeps_up = keeps_up && (stream == nullptr || stream->put(std::move(message)));
      }
    }
    if (stream == nullptr) return;
    if (keeps_up && !is_refused) {
      stream->write();
    } else {
      stream->break_off();
    }
  }

  const ClientSettings settings_;
  LiveCalls calls_;
  grpc::GenericStub stub_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Agent agent_;
  std::shared_ptr<Attendance> stream_;  // none while there is no connection
  std::optional<Error> trouble_;
  double connect_at_s_ = 0;
  double backoff_s_ = kRejoinFirstS;
  double tick_s_ = kTickLeastS;
  bool is_refused_ = false;  // by the controller, over stream_ or the one before; trouble_ says why
  uint64_t joins_ = 0;
  bool is_stopping_ = false;
  std::thread beating_;
};

Result<std::unique_ptr<AgentLink>> AgentLink::start(
    ClientSettings controller,
    AgentSettings agent,
    std::shared_ptr<const topology::ServerShape> shape,
    ChannelHost& host) {
  CD_TRY(check_rpc_settings(controller));
  // The other half is for the server's graph.
  const auto half = static_cast<size_t>(controller.message_bytes_max / 2);
  agent.report_bytes_max = std::min(agent.report_bytes_max, half);
  auto keeper =
      std::make_unique<Keeper>(std::move(controller), std::move(agent), std::move(shape), host);
  keeper->start();
  return std::unique_ptr<AgentLink>(new AgentLink(std::move(keeper)));
}

AgentLink::AgentLink(std::unique_ptr<Keeper> keeper) : keeper_(std::move(keeper)) {}
AgentLink::~AgentLink() { keeper_->stop(); }
AgentLinkState AgentLink::state() const { return keeper_->state(); }

}  // namespace crossdock::control
