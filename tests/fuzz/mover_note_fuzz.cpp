// A peer that sends what it likes: notes of random bytes, good notes with a few bytes changed and summed again, and
// headers of frames with any fields, to a mover with flows in both directions and to one that passes frames on. Nothing
// may be written outside the place that was given, and the mover must go on.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "data/movers/mover.hpp"
#include "data/movers/notes.hpp"
#include "data/movers/sim_world.hpp"

namespace crossdock {
namespace {

// Bytes of the input, as choices; zeros when they are used up.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool has_more() const { return !bytes_.empty(); }
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    const size_t count = std::min(bytes, bytes_.size());
    std::memcpy(&value, bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return value;
  }
  // Small numbers mostly, since those mean something.
  uint64_t near(uint64_t most) {
    const uint64_t choice = number(1);
    return choice < 250 ? choice % (most + 1) : number(8);
  }

 private:
  std::span<const uint8_t> bytes_;
};

class HostileLink : public transports::Link {
 public:
  explicit HostileLink(transports::PeerIndex peer) : peer_(peer) {}
  transports::PeerIndex peer() const override { return peer_; }
  std::string name() const override { return "hostile"; }
  double rate_bytes_per_s() const override { return 0; }
  bool put(const rings::SegmentHeader&, std::span<const std::byte>, uint64_t token) override {
    tokens.push_back(token);
    return true;
  }
  bool tell(std::span<const std::byte> note) override {
    CD_CHECK(movers::NoteReader::read(note).ok(), "the mover tells a note that cannot be read");
    return true;
  }

  std::vector<uint64_t> tokens;

 private:
  transports::PeerIndex peer_;
};

class HostileTransport : public transports::Transport {
 public:
  explicit HostileTransport(std::span<const uint8_t> bytes) : choices_(bytes) {}

  rings::Step progress(transports::LinkEvents& events) override {
    if (!choices_.has_more()) return rings::Step::kIdle;
    const auto link = static_cast<transports::LinkIndex>(choices_.number(1) % 2);
    switch (choices_.number(1) % 4) {
      case 0:
        random_note(events, link);
        break;
      case 1:
        good_note(events, link);
        break;
      case 2:
        frame(events, link);
        break;
      default:
        sent(events, link);
    }
    return rings::Step::kProgress;
  }
  bool arm() override { return true; }
  int wait_fd() const override { return -1; }
  std::vector<transports::Link*> links() override { return {&first_, &second_}; }
  std::string address() const override { return ""; }
  Result<std::vector<transports::Unreached>> connect(std::span<const std::string>) override {
    return std::vector<transports::Unreached>();
  }
  bool has_more() const { return choices_.has_more(); }

 private:
  void random_note(transports::LinkEvents& events, transports::LinkIndex link) {
    std::vector<std::byte> note(choices_.number(1));
    for (std::byte& byte : note) byte = static_cast<std::byte>(choices_.number(1));
    events.noted(link, note);
  }

  void good_note(transports::LinkEvents& events, transports::LinkIndex link) {
    movers::NoteWriter writer(static_cast<uint16_t>(choices_.near(3)),
                              static_cast<uint16_t>(choices_.near(3)));
    const uint64_t entries = 1 + choices_.number(1) % 4;
    for (uint64_t i = 0; i < entries; ++i) {
      movers::NoteEntry entry;
      entry.kind = static_cast<movers::NoteKind>(1 + choices_.number(1) % 9);
      entry.flow = flow();
      entry.arrived = choices_.near(5);
      entry.head = choices_.near(5);
      entry.beyond = choices_.near(3);
      entry.segments = choices_.near(9);
      entry.rows = choices_.near(9);
      entry.code = static_cast<uint16_t>(choices_.number(2));
      entry.text = "a reason";
      writer.add(entry);
    }
    events.noted(link, writer.finish());
  }

  movers::FlowId flow() {
    return {.channel = choices_.near(3),
            .source = static_cast<uint16_t>(choices_.near(1)),
            .outlet = static_cast<uint16_t>(choices_.near(1))};
  }

  void frame(transports::LinkEvents& events, transports::LinkIndex link) {
    rings::SegmentHeader header;
    const movers::FlowId id = flow();
    header.magic = choices_.number(1) < 250 ? rings::kSegmentMagic : 0;
    header.channel = id.channel;
    header.source = id.source;
    header.outlet = id.outlet;
    header.from_rank = static_cast<uint16_t>(choices_.near(2));
    header.to_rank = static_cast<uint16_t>(choices_.near(2));
    header.hop = static_cast<uint8_t>(choices_.near(2));
    header.flags = static_cast<uint16_t>(choices_.near(1));
    header.sequence = choices_.near(6);
    header.rows = static_cast<uint32_t>(choices_.near(100));
    header.heap_bytes = static_cast<uint32_t>(choices_.near(1));
    header.raw_bytes = header.bytes = static_cast<uint32_t>(choices_.near(100) * 20);
    std::byte* place = events.place(link, header);
    if (place == nullptr) return;
    for (uint32_t i = 0; i < header.bytes; ++i) place[i] = std::byte{0x55};
    events.placed(link, header, place);
  }

  void sent(transports::LinkEvents& events, transports::LinkIndex link) {
    HostileLink& from = link == 0 ? first_ : second_;
    if (from.tokens.empty()) return;
    const uint64_t token = from.tokens.back();
    from.tokens.pop_back();
    events.sent(link, token);
  }

  Choices choices_;
  HostileLink first_{1};
  HostileLink second_{2};
};

void attack(std::span<const uint8_t> bytes) {
  static const auto layout = movers::mover_test::two_longs();
  movers::mover_test::FlowMemory in(layout->ring_shape(2)), out(layout->ring_shape(2));
  HostileTransport transport(bytes);
  movers::Mover::Parts parts;
  parts.transports = {&transport};
  parts.paths = {{.peer = 1, .first = 0},
                 {.peer = 2, .first = 1},
                 {.peer = 1, .first = 1, .is_relayed = true}};
  // Without checksums, so that what lies behind them is reached.
  parts.settings.checksums = false;
  double now = 0;
  parts.now_s = [&] { return now += 1e-3; };
  parts.on_failure = [](uint64_t, const Error& cause) {
    CD_CHECK(!cause.message.empty(), "an error without words");
  };
  movers::Mover mover(std::move(parts));
  movers::MovedFlow moved;
  moved.layout = layout;
  moved.peer = 1;
  moved.id = {.channel = 1};
  moved.flow = in.flow;
  mover.add_incoming(moved);
  moved.id = {.channel = 2};
  moved.flow = out.flow;
  mover.add_outgoing(moved);
  rings::SequenceWindow<rings::CpuRingTraits> writer(out.flow.ring);
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    auto& header = *reinterpret_cast<rings::SegmentHeader*>(writer.place(sequence));
    header.rows = 5;
    writer.publish(sequence);
  }
  while (transport.has_more()) mover.step();
  for (int i = 0; i < 3; ++i) mover.step();
  CD_CHECK(!mover.state().empty(), "no state");
  mover.remove(1);
  mover.remove(2);
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  crossdock::attack(std::span(data, size));
  return 0;
}
