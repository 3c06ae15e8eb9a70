// A small network of the imagination.
#include "data/movers/sim_links.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/check.hpp"
#include "data/rings/wire_segment.hpp"

namespace crossdock::movers::mover_test {

// One end of a link.
class SimNet::End : public transports::Link {
 public:
  End(SimNet& net, size_t link, bool is_a) : net_(net), link_(link), is_a_(is_a) {}

  transports::PeerIndex peer() const override {
    return static_cast<transports::PeerIndex>(is_a_ ? spec().b : spec().a);
  }
  int rank() const { return is_a_ ? spec().a : spec().b; }
  std::string name() const override { return fmt::format("sim{} to rank {}", link_, peer()); }
  double rate_bytes_per_s() const override {
    return spec().planned < 0 ? spec().rate : spec().planned;
  }

  bool put(const rings::SegmentHeader& header,
           std::span<const std::byte> payload,
           uint64_t token) override {
    CD_CHECK(!is_lost_, "a put on a lost link");
    CD_CHECK(payload.size() == header.bytes, "{} of {} bytes", payload.size(), header.bytes);
    if (under_way_ >= spec().depth || net_.by_chance(spec().refuses)) return false;
    ++under_way_;
    const double begin = std::max(net_.now_, busy_until_);
    busy_until_ = begin + static_cast<double>(sizeof(header) + payload.size()) / spec().rate;
    if (spec().is_buffered) {
      leave(header, payload, token);
      return true;
    }
    // The bytes are read when the last of them is on the wire, so that changing them before is found out.
    net_.plan(busy_until_, [this, &header, payload, token] { leave(header, payload, token); });
    return true;
  }

  bool tell(std::span<const std::byte> note) override {
    CD_CHECK(
        !is_lost_ && note.size() <= transports::kNoteBytesMax, "a note of {} bytes", note.size());
    if (net_.by_chance(spec().refuses)) return false;
    if (is_cut_ || net_.by_chance(spec().note_loss)) return true;
    arrive_after([this, bytes = std::vector<std::byte>(note.begin(), note.end())] {
      End& there = other();
      there.news_.push_back([bytes](transports::LinkIndex index, transports::LinkEvents& events) {
        events.noted(index, bytes);
      });
    });
    return true;
  }

  bool revoke(const std::byte* place) override {
    const auto stuck =
        std::ranges::find_if(placing_, [&](const auto& one) { return one->place == place; });
    if (!is_frozen() || stuck == placing_.end()) return false;
    placing_.erase(stuck);
    return true;
  }

  void abandon() override {
    if (!is_lost_) lose("given up");
  }

  void lose(const std::string& why) {
    is_cut_ = true;
    news_.clear();
    news_.push_back([this, why](transports::LinkIndex index, transports::LinkEvents& events) {
      is_lost_ = true;
      placing_.clear();
      events.lost(index, make_error(ErrorCode::kAgentLost, "{}", why));
    });
    ++epoch_;  // what is under way is forgotten
  }

  void cut(Cut how) {
    is_cut_ = true;
    how_ = how;
  }

  bool deliver(transports::LinkIndex index, transports::LinkEvents& events) {
    bool delivered = false;
    while (!news_.empty() && !is_lost_) {
      const auto tell = std::move(news_.front());
      news_.pop_front();
      tell(index, events);
      delivered = true;
    }
    return delivered;
  }
  bool has_news() const { return !news_.empty() && !is_lost_; }

 private:
  struct Placing {
    rings::SegmentHeader header;
    std::vector<std::byte> payload;
    std::byte* place = nullptr;
  };

  bool is_frozen() const { return is_cut_ && how_ == Cut::kFreezes; }
  SimLinkSpec& spec() const { return net_.specs_[link_]; }
  End& other() const { return *net_.ends_[2 * link_ + (is_a_ ? 1 : 0)]; }

  void leave(const rings::SegmentHeader& header,
             std::span<const std::byte> payload,
             uint64_t token) {
    if (is_lost_ || epoch_ != 0) return;
    if (is_cut_ && how_ != Cut::kSwallows) return;
    --under_way_;
    news_.push_back([token](transports::LinkIndex index, transports::LinkEvents& events) {
      events.sent(index, token);
    });
    if (is_cut_ || net_.by_chance(spec().frame_loss)) return;
    std::vector<std::byte> bytes(payload.begin(), payload.end());
    if (!bytes.empty() && net_.by_chance(spec().corrupts))
      bytes[net_.random_() % bytes.size()] ^= std::byte{0x40};
    const int times = net_.by_chance(spec().duplicates) ? 2 : 1;
    for (int i = 0; i < times; ++i) {
      arrive_after([this, header, bytes] { other().arrive(header, bytes); });
    }
  }

