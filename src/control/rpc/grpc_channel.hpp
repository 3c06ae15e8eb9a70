// A connection to a controller or agent, and what gRPC says of a call, as our errors.
#pragma once

#include <memory>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "base/error.hpp"
#include "control/rpc/rpc_settings.hpp"

namespace crossdock::control {

// Connects when it is first used, and again whenever it is used after it broke: after 0.1 s, then ever more slowly, up
// to 2 s. Notices within 20 s that the other machine is gone.
std::shared_ptr<grpc::Channel> make_channel(const ClientSettings& settings);

void add_token(const ClientSettings& settings, grpc::ClientContext& context);

// The error that the other side sent, or the one that stands for the status. Never of a status that is OK.
Error error_of(const grpc::Status& status,
               const grpc::ClientContext& context,
               const ClientSettings& settings);

}  // namespace crossdock::control
