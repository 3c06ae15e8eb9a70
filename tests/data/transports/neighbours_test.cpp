// Neighbours as real processes: who meets, what is handed over, and who is missed.
#include "data/transports/neighbours.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <poll.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/transports/forked_ranks.hpp"
#include "data/transports/neighbour_address.hpp"

namespace crossdock::transports {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

struct Heard : NeighbourEvents {
  struct Note {
    PeerIndex peer;
    std::string text;
    std::unique_ptr<SharedRegion> region;
  };
  std::vector<Note> notes;
  std::vector<PeerIndex> ended;
  Error cause;

  void received(PeerIndex peer,
                const std::string& note,
                std::unique_ptr<SharedRegion> region) override {
    EXPECT_THAT(ended, testing::Not(testing::Contains(peer))) << note;
    notes.push_back({peer, note, std::move(region)});
  }
  void gone(PeerIndex peer, const Error& why) override {
    ended.push_back(peer);
    cause = why;
  }
};

std::unique_ptr<Neighbours> listening(int rank) {
  auto neighbours = Neighbours::listen(rank);
  EXPECT_TRUE(neighbours.ok()) << neighbours.error().message;
  return std::move(neighbours.value());
}

// All ranks meet; `peers`: whom this one has met.
std::unique_ptr<Neighbours> met(int rank,
                                ForkedRanks::Meeting& meeting,
                                std::vector<PeerIndex>* peers = nullptr) {
  auto neighbours = listening(rank);
  const auto connected = neighbours->connect(meeting.gather(neighbours->address()), seconds(20));
  EXPECT_TRUE(connected.ok()) << connected.error().message;
  if (peers != nullptr && connected.ok()) *peers = connected.value();
  return neighbours;
}

void expect_said(Neighbours& neighbours,
                 PeerIndex peer,
                 const std::string& note,
                 const SharedRegion* region = nullptr) {
  const Status said = neighbours.say(peer, note, region);
  EXPECT_TRUE(said.ok()) << said.error().message;
}

size_t open_descriptors() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

bool hear_until(Neighbours& neighbours, Heard& heard, const std::function<bool()>& done) {
  return poll_until(done, [&] { neighbours.progress(heard); });
}

TEST(Neighbours, HandEachOtherRegionsAndNotes) {
  ForkedRanks ranks(4, [](int rank, ForkedRanks::Meeting& meeting) {
    const size_t before = open_descriptors();
    {
      std::vector<PeerIndex> peers;
      const auto neighbours = met(rank, meeting, &peers);
      std::vector<PeerIndex> others{0, 1, 2, 3};
      std::erase(others, static_cast<PeerIndex>(rank));
      EXPECT_EQ(peers, others);
      auto region = SharedRegion::create(100'000 + rank);
      ASSERT_TRUE(region.ok());
      region.value()->bytes()[99'999] = std::byte(rank + 1);
      for (const PeerIndex peer : others) {
        expect_said(*neighbours, peer, fmt::format("of {}", rank), region.value().get());
        expect_said(*neighbours, peer, "");
      }
      region.value().reset();  // what was handed over lives on
      Heard heard;
      EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return heard.notes.size() == 6; }));
      for (const Heard::Note& note : heard.notes) {
        if (note.region == nullptr) {
          EXPECT_EQ(note.text, "");
          continue;
        }
        EXPECT_EQ(note.text, fmt::format("of {}", note.peer));
        ASSERT_EQ(note.region->bytes().size(), 100'000u + note.peer);
        EXPECT_EQ(note.region->bytes()[99'999], std::byte(note.peer + 1));
      }
      meeting.barrier();
      EXPECT_THAT(heard.ended, ElementsAre());
    }
    EXPECT_EQ(open_descriptors(), before);
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST(Neighbours, MissOneThatIsKilledAtOnceAndAfterItsNotes) {
  ForkedRanks ranks(3, [](int rank, ForkedRanks::Meeting& meeting) {
    const auto neighbours = met(rank, meeting);
    if (rank == 1) {
      const auto region = SharedRegion::create(4096);
      for (const PeerIndex peer : {0u, 2u}) {
        for (const char* note : {"a", "b", "c"}) {
          expect_said(*neighbours, peer, note, region.value().get());
        }
      }
      expect_said(*neighbours, 0, "never read by 1", nullptr);
      meeting.barrier();
      ::raise(SIGKILL);
    }
    expect_said(*neighbours, 1, "never taken");  // its end then comes as a reset
    meeting.barrier();
    Heard heard;
    EXPECT_TRUE(poll_until(
        [&] { return !heard.ended.empty(); }, [&] { neighbours->progress(heard); }, seconds(2)));
    EXPECT_THAT(heard.ended, ElementsAre(1));
    // The other one may have said that it goes on.
    EXPECT_EQ(std::ranges::count(heard.notes, PeerIndex{1}, &Heard::Note::peer), rank == 0 ? 4 : 3);
    EXPECT_EQ(heard.cause.code, ErrorCode::kAgentLost);
    EXPECT_THAT(heard.cause.message, HasSubstr("rank 1 (process "));
    EXPECT_THAT(heard.cause.message, HasSubstr("has ended"));
    neighbours->progress(heard);
    EXPECT_EQ(heard.ended.size(), 1u);
    const Status said = neighbours->say(1, "", nullptr);
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(said.error().code, ErrorCode::kAgentLost);
    expect_said(*neighbours, rank == 0 ? 2 : 0, "we two go on");
    EXPECT_TRUE(
        hear_until(*neighbours, heard, [&] { return heard.notes.back().text == "we two go on"; }));
  });
  EXPECT_EQ(ranks.status(1), -SIGKILL);
  EXPECT_TRUE(ranks.all_are_well());
}

// As a process that uses fork() without exec has them: they inherit its connections.
TEST(Neighbours, MissOneThatIsKilledThoughItsChildLives) {
  ForkedRanks ranks(2, [](int rank, ForkedRanks::Meeting& meeting) {
    const auto neighbours = met(rank, meeting);
    if (rank == 1) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::sleep(60);
        ::_exit(0);
      }
      meeting.gather(fmt::format("{}", child));
      ::raise(SIGKILL);
    }
    const pid_t child = std::stoi(meeting.gather("").back());
    Heard heard;
    EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return !heard.ended.empty(); }));
    EXPECT_EQ(::kill(child, SIGKILL), 0);
  });
  EXPECT_EQ(ranks.status(1), -SIGKILL);
  EXPECT_TRUE(ranks.all_are_well());
}

TEST(Neighbours, LetNotesWaitForOneThatIsBusy) {
  constexpr int kNotes = 900;
  ForkedRanks ranks(2, [](int rank, ForkedRanks::Meeting& meeting) {
    const auto neighbours = met(rank, meeting);
    Heard heard;
    if (rank == 0) {
      const auto region = SharedRegion::create(4096);
      const std::string filling(1000, '.');
      for (int i = 0; i < kNotes; ++i) {
        expect_said(*neighbours,
                    1,
                    fmt::format("{}{}", i, filling),
                    i % 100 == 99 ? region.value().get() : nullptr);
      }
      meeting.barrier();
      EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return !heard.notes.empty(); }));
      return;
    }
    meeting.barrier();
    EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return heard.notes.size() == kNotes; }));
    for (int i = 0; i < kNotes; ++i) {
      const Heard::Note& note = heard.notes[static_cast<size_t>(i)];
      ASSERT_EQ(std::stoi(note.text), i);
      ASSERT_EQ(note.region != nullptr, i % 100 == 99);
    }
    expect_said(*neighbours, 0, "all of them");
  });
  EXPECT_TRUE(ranks.all_are_well());
}

