// Rounds in which ranks meet: who has to come, who may come again, and what becomes of those who are gone.
#include "control/controller/meeting_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/controller/driven_controller.hpp"
#include "control/protocol/check.hpp"

namespace crossdock::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MeetingTableTest : public ControllerTest {
 protected:
  void SetUp() override { start(); }

  Meet saying(uint32_t rank, const std::string& said) {
    Meet meet;
    meet.request = {7, ++last_request};
    meet.group = "job";
    meet.rank = rank;
    meet.size = 3;
    meet.said = said;
    meet.within_s = 30;
    return meet;
  }
  void hang_up(CallId call) { controller->on_call_abandoned(call); }
  std::vector<std::string> met(CallId call) {
    const auto reply = replies.find(call);
    EXPECT_NE(reply, replies.end()) << "no reply";
    const auto* reply_met = reply == replies.end() ? nullptr : std::get_if<Met>(&reply->second);
    EXPECT_NE(reply_met, nullptr);
    return reply_met == nullptr ? std::vector<std::string>() : *reply_met->said;
  }
};

TEST_F(MeetingTableTest, AllGetWhatAllHaveSaidAndRoundsAreApart) {
  const CallId second = ask(saying(1, "b"));
  Meet later = saying(1, "later");
  later.round = 1;
  const CallId ahead = ask(later);
  const CallId third = ask(saying(2, ""));
  Meet other = saying(0, "other");
  other.group = "another job";
  ask(other);
  EXPECT_TRUE(replies.empty());
  const CallId first = ask(saying(0, "a"));
  for (const CallId call : {first, second, third}) {
    EXPECT_THAT(met(call), ElementsAre("a", "b", ""));
  }
  EXPECT_FALSE(replies.contains(ahead));
}

TEST_F(MeetingTableTest, ARepetitionIsAnsweredLikeTheFirst) {
  const Meet first = saying(0, "a");
  const CallId lost = ask(first);
  ask(saying(1, "b"));
  hang_up(lost);
  const CallId again = ask(first);
  ask(saying(2, "c"));
  EXPECT_THAT(met(again), ElementsAre("a", "b", "c"));
  pass(MeetingTable::kKeptS / 2);
  EXPECT_THAT(met(ask(first)), ElementsAre("a", "b", "c")) << "the answer was lost";
  pass(MeetingTable::kKeptS);
  EXPECT_FALSE(replies.contains(ask(first))) << "forgotten: a round of its own";
}

TEST_F(MeetingTableTest, NamesWhoDidNotComeInTime) {
  const CallId call = ask(saying(1, "b"));
  pass(29);
  EXPECT_TRUE(replies.empty());
  pass(2);
  EXPECT_EQ(error_of(call).code, ErrorCode::kAgentLost);
  EXPECT_THAT(error_of(call).message, HasSubstr("ranks 0, 2 of 3 did not come in time to round 0"));
  // Who has given up is not counted when the others come.
  ask(saying(0, "a"));
  const CallId last = ask(saying(2, "c"));
  EXPECT_FALSE(replies.contains(last));
}

TEST_F(MeetingTableTest, AKilledRankIsForgottenOrReplaced) {
  const CallId killed = ask(saying(0, "killed"));
  ask(saying(1, "b"));
  const CallId refused = ask(saying(0, "impostor"));
  EXPECT_EQ(error_of(refused).code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error_of(refused).message, HasSubstr("another process is rank 0 of group 'job'"));
  hang_up(killed);
  ask(saying(0, "a"));
  EXPECT_THAT(met(ask(saying(2, "c"))), ElementsAre("a", "b", "c"));

  hang_up(ask(saying(0, "killed")));
  pass(MeetingTable::kRepeatWithinS + 1);
  ask(saying(1, "b"));
  EXPECT_FALSE(replies.contains(ask(saying(2, "c"))));
}

TEST_F(MeetingTableTest, ARoundIsNotThroughWhileOneOfItMayBeDead) {
  const Meet first = saying(0, "a");
  hang_up(ask(first));
  const CallId second = ask(saying(1, "b"));
  const CallId third = ask(saying(2, "c"));
  EXPECT_TRUE(replies.empty()) << "whether rank 0 lives is not known";
  ask(first);
  EXPECT_THAT(met(second), ElementsAre("a", "b", "c"));
  EXPECT_THAT(met(third), ElementsAre("a", "b", "c"));
}

TEST_F(MeetingTableTest, ARankThatLeavesARoundOfAGroupIsMissedSoon) {
  const auto in_round = [this](uint32_t rank, uint64_t round) {
    Meet meet = saying(rank, "x");
    meet.round = round;
    meet.within_s = 300;
    return ask(meet);
  };
  hang_up(in_round(0, 3));
  const CallId waits = in_round(1, 3);
  hang_up(in_round(0, kRoundAgain));
  const CallId restart = in_round(2, kRoundAgain);
  EXPECT_TRUE(met(waits).empty()) << "the round is void";
  hang_up(in_round(0, 4));
  const CallId again = in_round(1, 4);
  EXPECT_TRUE(met(again).empty());
  pass(MeetingTable::kRepeatWithinS + 1);
  EXPECT_FALSE(replies.contains(restart)) << "ranks come and go where they begin again";
}

