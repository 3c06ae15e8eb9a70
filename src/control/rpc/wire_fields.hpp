// What the conversions of control_wire share: checks of single fields, and the parts that several messages have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <google/protobuf/message_lite.h>

#include "base/result.hpp"
#include "control/protocol/messages.hpp"
#include "control/rpc/control.pb.h"

namespace crossdock::control::wire {

namespace pb = ::crossdock::control::v1;

// For std::visit: a lambda per alternative.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

// Error kMalformedMessage: "HopPath.between is 70000, the limit is 4095".
Error malformed(std::string_view field, std::string_view what);
Status check_at_most(std::string_view field, uint64_t value, uint64_t limit);

// Whether bytes are a message at all.
Status parse(std::string_view bytes, google::protobuf::MessageLite& message);

void put(const RequestId& id, pb::RequestId& out);
RequestId taken(const pb::RequestId& id);
void put(const Error& error, pb::Error& out);
Status take(std::string_view field, const pb::Error& error, Error& out);
void put(const ChannelRows& rows, pb::ChannelRows& out);
ChannelRows taken(const pb::ChannelRows& rows);

using Ids = google::protobuf::RepeatedField<uint64_t>;
void put(const std::vector<EndpointId>& ids, Ids& out);
std::vector<EndpointId> taken(const Ids& ids);

// A shape travels as a graph of one server, which the reader of files checks.
std::string topology_text(const std::string& name,
                          std::shared_ptr<const topology::ServerShape> shape);
Result<std::shared_ptr<const topology::ServerShape>> shape_of(std::string_view field,
                                                              const std::string& name,
                                                              std::string_view text);

void put(const ServerPart& part, pb::ServerPart& out);
Result<ServerPart> taken(const pb::ServerPart& part);

}  // namespace crossdock::control::wire