// A user may have no more descriptors on their way between processes than a process may hold: 64 from here on.
void pass_few_descriptors() {
  constexpr uid_t kNobody = 65534;
  if (::geteuid() == 0) {
    ASSERT_EQ(::setresuid(kNobody, kNobody, kNobody), 0);  // root may have any number
  }
  const rlimit few = {64, 64};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
}

TEST(Neighbours, LetRegionsWaitWhileTheSystemPassesNoMore) {
  constexpr size_t kRegions = 90;
  ForkedRanks ranks(2, [](int rank, ForkedRanks::Meeting& meeting) {
    ASSERT_NO_FATAL_FAILURE(pass_few_descriptors());
    const auto neighbours = met(rank, meeting);
    Heard heard;
    if (rank == 0) {
      const auto region = SharedRegion::create(4096);
      for (size_t i = 0; i < kRegions; ++i) {
        expect_said(*neighbours, 1, fmt::format("{}", i), region.value().get());
      }
      meeting.barrier();
      EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return !heard.notes.empty(); }));
      return;
    }
    meeting.barrier();
    EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return heard.notes.size() == kRegions; }));
    for (size_t i = 0; i < heard.notes.size(); ++i) {
      EXPECT_EQ(heard.notes[i].text, fmt::format("{}", i));
      EXPECT_NE(heard.notes[i].region, nullptr);
    }
    expect_said(*neighbours, 0, "all of them");
  });
  EXPECT_TRUE(ranks.all_are_well());
}

