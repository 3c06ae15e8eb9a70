// What servers and clients of gRPC share: bytes in its buffers, and errors in its statuses.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "base/error.hpp"

namespace crossdock::control {

// Metadata of a call that failed: "CD-614". The text is the status's.
inline constexpr char kErrorKey[] = "crossdock-error";
inline constexpr char kTokenKey[] = "authorization";
inline constexpr std::string_view kTokenScheme = "Bearer ";

grpc::ByteBuffer buffer_of(const std::string& bytes);
// Without a copy.
grpc::ByteBuffer buffer_of(std::shared_ptr<const std::string> bytes);
// Contiguous; copied only if gRPC received it in pieces.
class ReceivedBytes {
 public:
  explicit ReceivedBytes(const grpc::ByteBuffer& buffer);
  std::string_view view() const {
    return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()};
  }

 private:
  grpc::Slice slice_;
};

grpc::Status status_of(const Error& error);

// gRPC's own log says on stderr what our errors say better; with GRPC_VERBOSITY set it speaks.
void quiet_grpc_log();

}  // namespace crossdock::control
