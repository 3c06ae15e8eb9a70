// Control messages of random bytes, and real ones with a few bytes changed: decoding answers messages or the error of a
// broken message, and what was decoded is encoded and decoded again as the same.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.hpp"
#include "control/protocol/check.hpp"
#include "control/rpc/control_wire.hpp"
#include "control/rpc/known_messages.hpp"
#include "fuzz/text_changes.hpp"

namespace crossdock {
namespace {

template <class Message>
std::string batch_of(const std::vector<Message>& messages) {
  std::string batch;
  for (const Message& message : messages) control::append_message(message, batch);
  return batch;
}

void expect_malformed(const Error& error) {
  CD_CHECK(error.code == ErrorCode::kMalformedMessage, "{}", error.message);
  CD_CHECK(!error.message.empty(), "an error without words");
}

void read_agent(std::string_view bytes) {
  const auto messages = control::decode_agent_messages(bytes);
  if (!messages.ok()) return expect_malformed(messages.error());
  for (const control::AgentMessage& message : messages.value()) {
    if (!control::check(message).ok())
      return;  // may hold what could not be sent, such as an empty name
  }
  const std::string again = batch_of(messages.value());
  const auto repeated = control::decode_agent_messages(again);
  CD_CHECK(repeated.ok(), "{}", repeated.error().message);
  CD_CHECK(batch_of(repeated.value()) == again, "another message");
}

void read_controller(std::string_view bytes) {
  const auto messages = control::decode_controller_messages(bytes);
  if (!messages.ok()) return expect_malformed(messages.error());
  static const auto shape =
      std::get<control::JoinRequest>(control::known_agent_messages()[0]).shape;
  for (const control::ControllerMessage& message : messages.value())
    (void)control::check(message, *shape).ok();
  const std::string again = batch_of(messages.value());
  const auto repeated = control::decode_controller_messages(again);
  CD_CHECK(repeated.ok(), "{}", repeated.error().message);
  CD_CHECK(batch_of(repeated.value()) == again, "another message");
}

void read_request(size_t kind, std::string_view bytes) {
  const auto request = control::decode_request(kind, bytes);
  if (!request.ok()) return expect_malformed(request.error());
  (void)control::check(request.value()).ok();
  const std::string again = control::encode_request(request.value());
  CD_CHECK(control::encode_request(control::decode_request(kind, again).value()) == again,
           "another request");
}

void read_reply(size_t kind, std::string_view bytes) {
  const auto reply = control::decode_reply(kind, bytes);
  if (!reply.ok()) return expect_malformed(reply.error());
  const std::string again = control::encode_reply(kind, reply.value());
  CD_CHECK(control::encode_reply(kind, control::decode_reply(kind, again).value()) == again,
           "another reply");
}

struct Known {
  std::string agent = batch_of(control::known_agent_messages());
  std::string controller = batch_of(control::known_controller_messages());
  std::vector<control::Request> requests = control::known_requests();
  std::vector<std::pair<size_t, control::Reply>> replies = control::known_replies();
};

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size < 2) return 0;
  static const Known known;
  const size_t kind = data[1] % known.requests.size();
  const auto given = [&](const std::string& text) {
    if (data[0] % 8 == 0) return std::string(reinterpret_cast<const char*>(data + 2), size - 2);
    return changed(text, {data + 2, size - 2});
  };
  switch (data[1] / 64) {
    case 0:
      read_agent(given(known.agent));
      break;
    case 1:
      read_controller(given(known.controller));
      break;
    case 2:
      read_request(kind, given(control::encode_request(known.requests[kind])));
      break;
    default: {
      const auto& [replied, reply] = known.replies[data[1] % known.replies.size()];
      read_reply(replied, given(control::encode_reply(replied, reply)));
      break;
    }
  }
  return 0;
}