// Not for ever, though: its socket has room all the time, so it would be asked again without a pause.
TEST(Neighbours, GiveUpOneForWhomTheSystemPassesNoMoreForLong) {
  constexpr size_t kRegions = 90;
  ForkedRanks ranks(2, [](int rank, ForkedRanks::Meeting& meeting) {
    ASSERT_NO_FATAL_FAILURE(pass_few_descriptors());
    const auto neighbours = met(rank, meeting);
    if (rank == 1) return meeting.barrier();  // it takes nothing meanwhile
    const auto region = SharedRegion::create(4096);
    for (size_t i = 0; i < kRegions; ++i) {
      expect_said(*neighbours, 1, fmt::format("{}", i), region.value().get());
    }
    Heard heard;
    for (int turn = 0; turn < 400 && heard.ended.empty(); ++turn) {
      neighbours->progress(heard);
      std::this_thread::sleep_for(milliseconds(50));
    }
    EXPECT_THAT(heard.ended, ElementsAre(1U));
    EXPECT_EQ(heard.cause.code, ErrorCode::kAgentLost);
    EXPECT_THAT(heard.cause.message, HasSubstr("cannot be sent to"));
    EXPECT_FALSE(neighbours->say(1, "more", nullptr).ok());
    meeting.barrier();
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST(Neighbours, GiveUpOneThatNeverTakesNotes) {
  ForkedRanks ranks(2, [](int rank, ForkedRanks::Meeting& meeting) {
    const auto neighbours = met(rank, meeting);
    if (rank == 1) return meeting.barrier();
    Status said;
    int taken = 0;
    for (; taken < 10'000 && said.ok(); ++taken)
      said = neighbours->say(1, std::string(1000, '.'), nullptr);
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(said.error().code, ErrorCode::kAgentLost);
    EXPECT_THAT(said.error().message, HasSubstr("has left 1024 notes lying"));
    Heard heard;
    EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return !heard.ended.empty(); }));
    EXPECT_THAT(heard.cause.message, HasSubstr("has left 1024 notes lying"));
    meeting.barrier();
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST(Neighbours, ConcurrentThreadsMaySay) {
  constexpr size_t kEach = 300;
  ForkedRanks ranks(2, [](int rank, ForkedRanks::Meeting& meeting) {
    const auto neighbours = met(rank, meeting);
    const PeerIndex other = 1 - static_cast<PeerIndex>(rank);
    Heard heard;
    std::vector<std::thread> speakers;
    for (int t = 0; t < 2; ++t) {
      speakers.emplace_back([&, t] {
        for (size_t i = 0; i < kEach; ++i) {
          expect_said(*neighbours, other, fmt::format("{} {}", t, i));
        }
      });
    }
    EXPECT_TRUE(hear_until(*neighbours, heard, [&] { return heard.notes.size() >= 2 * kEach; }));
    for (std::thread& speaker : speakers) speaker.join();
    size_t next[2] = {0, 0};
    for (size_t i = 0; i < 2 * kEach; ++i) {
      size_t thread = 0, number = 0;
      ASSERT_EQ(std::sscanf(heard.notes[i].text.c_str(), "%zu %zu", &thread, &number), 2);
      EXPECT_EQ(number, next[thread]++);
    }
    // Rank 1 has everything, then rank 0 goes: no rank goes while own notes still wait in line.
    if (rank == 1) expect_said(*neighbours, other, "I have them all");
    EXPECT_TRUE(hear_until(*neighbours, heard, [&] {
      return rank == 0 ? heard.notes.size() > 2 * kEach : !heard.ended.empty();
    }));
  });
  EXPECT_TRUE(ranks.all_are_well());
}

TEST(Neighbours, WaitFdTellsWhenSomethingComes) {
  ForkedRanks ranks(2, [](int rank, ForkedRanks::Meeting& meeting) {
    const auto neighbours = met(rank, meeting);
    pollfd watched{neighbours->wait_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&watched, 1, 0), 0);
    meeting.barrier();
    if (rank == 0) {
      expect_said(*neighbours, 1, "wake");
    } else {
      EXPECT_EQ(::poll(&watched, 1, 20'000), 1);
      Heard heard;
      neighbours->progress(heard);
      EXPECT_EQ(heard.notes.size(), 1u);
      EXPECT_EQ(::poll(&watched, 1, 0), 0);
    }
    meeting.barrier();
  });
  EXPECT_TRUE(ranks.all_are_well());
}

Error connect_error(Neighbours& neighbours,
                    std::vector<std::string> addresses,
                    milliseconds at_most) {
  const auto connected = neighbours.connect(addresses, at_most);
  EXPECT_FALSE(connected.ok());
  return connected.ok() ? Error{} : connected.error();
}

TEST(Neighbours, NameThoseWhoDoNotCome) {
  const auto a = listening(0);
  const auto b = listening(1);
  const auto c = listening(2);
  const Error error =
      connect_error(*b, {a->address(), b->address(), c->address()}, milliseconds(50));
  EXPECT_EQ(error.code, ErrorCode::kAgentLost);
  EXPECT_THAT(error.message, HasSubstr("ranks 0, 2 of this host did not come within 0.05 s"));
  // b is over now: a rank that calls it learns that at once.
  const Error refused = connect_error(*c, {"", b->address(), c->address()}, seconds(20));
  EXPECT_EQ(refused.code, ErrorCode::kAgentLost);
  EXPECT_THAT(refused.message, HasSubstr("rank 1 of this host has ended"));
  EXPECT_EQ(connect_error(*c, {}, seconds(1)).code, ErrorCode::kInvalidArgument);
}

TEST(Neighbours, LeaveOtherHostsAlone) {
  const auto a = listening(0);
  auto elsewhere = NeighbourAddress::parse(a->address()).value();
  elsewhere.host += "0";
  const std::vector<std::string> addresses{a->address(), elsewhere.text(), ""};
  const auto connected = a->connect(addresses, seconds(20));
  ASSERT_TRUE(connected.ok()) << connected.error().message;
  EXPECT_THAT(connected.value(), ElementsAre());
  const Status said = a->say(1, "", nullptr);
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, ErrorCode::kInvalidArgument);
}

TEST(Neighbours, RefuseOtherUsersAndWhatIsNoAddress) {
  const auto a = listening(0);
  auto stranger = NeighbourAddress::parse(a->address()).value();
  ++stranger.user;
  const Error refused = connect_error(*a, {a->address(), stranger.text()}, seconds(20));
  EXPECT_EQ(refused.code, ErrorCode::kNotAllowed);
  EXPECT_THAT(refused.message,
              HasSubstr(fmt::format("rank 1 runs on this host as user {}", stranger.user)));
  for (const std::string& text : {std::string("shm1"),
                                  std::string(5, ' '),
                                  a->address() + " ",
                                  a->address() + "0",
                                  "shm2" + a->address().substr(4),
                                  std::string(10'000, 'x')}) {
    const auto b = listening(0);
    EXPECT_EQ(connect_error(*b, {b->address(), text}, seconds(20)).code,
              ErrorCode::kMalformedMessage)
        << text;
  }
}

}  // namespace
}  // namespace crossdock::transports
