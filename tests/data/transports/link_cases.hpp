// What any link between hosts does: what arrives, what is refused, and how links end. For transports of this process
// and over loopback; `End` is a LinkEnd that opens one, of so many bytes under way at most.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <poll.h>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "data/rings/crc32c.hpp"
#include "data/rings/wire_segment.hpp"
#include "data/transports/link_ends.hpp"

namespace crossdock::transports {

template <class End>
class Links : public testing::Test {};
TYPED_TEST_SUITE_P(Links);

TYPED_TEST_P(Links, NameTheirEnds) {
  using End = TypeParam;
  End a, b;
  connect(a, b);
  ASSERT_EQ(a.transport->links().size(), 1U);
  EXPECT_EQ(a.link().name(), "lo to rank 1");
  EXPECT_EQ(a.link().device(), "lo");
  EXPECT_EQ(a.link().peer_device(), "lo");
  EXPECT_EQ(a.link().peer(), 1U);
  EXPECT_EQ(b.link().peer(), 0U);
  EXPECT_EQ(a.link().rate_bytes_per_s(), 0);
}

TYPED_TEST_P(Links, FramesOfAllSizesArriveWhereTheyAreWanted) {
  using End = TypeParam;
  End a, b;
  connect(a, b);
  const std::vector<size_t> sizes = {
      0, 1, 63, 8000, 8192, 16383, 16384, 16385, 100'000, 1 << 20, 5 << 20};
  std::vector<std::vector<std::byte>> payloads;
  for (size_t i = 0; i < sizes.size(); ++i) payloads.push_back(made_bytes(sizes[i], i));
  size_t next = 0;
  ASSERT_TRUE(until(
      [&] {
        if (next < sizes.size() &&
            a.link().put(header_of(next, sizes[next]), payloads[next], 100 + next))
          ++next;
        return b.arrived.size() == sizes.size() && a.sent_tokens.size() == sizes.size();
      },
      {&a, &b}));
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(b.arrived[i], payloads[i]) << sizes[i];
  std::sort(a.sent_tokens.begin(), a.sent_tokens.end());
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(a.sent_tokens[i], 100 + i);
  for (const auto& [sequence, sum] : b.sums) {
    rings::SegmentHeader header = header_of(sequence, sizes[sequence]);
    EXPECT_EQ(rings::crc32c(payloads[sequence], rings::begin_checksum(header)), sum)
        << sizes[sequence];
  }
  EXPECT_TRUE(a.lost_causes.empty());
}

TYPED_TEST_P(Links, NotesComeInOrderBothWaysAndMayBeAnsweredAtOnce) {
  using End = TypeParam;
  End a, b;
  connect(a, b);
  constexpr size_t kNotes = 5000;
  size_t answered = 0;
  b.on_note = [&] {
    if (b.link().tell(b.notes.back())) ++answered;
  };
  size_t next = 0;
  ASSERT_TRUE(until(
      [&] {
        if (next < kNotes && a.link().tell(made_bytes(next % (kNoteBytesMax + 1), next))) ++next;
        return b.notes.size() == kNotes && a.notes.size() == answered;
      },
      {&a, &b}));
  for (size_t i = 0; i < kNotes; ++i) {
    ASSERT_EQ(b.notes[i], made_bytes(i % (kNoteBytesMax + 1), i)) << i;
  }
  EXPECT_EQ(answered, kNotes);
}

TYPED_TEST_P(Links, AFrameThatIsNotWantedIsDropped) {
  using End = TypeParam;
  End a, b;
  connect(a, b);
  b.refuses = true;
  const auto small = made_bytes(100, 1), large = made_bytes(1 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, small.size()), small, 0));
  ASSERT_TRUE(a.link().put(header_of(1, large.size()), large, 1));
  ASSERT_TRUE(until([&] { return b.places_asked == 2 && a.sent_tokens.size() == 2; }, {&a, &b}));
  b.refuses = false;
  ASSERT_TRUE(a.link().put(header_of(2, large.size()), large, 2));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 1; }, {&a, &b}));
  EXPECT_EQ(b.arrived[2], large);
}

