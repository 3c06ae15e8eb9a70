// Messages of the control plane as bytes and back: the protobuf messages of control.proto, without gRPC.
//
// Decoding trusts nothing: whatever bytes come in, the answer is a message or the error kMalformedMessage, which names
// the field, what is there and the limit. What the values mean is checked by control/protocol/check.hpp, where
// controller and agent take the message in. Pure functions; safe from any thread. Memory of a decoded message is
// proportional to its bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "control/protocol/messages.hpp"

namespace crossdock::control {

// What a wire message may hold in bytes unless settings say otherwise. A channel among 65,536 endpoints takes 2.1 MB.
inline constexpr int64_t kMessageBytesDefault = int64_t{64} << 20;

// Of a batch. Ours have 256 KiB unless a message is larger, and a message takes four bytes at least.
inline constexpr uint64_t kBatchMessagesMax = 131'072;

// In the order of Request's alternatives.
inline constexpr std::string_view kMethodPaths[] = {
    "/crossdock.control.v1.Control/CreateEndpoint",
    "/crossdock.control.v1.Control/DeleteEndpoint",
    "/crossdock.control.v1.Control/CreateChannel",
    "/crossdock.control.v1.Control/DeleteChannel",
    "/crossdock.control.v1.Control/Status",
    "/crossdock.control.v1.Control/Meet",
    "/crossdock.control.v1.Control/Server",
    "/crossdock.control.v1.Control/Part",
    "/crossdock.control.v1.Control/Keep",
};
inline constexpr std::string_view kAttendPath = "/crossdock.control.v1.Attendance/Attend";

// `kind` is the index of the alternative of Request, which the method says.
std::string encode_request(const Request& request);
Result<Request> decode_request(size_t kind, std::string_view bytes);
// Of the request `kind`. An Error is not encoded here: it is the status of the call. CD_CHECK: the reply fits the kind.
std::string encode_reply(size_t kind, const Reply& reply);
// Likewise. What a round led to is the same for all its ranks, of which there may be thousands, and is encoded once.
std::shared_ptr<const std::string> encode_shared_reply(size_t kind, const Reply& reply);
Result<Reply> decode_reply(size_t kind, std::string_view bytes);

// Appends to a batch. Batches are concatenations: that of nothing is empty, two of them one after the other are one.
void append_message(const AgentMessage& message, std::string& batch);
void append_message(const ControllerMessage& message, std::string& batch);
Result<std::vector<AgentMessage>> decode_agent_messages(std::string_view batch);
Result<std::vector<ControllerMessage>> decode_controller_messages(std::string_view batch);

}  // namespace crossdock::control
