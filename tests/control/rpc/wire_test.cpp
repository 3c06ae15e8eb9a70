// Messages as bytes and back: every kind comes back as it was, and what is broken is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/protocol/check.hpp"
#include "control/rpc/control_wire.hpp"
#include "control/rpc/known_messages.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

template <class Message>
std::string batch_of(const std::vector<Message>& messages) {
  std::string batch;
  for (const Message& message : messages) append_message(message, batch);
  return batch;
}

TEST(ControlWire, AgentMessagesComeBackAsTheyWere) {
  const std::vector<AgentMessage> sent = known_agent_messages();
  const auto received = decode_agent_messages(batch_of(sent));
  ASSERT_TRUE(received.ok()) << received.error().message;
  ASSERT_EQ(received.value().size(), sent.size());
  const JoinRequest& was = std::get<JoinRequest>(sent[0]);
  const JoinRequest& join = std::get<JoinRequest>(received.value()[0]);
  EXPECT_EQ(join.name, was.name);
  EXPECT_EQ(join.instance, was.instance);
  EXPECT_EQ(join.connection, was.connection);
  EXPECT_EQ(*join.shape, *was.shape);
  EXPECT_EQ(join.endpoints, was.endpoints);
  EXPECT_EQ(join.channels, was.channels);
  for (size_t i = 0; i < sent.size(); ++i) {
    EXPECT_EQ(received.value()[i].index(), sent[i].index());
    EXPECT_TRUE(check(received.value()[i]).ok()) << check(received.value()[i]).error().message;
  }
  EXPECT_EQ(batch_of(received.value()), batch_of(sent));
}

TEST(ControlWire, ControllerMessagesComeBackAsTheyWere) {
  const std::vector<ControllerMessage> sent = known_controller_messages();
  const auto received = decode_controller_messages(batch_of(sent));
  ASSERT_TRUE(received.ok()) << received.error().message;
  ASSERT_EQ(received.value().size(), sent.size());
  bool has_part = false;
  for (size_t i = 0; i < sent.size(); ++i) {
    ASSERT_EQ(received.value()[i].index(), sent[i].index());
    if (const auto* apply = std::get_if<Apply>(&sent[i])) {
      has_part = true;
      EXPECT_FALSE(apply->part->tables->empty());
      EXPECT_EQ(*std::get<Apply>(received.value()[i]).part, *apply->part);
    }
  }
  EXPECT_TRUE(has_part);
  EXPECT_EQ(batch_of(received.value()), batch_of(sent));
}

TEST(ControlWire, RequestsAndRepliesComeBackAsTheyWere) {
  for (const Request& sent : known_requests()) {
    const auto received = decode_request(sent.index(), encode_request(sent));
    ASSERT_TRUE(received.ok()) << received.error().message;
    EXPECT_EQ(received.value().index(), sent.index());
    EXPECT_EQ(encode_request(received.value()), encode_request(sent));
  }
  for (const auto& [kind, sent] : known_replies()) {
    const auto received = decode_reply(kind, encode_reply(kind, sent));
    ASSERT_TRUE(received.ok()) << received.error().message;
    EXPECT_EQ(received.value().index(), sent.index());
    EXPECT_EQ(encode_reply(kind, received.value()), encode_reply(kind, sent));
  }
}

// A thousand ranks that pass 4 KiB each would else take 4 GiB in the controller.
TEST(ControlWire, WhatARoundLedToIsEncodedOnceForAll) {
  const std::vector<std::string> said(3, std::string(4096, 'x'));
  const Met met{std::make_shared<const std::vector<std::string>>(said)};
  const Reply first = met;
  const Reply second = met;
  const auto bytes = encode_shared_reply(5, first);
  EXPECT_EQ(*bytes, encode_reply(5, first));
  EXPECT_EQ(encode_shared_reply(5, second), bytes) << "the same bytes, not equal ones";
  const Reply later = Met{met.said};
  EXPECT_NE(encode_shared_reply(5, later), bytes);
}

TEST(ControlWire, BatchesAreBounded) {
  std::string heartbeat;
  append_message(AgentMessage(Heartbeat{}), heartbeat);
  std::string batch;
  for (uint64_t i = 0; i < kBatchMessagesMax; ++i) batch += heartbeat;
  EXPECT_TRUE(decode_agent_messages(batch).ok());
  const auto received = decode_agent_messages(batch + heartbeat);
  ASSERT_FALSE(received.ok());
  EXPECT_THAT(received.error().message, HasSubstr("messages is 131073, the limit is 131072"));
}

TEST(ControlWire, ReportsOfAnotherVersionAreNotLookedInto) {
  JoinRequest join = std::get<JoinRequest>(known_agent_messages()[0]);
  join.protocol_version = kProtocolVersion + 1;
  std::string batch = batch_of<AgentMessage>({join});
  batch[batch.find("gpu0")] = 'x';
  const auto received = decode_agent_messages(batch);
  ASSERT_TRUE(received.ok()) << received.error().message;
  const JoinRequest& read = std::get<JoinRequest>(received.value()[0]);
  EXPECT_EQ(read.protocol_version, kProtocolVersion + 1);
  EXPECT_EQ(read.name, join.name);
  EXPECT_TRUE(check(received.value()[0]).ok());
  EXPECT_FALSE(batch_of(received.value()).empty());
}

// Times of day would tie the clocks of servers together. Encodings of equal messages are equal whenever they are made.
TEST(ControlWire, EncodingsDoNotDependOnTheTimeOfDay) {
  EXPECT_EQ(batch_of(known_agent_messages()), batch_of(known_agent_messages()));
  EXPECT_EQ(batch_of(known_controller_messages()), batch_of(known_controller_messages()));
}

TEST(ControlWire, NamesWhatIsBroken) {
  const auto error_of = [](const auto& result) {
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, ErrorCode::kMalformedMessage);
    return result.error().message;
  };
  EXPECT_THAT(error_of(decode_agent_messages("\xff\xff\xff")),
              HasSubstr("cannot be read from 3 bytes"));
  // A message whose kind this version does not know: field 15 in an AgentMessage.
  const std::string unknown("\x0a\x02\x7a\x00", 4);
  EXPECT_THAT(error_of(decode_agent_messages(unknown)),
              HasSubstr("is none that this version knows"));
  std::string join;
  append_message(known_agent_messages()[0], join);
  std::string broken = join;
  broken[join.find("gpu0")] = 'x';
  EXPECT_THAT(error_of(decode_agent_messages(broken)), HasSubstr("Join.topology"));
}

}  // namespace
}  // namespace crossdock::control
