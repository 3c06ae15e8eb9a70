// Bytes, statuses and the log of gRPC.
#include "control/rpc/grpc_bytes.hpp"

#include <cstdlib>
#include <utility>

#include <grpc/support/log.h>

namespace crossdock::control {

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return grpc::ByteBuffer(&slice, 1);
}

grpc::ByteBuffer buffer_of(std::shared_ptr<const std::string> bytes) {
  using Owner = std::shared_ptr<const std::string>;
  auto* const owner = new Owner(std::move(bytes));
  const grpc::Slice slice(
      const_cast<char*>((*owner)->data()),  // gRPC does not write to what it sends
      (*owner)->size(),
      [](void* kept) { delete static_cast<Owner*>(kept); },
      owner);
  return grpc::ByteBuffer(&slice, 1);
}

ReceivedBytes::ReceivedBytes(const grpc::ByteBuffer& buffer) {
  if (!buffer.TrySingleSlice(&slice_).ok() && !buffer.DumpToSingleSlice(&slice_).ok()) {
    slice_ = grpc::Slice();
  }
}

grpc::Status status_of(const Error& error) {
  const auto code = [&] {
    switch (error.code) {
      case ErrorCode::kControllerUnreachable:
        return grpc::StatusCode::UNAVAILABLE;
      case ErrorCode::kNotAllowed:
        return grpc::StatusCode::UNAUTHENTICATED;
      case ErrorCode::kMalformedMessage:
      case ErrorCode::kInvalidArgument:
        return grpc::StatusCode::INVALID_ARGUMENT;
      case ErrorCode::kUnknownId:
        return grpc::StatusCode::NOT_FOUND;
      case ErrorCode::kNameTaken:
        return grpc::StatusCode::ALREADY_EXISTS;
      case ErrorCode::kControlLimit:
        return grpc::StatusCode::RESOURCE_EXHAUSTED;
      case ErrorCode::kNoPath:
      case ErrorCode::kInvalidTopology:
        return grpc::StatusCode::FAILED_PRECONDITION;
      case ErrorCode::kAgentLost:
      case ErrorCode::kChannelClosed:
        return grpc::StatusCode::ABORTED;
      default:
        return grpc::StatusCode::INTERNAL;
    }
  }();
  return {code, error.message};
}

void quiet_grpc_log() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) {
    gpr_set_log_function([](gpr_log_func_args*) {});
  }
}

}  // namespace crossdock::control