TYPED_TEST_P(Links, PutsAreBoundedByBytesButOneIsAlwaysLetIn) {
  using End = TypeParam;
  End a(4 << 20), b;
  connect(a, b);
  // Of a size that leaves only when the peer has asked for it.
  const auto large = made_bytes(5 << 20, 1), half = made_bytes(2 << 20, 2);
  ASSERT_TRUE(a.link().put(header_of(0, large.size()), large, 0));
  EXPECT_FALSE(a.link().put(header_of(1, half.size()), half, 1));
  ASSERT_TRUE(until([&] { return a.sent_tokens.size() == 1; }, {&a, &b}));
  EXPECT_TRUE(a.link().put(header_of(1, half.size()), half, 1));
  EXPECT_TRUE(a.link().put(header_of(2, half.size()), half, 2));
  EXPECT_FALSE(a.link().put(header_of(3, half.size()), half, 3));
  ASSERT_TRUE(until([&] { return b.arrived.size() == 3; }, {&a, &b}));

  // The peer does not read: notes stop somewhere, too.
  End c, d;
  connect(c, d);
  size_t notes = 0;
  const auto note = made_bytes(kNoteBytesMax, 3);
  while (notes < 1'000'000 && c.link().tell(note)) ++notes;
  EXPECT_LT(notes, 100'000U);
  ASSERT_TRUE(until([&] { return d.notes.size() == notes; }, {&c, &d}));
}

TYPED_TEST_P(Links, SleepersAreWokenByWhatComes) {
  using End = TypeParam;
  End a, b;
  connect(a, b);
  ASSERT_GE(b.transport->wait_fd(), 0);
  const auto readable = [&](int at_most_ms) {
    pollfd waited = {b.transport->wait_fd(), POLLIN, 0};
    return poll(&waited, 1, at_most_ms) == 1;
  };
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(until([&] { return b.transport->arm(); }, {&b}));
    ASSERT_FALSE(readable(5)) << round;
    const auto payload = made_bytes(200'000, 1);
    const size_t notes = b.notes.size(), frames = b.arrived.size();
    if (round % 2 == 0) {
      ASSERT_TRUE(a.link().tell({}));
    } else {
      ASSERT_TRUE(
          a.link().put(header_of(static_cast<uint64_t>(round), payload.size()), payload, 0));
    }
    ASSERT_TRUE(until([&] { return readable(0); }, {&a}));
    ASSERT_TRUE(
        until([&] { return b.notes.size() > notes || b.arrived.size() > frames; }, {&a, &b}));
    ASSERT_TRUE(until([&] { return a.sent_tokens.size() == b.arrived.size(); }, {&a, &b}));
  }
}

TYPED_TEST_P(Links, APeerThatGoesIsALostLinkAndPutsAreSafeThen) {
  using End = TypeParam;
  End a;
  auto b = std::make_unique<End>();
  connect(a, *b);
  ASSERT_TRUE(a.link().tell({}));
  ASSERT_TRUE(until([&] { return b->notes.size() == 1; }, {&a, b.get()}));
  auto payloads = std::make_unique<std::vector<std::byte>>(made_bytes(4 << 20, 1));
  ASSERT_TRUE(a.link().put(header_of(0, payloads->size()), *payloads, 0));
  ASSERT_TRUE(a.link().put(header_of(1, payloads->size()), *payloads, 1));
  for (int i = 0; i < 10; ++i) a.step();
  b.reset();
  ASSERT_TRUE(until([&] { return !a.lost_causes.empty(); }, {&a}));
  payloads.reset();  // nothing reads it any more; the address sanitizer would tell
  EXPECT_EQ(a.lost_causes[0].code, ErrorCode::kAgentLost);
  EXPECT_THAT(a.lost_causes[0].message, testing::HasSubstr("lo to rank 1"));
  EXPECT_FALSE(a.link().put(header_of(2, 0), {}, 2));
  EXPECT_FALSE(a.link().tell({}));
  for (int i = 0; i < 100; ++i) a.step();
  EXPECT_EQ(a.lost_causes.size(), 1U);
}

TYPED_TEST_P(Links, APeerThatIsNotThereIsALostLink) {
  using End = TypeParam;
  auto gone = std::make_unique<End>();
  const std::vector<std::string> addresses = {"", gone->transport->address()};
  const auto opener = other_of<End>(*gone, true), waiter = other_of<End>(*gone, false);
  gone.reset();
  for (End* const end : {opener.get(), waiter.get()}) {
    ASSERT_TRUE(end->transport->connect(addresses).ok());
    // Who waits hears nothing, which is for its owner to find.
    if (end == waiter.get()) end->link().abandon();
    ASSERT_TRUE(until([&] { return !end->lost_causes.empty(); }, {end}));
    EXPECT_FALSE(end->link().tell({}));
    EXPECT_FALSE(end->link().put(header_of(0, 0), {}, 0));
  }
}

TYPED_TEST_P(Links, AnAbandonedLinkIsLostOnBothSides) {
  using End = TypeParam;
  End a, b;
  connect(a, b);
  ASSERT_TRUE(a.link().tell({}));
  ASSERT_TRUE(until([&] { return b.notes.size() == 1; }, {&a, &b}));
  const auto payload = made_bytes(4 << 20, 1);
  ASSERT_TRUE(a.link().put(header_of(0, payload.size()), payload, 0));
  ASSERT_TRUE(b.link().put(header_of(0, payload.size()), payload, 0));
  for (int i = 0; i < 3; ++i) a.step(), b.step();
  a.link().abandon();
  EXPECT_TRUE(a.lost_causes.empty());  // reported by progress() only
  ASSERT_TRUE(until([&] { return !a.lost_causes.empty() && !b.lost_causes.empty(); }, {&a, &b}));
  a.link().abandon();
  a.step();
  EXPECT_EQ(a.lost_causes.size(), 1U);
}

// One end gives up, or goes, while the two still shake hands, or have just done so, with frames and notes under way.
// (UCX aborts a process that lets it see two endpoints for one, or ends with a message of its handshake waiting.)
TYPED_TEST_P(Links, MayBeAbandonedAtAnyTimeOfTheHandshake) {
  using End = TypeParam;
  const auto small = made_bytes(2000, 1), large = made_bytes(300'000, 2);
  for (unsigned round = 0; round < 20; ++round) {
    std::mt19937 random(round);
    auto a = std::make_unique<End>(), b = std::make_unique<End>();
    call(*a, *b);
    const auto use = [&](LinkEnd& end, uint64_t number) {
      if (number % 3 != 0) end.link().put(header_of(number, large.size()), large, number);
      if (number % 3 != 1) end.link().put(header_of(number, small.size()), small, number);
      end.link().tell(std::span(small).first(1000));
    };
    for (unsigned step = random() % (round % 2 == 0 ? 10 : 60); step > 0; --step) {
      if (random() % 2 == 0) use(*a, step);
      if (random() % 2 == 0) use(*b, step);
      (random() % 2 == 0 ? *a : *b).step();
    }
    if (random() % 2 == 0) std::swap(a, b);
    if (round % 4 == 1) {
      a.reset();
    } else {
      a->link().abandon();
      // In time for all that it may wait for, while the other does nothing.
      const auto until_at =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(round % 2 == 0 ? 220 : 0);
      while (a->lost_causes.empty() || std::chrono::steady_clock::now() < until_at) a->step();
    }
    const std::vector<LinkEnd*> left =
        a ? std::vector<LinkEnd*>{a.get(), b.get()} : std::vector<LinkEnd*>{b.get()};
    for (unsigned i = random() % 100; i > 0; --i) left[random() % left.size()]->step();
    b->link().abandon();  // or it has learnt of it
    ASSERT_TRUE(until([&] { return !b->lost_causes.empty(); }, left)) << round;
  }
}

TYPED_TEST_P(Links, WhatWasSaidLastStillArrivesWhenTheTransportGoes) {
  using End = TypeParam;
  auto a = std::make_unique<End>();
  End b;
  connect(*a, b);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(a->link().tell(made_bytes(1000, 1)));
  bool all_came = false;
  std::thread other([&] {
    all_came = until([&] { return b.notes.size() == 100 && !b.lost_causes.empty(); }, {&b});
  });
  a.reset();
  other.join();
  EXPECT_TRUE(all_came) << b.notes.size() << " notes";
}

TYPED_TEST_P(Links, AddressesAreCheckedWithTheRankThatSentThem) {
  using End = TypeParam;
  End a;
  const std::vector<std::string> garbage = {"", a.transport->address(), "no address"};
  const auto status = a.transport->connect(garbage);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kMalformedMessage);
  EXPECT_THAT(status.error().message, testing::HasSubstr("rank 2"));
  EXPECT_TRUE(a.transport->links().empty());

  auto elsewhere = parse_address(a.transport->address());
  ASSERT_TRUE(elsewhere.ok());
  elsewhere.value().host = "another";
  End b;
  const std::vector<std::string> two = {
      format_address(elsewhere.value()), "", b.transport->address()};
  const auto unreached = a.transport->connect(two);
  ASSERT_TRUE(unreached.ok()) << unreached.error().message;
  ASSERT_EQ(unreached.value().size(), 1U);
  EXPECT_EQ(unreached.value()[0].peer, 0U);
  EXPECT_THAT(unreached.value()[0].why, testing::HasSubstr("rank 0 (lo 127.0.0.1/8)"));
  ASSERT_EQ(a.transport->links().size(), 1U);
  EXPECT_EQ(a.link().peer(), 2U);
}

REGISTER_TYPED_TEST_SUITE_P(Links,
                            NameTheirEnds,
                            FramesOfAllSizesArriveWhereTheyAreWanted,
                            NotesComeInOrderBothWaysAndMayBeAnsweredAtOnce,
                            AFrameThatIsNotWantedIsDropped,
                            PutsAreBoundedByBytesButOneIsAlwaysLetIn,
                            SleepersAreWokenByWhatComes,
                            APeerThatGoesIsALostLinkAndPutsAreSafeThen,
                            APeerThatIsNotThereIsALostLink,
                            AnAbandonedLinkIsLostOnBothSides,
                            MayBeAbandonedAtAnyTimeOfTheHandshake,
                            WhatWasSaidLastStillArrivesWhenTheTransportGoes,
                            AddressesAreCheckedWithTheRankThatSentThem);

}  // namespace crossdock::transports
