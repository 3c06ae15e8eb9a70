#include "control/rpc/grpc_channel.hpp"

#include <optional>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "control/rpc/grpc_bytes.hpp"

namespace crossdock::control {
namespace {

constexpr int kReconnectFirstMs = 100;
constexpr int kReconnectMostMs = 2'000;
constexpr int kPingAfterMs = 10'000;
constexpr int kPingWithinMs = 10'000;
// The text of an error is metadata, in which each byte beyond ASCII takes three.
constexpr int kMetadataBytesMax = 64 << 10;
// What gRPC says of a message above the limit; a server that is short of memory gives the same status.
constexpr std::string_view kTooLarge = "larger than max";

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const ClientSecurity& security) {
  if (!security.uses_tls) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({security.ca_pem, security.key_pem, security.certificate_pem});
}

// What the other side put beside the status; none if it put nothing that we know.
std::optional<ErrorCode> sent_code(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto entry = metadata.find(kErrorKey);
  if (entry == metadata.end()) return std::nullopt;
  const std::string_view text(entry->second.data(), entry->second.size());
  for (const ErrorInfo& info : error_table()) {
    if (code_text(info.code) == text) return info.code;
  }
  return std::nullopt;
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const ClientSettings& settings) {
  quiet_grpc_log();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(settings.message_bytes_max));
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kReconnectMostMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMostMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingAfterMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingWithinMs);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  // Its own socket, although another channel of the process may lead to the same address.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // ours know request ids
  // A proxy of the environment is for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(settings.address, credentials_of(settings.security), arguments);
}

void add_token(const ClientSettings& settings, grpc::ClientContext& context) {
  if (settings.security.token.empty()) return;
  context.AddMetadata(kTokenKey, std::string(kTokenScheme) + settings.security.token);
}

Error error_of(const grpc::Status& status,
               const grpc::ClientContext& context,
               const ClientSettings& settings) {
  const std::optional<ErrorCode> sent = sent_code(context);
  if (sent.has_value()) return {*sent, status.error_message()};
  const std::string& address = settings.address;
  const std::string& text = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return make_error(
          ErrorCode::kControllerUnreachable, "no controller answers at {}: {}", address, text);
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return make_error(
          ErrorCode::kControllerUnreachable, "{} did not answer in time: {}", address, text);
    case grpc::StatusCode::CANCELLED:
      return make_error(ErrorCode::kCancelled, "the call to {} was cancelled", address);
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return make_error(ErrorCode::kNotAllowed, "{} refuses the call: {}", address, text);
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      if (text.find(kTooLarge) == std::string::npos) {
        return make_error(ErrorCode::kControllerUnreachable,
                          "{} has no room for the call now: {}",
                          address,
                          text);
      }
      return make_error(ErrorCode::kMalformedMessage,
                        "a message to or from {} is above the limit: {}\n"
                        "  limits   --message-limit of both sides",
                        address,
                        text);
    case grpc::StatusCode::UNIMPLEMENTED:
      return make_error(ErrorCode::kMalformedMessage,
                        "{} answers, but not as a controller does: {}",
                        address,
                        text);
    default:
      return make_error(ErrorCode::kControllerUnreachable,
                        "the call to {} failed with status {} of gRPC: {}",
                        address,
                        static_cast<int>(status.error_code()),
                        text);
  }
}

}  // namespace crossdock::control
