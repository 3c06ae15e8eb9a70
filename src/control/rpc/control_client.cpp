#include "control/rpc/control_client.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>
#include <unordered_map>

#include <grpcpp/generic/generic_stub.h>

#include "control/rpc/grpc_bytes.hpp"
#include "control/rpc/grpc_channel.hpp"
#include "control/rpc/live_calls.hpp"

namespace crossdock::control {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kBackoffFirstS = 0.05;
constexpr double kBackoffMostS = 1.0;
constexpr double kLongestS = 1e6;  // of a deadline: longer is as good as none
constexpr auto kPollInterval = std::chrono::milliseconds(50);

// A span that clocks can count: what is no number is none, and too long is as good as for ever.
std::chrono::duration<double> span_of(double seconds) {
  return std::chrono::duration<double>(seconds > 0 ? std::min(seconds, kLongestS) : 0);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

const std::string& method_of(size_t kind) {
  static const std::vector<std::string> methods(std::begin(kMethodPaths), std::end(kMethodPaths));
  return methods[kind];
}

Error out_of_time(const Error& last, double within_s) {
  return make_error(
      ErrorCode::kControllerUnreachable,
      "{}\n  limits   waited {:.1f} s\n"
      "  try      whether crossdock controller runs there, and listens at this address",
      last.message,
      within_s);
}

}  // namespace

RequestId make_request_id() {
  std::random_device random;
  const auto word = [&] { return (uint64_t{random()} << 32) | random(); };
  RequestId id{word(), word()};
  if (id == RequestId{}) id.low = 1;
  return id;
}

class ControlClient::State {
 public:
  explicit State(ClientSettings settings)
      : settings_(std::move(settings)), channel_(make_channel(settings_)), stub_(channel_) {}

  Ticket ask(const Request& request, double within_s, Answer answer) {
    auto attempt = std::make_shared<Attempt>(calls_);
    attempt->kind = request.index();
    attempt->answer = std::move(answer);
    attempt->sent = buffer_of(encode_request(request));
    attempt->context.set_deadline(
        std::chrono::system_clock::now() +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(span_of(within_s)));
    add_token(settings_, attempt->context);
    Ticket ticket = 0;
    {
      const std::lock_guard held(mutex_);
      ticket = ++last_ticket_;
      attempts_.emplace(ticket, attempt);
    }
    stub_.UnaryCall(
        &attempt->context,
        method_of(attempt->kind),
        {},
        &attempt->sent,
        &attempt->received,
        [this, attempt, ticket](const grpc::Status& status) { on_end(*attempt, ticket, status); });
    return ticket;
  }

  void abandon(Ticket ticket) {
    std::shared_ptr<Attempt> attempt = take(ticket);
    if (attempt != nullptr) attempt->context.TryCancel();
  }

  void cancel_all() {
    std::vector<Ticket> tickets;
    {
      const std::lock_guard held(mutex_);
      for (const auto& [ticket, attempt] : attempts_) tickets.push_back(ticket);
    }
    for (const Ticket ticket : tickets) abandon(ticket);
    calls_.wait_for_none();
  }

  const ClientSettings& settings() const { return settings_; }

 private:
  struct Attempt {
    explicit Attempt(LiveCalls& calls) : live(calls) {}

    const LiveCall live;
    size_t kind = 0;
    Answer answer;
    grpc::ClientContext context;
    grpc::ByteBuffer sent;
    grpc::ByteBuffer received;
  };

  // The thread that takes an attempt out decides how it ends.
  std::shared_ptr<Attempt> take(Ticket ticket) {
    const std::lock_guard held(mutex_);
    const auto entry = attempts_.find(ticket);
    if (entry == attempts_.end()) return nullptr;
    std::shared_ptr<Attempt> attempt = std::move(entry->second);
    attempts_.erase(entry);
    return attempt;
  }

  void on_end(Attempt& attempt, Ticket ticket, const grpc::Status& status) {
    if (take(ticket) == nullptr) return;
    if (!status.ok()) {
      attempt.answer(error_of(status, attempt.context, settings_));
      return;
    }
    Result<Reply> reply = decode_reply(attempt.kind, ReceivedBytes(attempt.received).view());
    attempt.answer(reply.ok() ? std::move(reply.value()) : Reply(reply.error()));
  }

