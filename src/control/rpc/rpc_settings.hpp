// How a server listens and how a client connects, and what of it is refused. Without gRPC.
//
// A port is open to this machine alone unless it has TLS and knows its callers, by a token or by their certificates, or
// the user says otherwise (`is_insecure`).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "control/rpc/control_wire.hpp"

namespace crossdock::control {

inline constexpr std::string_view kControlAddress = "127.0.0.1:7613";

inline constexpr int kTokenBytesMin = 16;
inline constexpr int kTokenBytesMax = 4096;

struct ServerSecurity {
  std::string certificate_pem;  // the chain, the server's own first; "" for no TLS
  std::string key_pem;
  std::string client_ca_pem;  // clients must have a certificate that it signed; "": they need none
  std::string token;          // that every call must carry; "": none
  bool is_insecure = false;   // every process that can reach the port may use it
};

struct ServerSettings {
  // "host:port", port 0 for any; or "unix:/path".
  std::string listen = std::string(kControlAddress);
  ServerSecurity security;
  int64_t message_bytes_max = kMessageBytesDefault;  // of a message that comes in
  int64_t memory_bytes = int64_t{256} << 20;         // of all transports' buffers together
  int32_t threads_max = 32;  // of health and reflection; ours run in gRPC's own 2 to 16
};

struct ClientSecurity {
  bool uses_tls = false;
  std::string ca_pem;           // that signed the server's certificate; "": those of the system
  std::string certificate_pem;  // our own, where the server asks for one
  std::string key_pem;
  std::string token;
  bool is_insecure = false;  // the token may travel in the clear
};

struct ClientSettings {
  std::string address = std::string(kControlAddress);
  ClientSecurity security;
  int64_t message_bytes_max = kMessageBytesDefault;
};

// "127.0.0.1:7613", "localhost:7613", "[::1]:7613" and "unix:..." reach this machine alone.
bool is_loopback(std::string_view address);

// Error kNotAllowed: an address that others can reach, without TLS, or with neither a token nor `client_ca_pem`.
// kInvalidArgument: an address without a port; one of certificate and key without the other; a token that is too short,
// too long or has signs that no header can carry; a limit of messages below 1 KiB or above 1 GiB.
Status check_rpc_settings(const ServerSettings& settings);
// Error kNotAllowed: a token would travel in the clear to another machine. kInvalidArgument as above.
Status check_rpc_settings(const ClientSettings& settings);

// Whether `given` is the token. The time it takes tells the length of `given` and nothing else.
bool is_token(std::string_view token, std::string_view given);

}  // namespace crossdock::control