  // In the order of the calls.
  void arrive_after(std::function<void()> happens) {
    const double jitter =
        std::uniform_real_distribution<double>(0, 1)(net_.random_) * spec().jitter_s;
    last_arrival_ =
        std::max(last_arrival_, std::max(net_.now_, busy_until_) + spec().delay_s + jitter);
    net_.plan(last_arrival_, [this, happens = std::move(happens)] {
      if (!other().is_lost_ && other().epoch_ == 0) happens();
    });
  }

  void arrive(const rings::SegmentHeader& header, const std::vector<std::byte>& bytes) {
    auto placing = std::make_shared<Placing>(Placing{.header = header, .payload = bytes});
    news_.push_back([this, placing](transports::LinkIndex index, transports::LinkEvents& events) {
      placing->place = events.place(index, placing->header);
      if (placing->place == nullptr) return;
      placing_.push_back(placing);
      const size_t half = placing->payload.size() / 2;
      std::memcpy(placing->place, placing->payload.data(), half);
      net_.plan(net_.now_ + spec().write_s, [this, placing] { written(placing); });
    });
  }

  void written(const std::shared_ptr<Placing>& placing) {
    if (is_frozen() || std::ranges::find(placing_, placing) == placing_.end()) return;
    news_.push_back([this, placing](transports::LinkIndex index, transports::LinkEvents& events) {
      std::erase(placing_, placing);
      const rings::SegmentHeader& header = placing->header;
      // Links of both kinds: those that copy and sum up at once, and those that do not.
      if (header.sequence % 2 == 0 && events.wants_sum(header)) {
        const uint32_t checksum = rings::copy_payload(header, placing->payload, placing->place);
        return events.placed_with_sum(index, header, placing->place, checksum);
      }
      std::memcpy(placing->place, placing->payload.data(), placing->payload.size());
      events.placed(index, header, placing->place);
    });
  }

  SimNet& net_;
  size_t link_;
  bool is_a_;
  int under_way_ = 0;
  double busy_until_ = 0;
  double last_arrival_ = 0;
  bool is_cut_ = false;
  bool is_lost_ = false;
  Cut how_ = Cut::kTells;
  int epoch_ = 0;
  std::deque<std::function<void(transports::LinkIndex, transports::LinkEvents&)>> news_;
  std::vector<std::shared_ptr<Placing>> placing_;
};

class SimNet::Rank : public transports::Transport {
 public:
  std::vector<End*> ends;

  rings::Step progress(transports::LinkEvents& events) override {
    bool delivered = false;
    for (size_t i = 0; i < ends.size(); ++i) {
      delivered |= ends[i]->deliver(static_cast<transports::LinkIndex>(i), events);
    }
    return delivered ? rings::Step::kProgress : rings::Step::kIdle;
  }
  bool arm() override {
    return std::ranges::none_of(ends, [](End* end) { return end->has_news(); });
  }
  int wait_fd() const override { return -1; }
  std::vector<transports::Link*> links() override { return {ends.begin(), ends.end()}; }
  std::string address() const override { return "sim"; }
  Result<std::vector<transports::Unreached>> connect(std::span<const std::string>) override {
    return std::vector<transports::Unreached>();
  }
};

SimNet::SimNet(int ranks, std::vector<SimLinkSpec> specs, uint64_t seed)
    : random_(seed), specs_(std::move(specs)) {
  for (int rank = 0; rank < ranks; ++rank) ranks_.push_back(std::make_unique<Rank>());
  for (size_t link = 0; link < specs_.size(); ++link) {
    for (const bool is_a : {true, false}) {
      ends_.push_back(std::make_unique<End>(*this, link, is_a));
      ranks_[static_cast<size_t>(ends_.back()->rank())]->ends.push_back(ends_.back().get());
    }
  }
}

SimNet::~SimNet() = default;

transports::Transport& SimNet::transport(int rank) { return *ranks_[static_cast<size_t>(rank)]; }

SimLinkSpec& SimNet::spec(size_t link) { return specs_[link]; }

transports::LinkIndex SimNet::index(size_t link, int rank) const {
  const auto& ends = ranks_[static_cast<size_t>(rank)]->ends;
  const End* end = ends_[2 * link + (specs_[link].a == rank ? 0 : 1)].get();
  return static_cast<transports::LinkIndex>(std::ranges::find(ends, end) - ends.begin());
}

void SimNet::cut(size_t link, Cut how) {
  for (const size_t end : {2 * link, 2 * link + 1}) {
    ends_[end]->cut(how);
    if (how == Cut::kTells) ends_[end]->lose("the cable was cut");
  }
}

void SimNet::plan(double at, std::function<void()> happens) {
  events_.push({.at = at, .number = planned_++, .happens = std::move(happens)});
}

bool SimNet::by_chance(double part) {
  return part > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < part;
}

void SimNet::advance(double to) {
  while (!events_.empty() && events_.top().at <= to) {
    const Event event = events_.top();
    events_.pop();
    now_ = std::max(now_, event.at);
    event.happens();
  }
  now_ = std::max(now_, to);
}

}  // namespace crossdock::movers::mover_test
