// Batches: joined while they are small, and a large message by itself.
#include "control/rpc/message_queue.hpp"

#include <gtest/gtest.h>

#include "control/rpc/known_messages.hpp"

namespace crossdock::control {
namespace {

using Queue = MessageQueue<ControllerMessage>;

ControllerMessage apply_of(size_t bytes) {
  for (const ControllerMessage& message : known_controller_messages()) {
    if (const auto* apply = std::get_if<Apply>(&message)) {
      auto part = std::make_shared<ServerPart>(*apply->part);
      auto outline = std::make_shared<ChannelOutline>(*part->outline);
      outline->rows.schema = std::string(bytes, 'x');
      part->outline = outline;
      return Apply{part};
    }
  }
  return Leave{};
}

// The bytes of each batch.
std::vector<size_t> batches_of(Queue& queue, size_t& messages) {
  std::vector<size_t> batches;
  std::string bytes;
  for (auto next = queue.begin(bytes); next == Queue::Next::kWrite; next = queue.advance(bytes)) {
    batches.push_back(bytes.size());
    const auto received = decode_controller_messages(bytes);
    EXPECT_TRUE(received.ok());
    messages += received.value().size();
  }
  return batches;
}

TEST(MessageQueue, JoinsUpToTheSizeOfABatch) {
  Queue queue(kMessageBytesDefault);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.put(apply_of(100'000)));
  size_t messages = 0;
  const auto batches = batches_of(queue, messages);
  EXPECT_EQ(messages, 10u);
  EXPECT_EQ(batches.size(), 5u);
  for (const size_t bytes : batches) EXPECT_LE(bytes, static_cast<size_t>(kBatchBytes));
}

TEST(MessageQueue, WritesALargeMessageByItself) {
  Queue queue(kMessageBytesDefault);
  for (const size_t bytes : {10, 3'000'000, 3'000'000, 10}) {
    ASSERT_TRUE(queue.put(apply_of(bytes)));
  }
  size_t messages = 0;
  EXPECT_EQ(batches_of(queue, messages).size(), 4u);
  EXPECT_EQ(messages, 4u);
}

TEST(MessageQueue, KeepsToALimitBelowABatch) {
  Queue queue(4'096);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(queue.put(apply_of(500)));
  size_t messages = 0;
  for (const size_t bytes : batches_of(queue, messages)) EXPECT_LE(bytes, 4'096u);
  EXPECT_EQ(messages, 100u);
}

TEST(MessageQueue, DropsWhatWaitsWhenItEndsAtOnce) {
  Queue queue(kMessageBytesDefault);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(apply_of(200'000)));
  std::string bytes;
  ASSERT_EQ(queue.begin(bytes), Queue::Next::kWrite);  // the second is encoded by now
  queue.end(true);
  EXPECT_EQ(queue.begin(bytes), Queue::Next::kNothing);
  EXPECT_EQ(queue.advance(bytes), Queue::Next::kFinish);
  EXPECT_EQ(queue.begin(bytes), Queue::Next::kNothing);
}

}  // namespace
}  // namespace crossdock::control
