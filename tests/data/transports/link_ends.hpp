// Ranks in one process that are linked over loopback, and what they heard.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/transports/host_address.hpp"
#include "data/transports/link.hpp"

namespace crossdock::transports {

// A rank, and all that it heard.
class LinkEnd : public LinkEvents {
 public:
  explicit LinkEnd(Result<std::unique_ptr<Transport>> opened) {
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (opened.ok()) transport = std::move(opened.value());
  }

  ~LinkEnd() override { transport.reset(); }  // before the places that it writes to

  std::byte* place(LinkIndex, const rings::SegmentHeader& header) override {
    ++places_asked;
    if (refuses) return nullptr;
    places.emplace_back(header.bytes + 1);
    return places.back().data();
  }
  void placed(LinkIndex, const rings::SegmentHeader& header, std::byte* payload) override {
    arrived[header.sequence] = std::vector<std::byte>(payload, payload + header.bytes);
    stamps[header.sequence] = header.checksum;
  }
  bool wants_sum(const rings::SegmentHeader& header) const override {
    return header.sequence % 2 == 1;
  }
  void placed_with_sum(LinkIndex link,
                       const rings::SegmentHeader& header,
                       std::byte* payload,
                       uint32_t checksum) override {
    sums[header.sequence] = checksum;
    placed(link, header, payload);
  }
  void noted(LinkIndex, std::span<const std::byte> note) override {
    notes.emplace_back(note.begin(), note.end());
    if (on_note) on_note();
  }
  void sent(LinkIndex, uint64_t token) override { sent_tokens.push_back(token); }
  void lost(LinkIndex, const Error& cause) override { lost_causes.push_back(cause); }

  void step() { transport->progress(*this); }
  Link& link() { return *transport->links().at(0); }

  std::unique_ptr<Transport> transport;
  std::deque<std::vector<std::byte>> places;
  std::map<uint64_t, std::vector<std::byte>> arrived;
  std::map<uint64_t, uint32_t> sums;    // made here
  std::map<uint64_t, uint32_t> stamps;  // that came
  std::vector<std::vector<std::byte>> notes;
  std::vector<uint64_t> sent_tokens;
  std::vector<Error> lost_causes;
  std::function<void()> on_note;
  bool refuses = false;
  int places_asked = 0;
};

// False after 20 s.
inline bool until(const std::function<bool()>& done, std::vector<LinkEnd*> ends) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    for (LinkEnd* end : ends) end->step();
  }
  return true;
}

inline void call(LinkEnd& a, LinkEnd& b) {
  const std::vector<std::string> for_a = {"", b.transport->address()};
  const std::vector<std::string> for_b = {a.transport->address(), ""};
  ASSERT_TRUE(a.transport->connect(for_a).ok());
  ASSERT_TRUE(b.transport->connect(for_b).ok());
}

// Ready: a note has gone both ways.
inline void connect(LinkEnd& a, LinkEnd& b) {
  call(a, b);
  for (LinkEnd* end : {&a, &b}) {
    ASSERT_TRUE(until([&] { return end->link().tell({}); }, {&a, &b}));
  }
  ASSERT_TRUE(until([&] { return a.notes.size() + b.notes.size() == 2; }, {&a, &b}));
  a.notes.clear();
  b.notes.clear();
}

// Of two processes one opens the links, by chance.
template <class End>
std::unique_ptr<End> other_of(const LinkEnd& one, bool is_opener) {
  const auto address_of = [](const LinkEnd& end) {
    return parse_address(end.transport->address()).value();
  };
  while (true) {
    auto end = std::make_unique<End>();
    if (opens_links(address_of(*end), address_of(one)) == is_opener) return end;
  }
}

inline std::vector<std::byte> made_bytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

inline rings::SegmentHeader header_of(uint64_t sequence, size_t size) {
  rings::SegmentHeader header;
  header.magic = rings::kSegmentMagic;
  header.sequence = sequence;
  header.rows = static_cast<uint32_t>(sequence * 7);
  header.bytes = static_cast<uint32_t>(size);
  return header;
}

}  // namespace crossdock::transports