TEST_F(MeetingTableTest, SaysWhoHasLeft) {
  Meet gone = saying(0, "a");
  gone.round = 3;
  hang_up(ask(gone));
  Meet stays = saying(1, "b");
  stays.round = 3;
  stays.within_s = 300;
  const CallId waits = ask(stays);
  pass(MeetingTable::kRepeatWithinS / 2);
  EXPECT_TRUE(replies.empty());
  pass(MeetingTable::kRepeatWithinS);
  EXPECT_EQ(error_of(waits).code, ErrorCode::kAgentLost);
  EXPECT_THAT(error_of(waits).message, HasSubstr("rank 0 left round 3 of group 'job'"));
}

TEST_F(MeetingTableTest, WhoBeginsAgainTakesAllWithIt) {
  const auto in_round = [this](uint32_t rank, uint64_t round) {
    Meet meet = saying(rank, std::to_string(rank));
    meet.round = round;
    return ask(meet);
  };
  const CallId second = in_round(1, 5);
  Meet other = saying(1, "other");
  other.group = "another job";
  other.round = 5;
  const CallId stranger = ask(other);
  const CallId first = in_round(0, kRoundAgain);
  EXPECT_TRUE(met(second).empty());
  EXPECT_FALSE(replies.contains(stranger));
  EXPECT_TRUE(met(in_round(2, 5)).empty()) << "also for who comes later";
  const CallId again = in_round(1, kRoundAgain);
  const CallId last = in_round(2, kRoundAgain);
  for (const CallId call : {first, again, last}) EXPECT_THAT(met(call), ElementsAre("0", "1", "2"));
  EXPECT_FALSE(replies.contains(in_round(1, 6))) << "no rank begins again any more";
}

TEST_F(MeetingTableTest, RanksOfARoundShareOneReply) {
  const CallId first = ask(saying(0, "a"));
  const CallId second = ask(saying(1, "b"));
  const CallId third = ask(saying(2, "c"));
  const auto& reply = std::get<Met>(replies.at(first));
  for (const CallId call : {second, third}) {
    EXPECT_EQ(std::get<Met>(replies.at(call)).said, reply.said);
    EXPECT_EQ(std::get<Met>(replies.at(call)).bytes, reply.bytes);
  }
}

TEST_F(MeetingTableTest, RanksCountAlike) {
  const CallId first = ask(saying(0, "a"));
  Meet fewer = saying(1, "b");
  fewer.size = 2;
  const CallId refused = ask(fewer);
  EXPECT_THAT(error_of(refused).message,
              HasSubstr("rank 1 counts 2 ranks in group 'job', and rank 0 counts 3"));
  // What a job of before left does not stand in the way of another number.
  hang_up(first);
  const CallId call = ask(fewer);
  fewer.rank = 0;
  fewer.request.low = ++last_request;
  EXPECT_THAT(met(ask(fewer)), ElementsAre("b", "b"));
  EXPECT_THAT(met(call), ElementsAre("b", "b"));
}

TEST_F(MeetingTableTest, MemoryIsBounded) {
  PendingCalls calls;
  MeetingTable table(calls);
  const std::string said(kSaidBytesMax, 's');
  CallId call = 0;
  const auto say = [&](const std::string& group, uint32_t rank, uint32_t size) {
    Meet meet = saying(rank, said);
    meet.group = group;
    meet.size = size;
    calls.begin(++call);
    table.take(call, meet, 0);
    auto taken = calls.take_replies();
    return taken.empty() ? Reply(Done()) : taken.back().second;
  };
  // A round that no reply could hold is refused to the rank that makes it so.
  uint32_t rank = 0;
  while (!std::holds_alternative<Error>(say("large", rank, 1000))) ++rank;
  EXPECT_EQ(rank, MeetingTable::kRoundBytesMax / (kSaidBytesMax + 256));
  // What has been answered goes first, then no other rank may come.
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(std::holds_alternative<Met>(say(std::to_string(i), 0, 1)));
    EXPECT_LE(table.bytes(), MeetingTable::kMeetingBytesMax);
  }
  int waiting = 0;
  while (!std::holds_alternative<Error>(say("waits" + std::to_string(waiting), 0, 2))) ++waiting;
  EXPECT_GT(waiting, 3000);
  EXPECT_LE(table.bytes(), MeetingTable::kMeetingBytesMax);
  // All of it is back when no rank waits.
  table.tick(31);
  table.tick(31 + MeetingTable::kKeptS);
  EXPECT_EQ(table.bytes(), 0);
  EXPECT_EQ(table.rounds(), 0);
}

TEST_F(MeetingTableTest, AgentsKnowTheirServersAndTheControllerNone) {
  const Reply server = replies.at(ask(AskServer{}));
  EXPECT_EQ(std::get<ServerIs>(server).name, "");
  EXPECT_THAT(error_of(ask(AskPart{{5}})).message, HasSubstr("asked of an agent that listens"));
  EXPECT_THAT(error_of(ask(KeepEndpoint{{5, 5}})).message,
              HasSubstr("asked of an agent that listens"));
}

}  // namespace
}  // namespace crossdock::control