  const ClientSettings settings_;
  LiveCalls calls_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  std::mutex mutex_;
  std::unordered_map<Ticket, std::shared_ptr<Attempt>> attempts_;
  Ticket last_ticket_ = 0;
};

Result<std::unique_ptr<ControlClient>> ControlClient::make(ClientSettings settings) {
  CD_TRY(check_rpc_settings(settings));
  return std::unique_ptr<ControlClient>(
      new ControlClient(std::make_unique<State>(std::move(settings))));
}

ControlClient::ControlClient(std::unique_ptr<State> state) : state_(std::move(state)) {}
ControlClient::~ControlClient() { state_->cancel_all(); }

RequestTarget::Ticket ControlClient::ask(Request request, double within_s, Answer answer) {
  return state_->ask(request, within_s, std::move(answer));
}

void ControlClient::abandon(Ticket ticket) { state_->abandon(ticket); }

namespace {

// Where an answer arrives for one who waits.
struct Waiting {
  std::mutex mutex;
  std::condition_variable arrived;
  std::optional<Reply> reply;

  template <class Condition>
  void wait_until(Clock::time_point until, const Condition& is_interrupted) {
    // Asked without the lock: it may wait for a lock of its own, whose holder waits for the answer to be put here.
    while (Clock::now() < until && !is_interrupted()) {
      std::unique_lock held(mutex);
      if (arrived.wait_until(held, std::min(until, Clock::now() + kPollInterval), [this] {
            return reply.has_value();
          })) {
        return;
      }
    }
  }
};

}  // namespace

Result<Reply> ControlClient::call(const Request& request,
                                  double within_s,
                                  const std::function<bool()>& is_interrupted) {
  return call(request, Patience{within_s, within_s, is_interrupted});
}

Result<Reply> ControlClient::call(const Request& request, const Patience& patience) {
  const double within_s = patience.within_s;
  const auto start = Clock::now();
  auto failing_since = start;
  const auto interrupted = [&] { return patience.is_interrupted && patience.is_interrupted(); };
  const auto until = [&](double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(span_of(seconds));
  };
  std::minstd_rand random(std::random_device{}());
  double backoff_s = kBackoffFirstS;
  while (true) {
    const double left_s = within_s - seconds_since(start);
    const auto asked_at = Clock::now();
    const auto waiting = std::make_shared<Waiting>();
    const Ticket ticket = ask(request, left_s, [waiting](Reply reply) {
      const std::lock_guard held(waiting->mutex);
      waiting->reply = std::move(reply);
      waiting->arrived.notify_all();
    });
    // The deadline of the call itself ends it; this one is for a library that forgets it.
    waiting->wait_until(until(left_s + 5), interrupted);
    abandon(ticket);
    if (interrupted()) return make_error(ErrorCode::kCancelled, "the call was interrupted");
    Reply reply;
    {
      const std::lock_guard held(waiting->mutex);
      reply = waiting->reply.value_or(make_error(
          ErrorCode::kControllerUnreachable, "{} did not answer", state_->settings().address));
    }
    const Error* error = std::get_if<Error>(&reply);
    if (error == nullptr) return reply;
    if (error->code != ErrorCode::kControllerUnreachable) return *error;
    // What broke after a while had been heard until then.
    if (seconds_since(asked_at) > kBackoffMostS) failing_since = Clock::now();
    const double pause_s = backoff_s * std::uniform_real_distribution<double>(0.5, 1.5)(random);
    backoff_s = std::min(2 * backoff_s, kBackoffMostS);
    if (!(seconds_since(start) + pause_s < within_s) ||
        seconds_since(failing_since) + pause_s > patience.unreachable_s) {
      return out_of_time(*error, seconds_since(start));
    }
    Waiting pause;
    pause.wait_until(until(pause_s), interrupted);
  }
}

}  // namespace crossdock::control
