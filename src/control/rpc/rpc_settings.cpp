#include "control/rpc/rpc_settings.hpp"

#include <algorithm>

namespace crossdock::control {
namespace {

constexpr int64_t kMessageBytesLeast = 1 << 10;
constexpr int64_t kMessageBytesMost = 1 << 30;  // gRPC counts in 32 bits

Status check_address(std::string_view address) {
  if (address.starts_with("unix:")) return {};
  const size_t colon = address.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : address.substr(colon + 1);
  const bool is_number = !port.empty() && port.size() <= 5 &&
                         std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  // No host has these signs: a URL or a slip, which would else wait for a name server.
  const bool is_host = std::ranges::none_of(address.substr(0, is_number ? colon : 0), [](char c) {
    return static_cast<uint8_t>(c) <= ' ' || c == '/';
  });
  if (is_number && is_host && colon > 0 && std::stoi(std::string(port)) <= 65535) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "{:?} is no address\n  try      host:port, such as {}",
                    address,
                    kControlAddress);
}

Status check_token(std::string_view token) {
  if (token.empty()) return {};
  if (token.size() < kTokenBytesMin || token.size() > kTokenBytesMax) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "the token has {} bytes; it must have {} to {}\n  try      openssl rand -hex 32",
        token.size(),
        kTokenBytesMin,
        kTokenBytesMax);
  }
  if (std::ranges::all_of(token, [](char c) { return c > ' ' && c <= '~'; })) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "the token has signs other than letters, digits and punctuation of ASCII\n"
                    "  try      openssl rand -hex 32");
}

Status check_limit(int64_t message_bytes_max) {
  if (message_bytes_max >= kMessageBytesLeast && message_bytes_max <= kMessageBytesMost) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "the limit of a message is {} bytes; it must be {} to {}",
                    message_bytes_max,
                    kMessageBytesLeast,
                    kMessageBytesMost);
}

Status check_pair(std::string_view certificate, std::string_view key) {
  if (certificate.empty() == key.empty()) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "a {} is there without its {}",
                    key.empty() ? "certificate" : "key",
                    key.empty() ? "key" : "certificate");
}

}  // namespace

bool is_loopback(std::string_view address) {
  if (address.starts_with("unix:")) return true;
  const std::string_view host = address.substr(0, address.rfind(':'));
  // 127.example.com is a name like any other.
  const bool is_number =
      std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return host == "localhost" || host == "[::1]" || (is_number && host.starts_with("127."));
}

Status check_rpc_settings(const ServerSettings& settings) {
  const ServerSecurity& security = settings.security;
  CD_TRY(check_address(settings.listen));
  CD_TRY(check_limit(settings.message_bytes_max));
  CD_TRY(check_token(security.token));
  CD_TRY(check_pair(security.certificate_pem, security.key_pem));
  const bool has_tls = !security.certificate_pem.empty();
  if (!security.client_ca_pem.empty() && !has_tls) {
    return make_error(ErrorCode::kInvalidArgument,
                      "certificates of clients are asked for, but the server has none itself");
  }
  const bool knows_clients = !security.token.empty() || !security.client_ca_pem.empty();
  if (is_loopback(settings.listen) || security.is_insecure || (has_tls && knows_clients)) return {};
  return make_error(
      ErrorCode::kNotAllowed,
      "{} can be reached from other machines, and there is no {}\n"
      "  try      --tls-cert, --tls-key and --token-file  \u00b7  127.0.0.1 to serve this "
      "machine alone  \u00b7  --insecure on a network that you trust",
      settings.listen,
      has_tls ? "token" : "TLS");
}

Status check_rpc_settings(const ClientSettings& settings) {
  const ClientSecurity& security = settings.security;
  CD_TRY(check_address(settings.address));
  CD_TRY(check_limit(settings.message_bytes_max));
  CD_TRY(check_token(security.token));
  CD_TRY(check_pair(security.certificate_pem, security.key_pem));
  if (security.token.empty() || security.uses_tls || security.is_insecure ||
      is_loopback(settings.address)) {
    return {};
  }
  return make_error(ErrorCode::kNotAllowed,
                    "the token would travel in the clear to {}\n"
                    "  try      --tls  \u00b7  --insecure on a network that you trust",
                    settings.address);
}

bool is_token(std::string_view token, std::string_view given) {
  uint8_t difference = token.size() == given.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i) {
    // An index that stays inside for every length, so that no step is left out.
    const char expected = token.empty() ? '\0' : token[i % token.size()];
    difference = static_cast<uint8_t>(difference | static_cast<uint8_t>(expected ^ given[i]));
  }
  return difference == 0 && !token.empty();
}

}  // namespace crossdock::control
