// Notes: what is written is read, and nothing else.
#include "data/movers/notes.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crossdock::movers {
namespace {

using ::testing::HasSubstr;

const FlowId kFlow{.channel = 0x1234'5678'9ABC, .source = 513, .outlet = 65535};

std::vector<NoteEntry> one_of_each() {
  std::vector<NoteEntry> entries;
  for (const NoteKind kind : {NoteKind::kCredit,
                              NoteKind::kTotal,
                              NoteKind::kTotalSeen,
                              NoteKind::kAsk,
                              NoteKind::kUnknown,
                              NoteKind::kFailed,
                              NoteKind::kFailedSeen,
                              NoteKind::kKeepalive,
                              NoteKind::kKeepaliveSeen}) {
    NoteEntry entry;
    entry.kind = kind;
    if (kind < NoteKind::kFailed) entry.flow = kFlow;
    if (kind == NoteKind::kFailed || kind == NoteKind::kFailedSeen) entry.flow = {.channel = 9};
    entries.push_back(entry);
  }
  entries[0].arrived = 1ULL << 40;
  entries[0].head = 77;
  entries[0].beyond = 0x8000'0000'0000'0001;
  entries[1].segments = 5;
  entries[1].rows = ~0ULL;
  entries[5].code = 617;
  entries[5].text = "the link to rank 3 is gone";
  return entries;
}

std::vector<std::byte> bytes_of(NoteWriter& writer) {
  const auto bytes = writer.finish();
  return {bytes.begin(), bytes.end()};
}

TEST(Notes, what_is_written_is_read) {
  NoteWriter writer(7, 65535);
  for (const NoteEntry& entry : one_of_each()) ASSERT_TRUE(writer.add(entry));
  const auto bytes = bytes_of(writer);
  auto read = NoteReader::read(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().head().from_rank, 7);
  EXPECT_EQ(read.value().head().to_rank, 65535);
  EXPECT_EQ(read.value().head().hop, 0);
  for (const NoteEntry& note : one_of_each()) {
    NoteEntry entry;
    ASSERT_TRUE(read.value().next(entry));
    EXPECT_EQ(entry, note) << static_cast<int>(note.kind);
  }
  NoteEntry entry;
  EXPECT_FALSE(read.value().next(entry));
}

TEST(Notes, a_full_note_takes_no_more_and_any_entry_fits_an_empty_one) {
  NoteWriter writer(0, 1);
  int entries = 0;
  while (writer.add(one_of_each()[0])) ++entries;
  EXPECT_EQ(writer.entries(), entries);
  EXPECT_EQ(entries, 25);
  EXPECT_LE(writer.finish().size(), transports::kNoteBytesMax);

  NoteEntry failed;
  failed.kind = NoteKind::kFailed;
  const std::string text(5000, 'x');
  failed.text = text;
  NoteWriter other(0, 1);
  ASSERT_TRUE(other.add(failed));
  const auto bytes = bytes_of(other);
  auto read = NoteReader::read(bytes);
  ASSERT_TRUE(read.ok()) << read.error().message;
  NoteEntry entry;
  ASSERT_TRUE(read.value().next(entry));
  EXPECT_EQ(entry.text.size(), kNoteTextMax);
}

TEST(Notes, every_changed_bit_but_those_of_the_hop_is_noticed) {
  NoteWriter writer(1, 2);
  for (const NoteEntry& entry : one_of_each()) writer.add(entry);
  const auto good = bytes_of(writer);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_EQ(NoteReader::read(bytes).ok(), bit / 8 == 3) << "bit " << bit;
  }
}

TEST(Notes, a_part_of_one_is_refused) {
  NoteWriter writer(1, 2);
  for (const NoteEntry& entry : one_of_each()) writer.add(entry);
  const auto good = bytes_of(writer);
  for (size_t length = 0; length < good.size(); ++length) {
    const auto read = NoteReader::read(std::span(good).first(length));
    ASSERT_FALSE(read.ok()) << length;
    EXPECT_EQ(read.error().code, ErrorCode::kMalformedMessage);
    EXPECT_THAT(read.error().message, HasSubstr("length is " + std::to_string(length)));
  }
}

TEST(Notes, the_next_hop_counts) {
  NoteWriter writer(1, 2);
  writer.add(NoteEntry{});
  const auto good = bytes_of(writer);
  std::vector<std::byte> next(good.size());
  copy_note_for_next_hop(good, next);
  const auto read = NoteReader::read(next);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read.value().head().hop, 1);
}

}  // namespace
}  // namespace crossdock::movers
