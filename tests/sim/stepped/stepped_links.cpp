// Frames and notes on their way, and who hears of them.
#include "sim/stepped/stepped_links.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace crossdock::sim {
namespace {

std::vector<topology::VertexIndex> nics_of(const topology::ServerShape& shape) {
  const topology::VertexRange range = shape.of_kind(topology::VertexKind::kNic);
  std::vector<topology::VertexIndex> nics;
  for (topology::VertexIndex i = 0; i < range.count; ++i) {
    const auto nic = static_cast<topology::VertexIndex>(range.first + i);
    if (shape.find_edge(nic, *shape.network()) != nullptr) nics.push_back(nic);
  }
  return nics;
}

}  // namespace

LinkNumber SteppedServer::link(topology::VertexIndex from, topology::VertexIndex to) const {
  const topology::Edge* edge = shape->find_edge(from, to);
  CD_CHECK(edge != nullptr, "no edge from {} to {}", from, to);
  return first_link + static_cast<LinkNumber>(edge - shape->edges().data());
}

// The links of one server, by peer and then NIC.
class SteppedLinks::ServerLinks : public transports::Transport {
 public:
  explicit ServerLinks(SteppedLinks& all) : net(all) {}

  SteppedLinks& net;
  uint32_t server = 0;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<transports::LinkIndex> first;      // per peer
  std::vector<transports::LinkIndex> with_news;  // each once

  rings::Step progress(transports::LinkEvents& events) override;
  bool arm() override { return with_news.empty(); }
  int wait_fd() const override { return -1; }
  std::vector<transports::Link*> links() override;
  std::string address() const override { return "stepped"; }
  Result<std::vector<transports::Unreached>> connect(std::span<const std::string>) override {
    return std::vector<transports::Unreached>();
  }
};

// One end of a link between the NICs of the same place of two servers.
class SteppedLinks::End : public transports::Link {
 public:
  // What its mover is to hear of: a token, or the number of a frame or a note.
  struct News {
    enum class Kind : uint8_t { kSent, kFrame, kNote, kLost };
    Kind kind = Kind::kSent;
    uint64_t number = 0;
  };

  End(ServerLinks& links, uint32_t peer, size_t nic, transports::LinkIndex index)
      : links_here_(links), peer_(peer), nic_(nic), index_(index) {}

  const SteppedServer& here() const { return links_here_.net.servers_[links_here_.server]; }
  const SteppedServer& there() const { return links_here_.net.servers_[peer_]; }
  topology::VertexIndex nic_here() const { return here().nics[nic_]; }
  topology::VertexIndex nic_there() const { return there().nics[nic_]; }
  LinkNumber out() const { return here().link(nic_here(), *here().shape->network()); }
  LinkNumber in() const { return there().link(*there().shape->network(), nic_there()); }
  End& other() const {
    const ServerLinks& links = *links_here_.net.links_[peer_];
    return *links.ends[links.first[links_here_.server] + nic_];
  }

  transports::PeerIndex peer() const override { return peer_; }
  std::string name() const override { return fmt::format("{} to {}", device(), peer_); }
  std::string device() const override { return here().shape->vertex(nic_here()).name; }
  std::string peer_device() const override { return there().shape->vertex(nic_there()).name; }
  double rate_bytes_per_s() const override {
    const topology::Edge* edge = here().shape->find_edge(nic_here(), *here().shape->network());
    return edge->bytes_per_s / links_here_.net.options_.bytes_per_row;
  }

  bool put(const rings::SegmentHeader& header,
           std::span<const std::byte> payload,
           uint64_t token) override;
  bool tell(std::span<const std::byte> note) override;
  void abandon() override { lose("given up"); }

  void cut() { is_cut_ = true; }
  void lose(const std::string& why) {
    if (is_lost_) return;
    is_cut_ = true;
    for (const News& one : std::exchange(news_, {})) drop(one);
    why_ = why;
    add({News::Kind::kLost, 0});
  }

  void left(uint64_t token) {
    if (is_cut_) return;
    --under_way_;
    add({News::Kind::kSent, token});
  }
  void arrive(uint64_t frame) { add_unless_cut({News::Kind::kFrame, frame}); }
  bool deliver(transports::LinkEvents& events) {
    std::vector<News> news;
    news.swap(news_);
    for (const News& one : news) {
      if (!is_lost_) hear(one, events);
      drop(one);
    }
    return !news.empty();
  }

 private:
  void add(News news) {
    if (is_lost_ || here().is_dead) return drop(news);
    if (news_.empty()) links_here_.with_news.push_back(index_);
    news_.push_back(news);
    links_here_.net.woken_(links_here_.server);
  }
  void add_unless_cut(News news) { is_cut_ ? drop(news) : add(news); }
  void hear(const News& news, transports::LinkEvents& events);
  void drop(const News& news) {
    SteppedLinks& net = links_here_.net;
    if (news.kind == News::Kind::kFrame) net.frames_.free.push_back(news.number);
    if (news.kind == News::Kind::kNote) net.notes_.free.push_back(news.number);
  }

  ServerLinks& links_here_;
  const uint32_t peer_;
  const size_t nic_;
  const transports::LinkIndex index_;
  int under_way_ = 0;
  bool is_cut_ = false;
  bool is_lost_ = false;
  std::string why_;
  std::vector<News> news_;
};

template <typename T>
uint64_t SteppedLinks::Pool<T>::take() {
  if (free.empty()) {
    free.push_back(all.size());
    all.emplace_back();
  }
  const uint64_t number = free.back();
  free.pop_back();
  return number;
}

void SteppedLinks::End::hear(const News& news, transports::LinkEvents& events) {
  SteppedLinks& net = links_here_.net;
  switch (news.kind) {
    case News::Kind::kSent:
      return events.sent(index_, news.number);
    case News::Kind::kNote:
      return events.noted(index_, net.notes_.all[news.number]);
    case News::Kind::kLost:
      is_lost_ = true;
      return events.lost(index_, make_error(ErrorCode::kAgentLost, "{}", why_));
    case News::Kind::kFrame: {
      const Frame& frame = net.frames_.all[news.number];
      std::byte* const place = events.place(index_, frame.header);
      if (place == nullptr) return;
      std::memcpy(place, frame.payload.data(), frame.payload.size());
      events.placed(index_, frame.header, place);
      net.placed_(links_here_.server, frame.header);
      return;
    }
  }
}

rings::Step SteppedLinks::ServerLinks::progress(transports::LinkEvents& events) {
  std::vector<transports::LinkIndex> now;
  now.swap(with_news);
  std::ranges::sort(now);
  const auto repeated = std::ranges::unique(now);
  now.erase(repeated.begin(), repeated.end());
  bool has_delivered = false;
  for (const transports::LinkIndex index : now) has_delivered |= ends[index]->deliver(events);
  return has_delivered ? rings::Step::kProgress : rings::Step::kIdle;
}

std::vector<transports::Link*> SteppedLinks::ServerLinks::links() {
  std::vector<transports::Link*> all;
  for (const auto& end : ends) all.push_back(end.get());
  return all;
}

bool SteppedLinks::End::put(const rings::SegmentHeader& header,
                            std::span<const std::byte> payload,
                            uint64_t token) {
  CD_CHECK(!is_lost_, "a put on a lost link");
  SteppedLinks& net = links_here_.net;
  if (under_way_ >= net.options_.depth) return false;
  ++under_way_;
  if (is_cut_) return true;
  const uint64_t number = net.frames_.take();
  Frame& frame = net.frames_.all[number];
  frame.from = this;
  frame.token = token;
  frame.header = header;
  frame.payload.assign(payload.begin(), payload.end());
  const double bytes = net.options_.header_bytes + header.rows * net.options_.bytes_per_row;
  const uint64_t lane = uint64_t{links_here_.server} << 40 | uint64_t{peer_} << 8 | nic_;
  net.network_.send({lane, net.path_of(*this, net.ends_of_(header)), bytes, number});
  return true;
}

// Small, so that it passes what waits.
bool SteppedLinks::End::tell(std::span<const std::byte> note) {
  CD_CHECK(!is_lost_, "a note on a lost link");
  if (is_cut_) return true;
  SteppedLinks& net = links_here_.net;
  const double latency_s = net.network_.latency_s(out()) + net.network_.latency_s(in());
  const uint64_t number = net.notes_.take();
  net.notes_.all[number].assign(note.begin(), note.end());
  net.clock_.at(net.clock_.now_s() + latency_s, [this, number] {
    const News news{News::Kind::kNote, number};
    is_cut_ ? drop(news) : other().add_unless_cut(news);
  });
  return true;
}

SteppedLinks::SteppedLinks(VirtualClock& clock,
                           ChunkNetwork& network,
                           const std::vector<Role>& roles,
                           LinkOptions options,
                           EndsOf ends_of)
    : clock_(clock), network_(network), options_(options), ends_of_(std::move(ends_of)) {
  for (const auto& [shape, sends, gets] : roles) {
    SteppedServer server;
    server.sends = sends;
    server.gets = gets;
    server.first_link = static_cast<LinkNumber>(network_.link_count());
    for (const topology::Edge& edge : shape->edges()) {
      const double latency_s = edge.latency_s > 0 ? edge.latency_s : options_.latency_s;
      network_.add_link({edge.bytes_per_s, latency_s, 0});
    }
    if (shape->network()) server.nics = nics_of(*shape);
    server.shape = shape;
    servers_.push_back(std::move(server));
  }
  const auto count = static_cast<uint32_t>(servers_.size());
  for (uint32_t server = 0; server < count; ++server) {
    auto links = std::make_unique<ServerLinks>(*this);
    links->server = server;
    for (uint32_t peer = 0; peer < count; ++peer) {
      links->first.push_back(static_cast<transports::LinkIndex>(links->ends.size()));
      for (size_t nic = 0; nic < links_between(server, peer); ++nic) {
        const auto index = static_cast<transports::LinkIndex>(links->ends.size());
        links->ends.push_back(std::make_unique<End>(*links, peer, nic, index));
      }
    }
    links_.push_back(std::move(links));
  }
  network_.on_left([this](uint64_t frame) { left(frame); });
  network_.on_arrived([this](uint64_t frame) { arrived(frame); });
}

SteppedLinks::~SteppedLinks() = default;

size_t SteppedLinks::links_between(uint32_t one, uint32_t other) const {
  const SteppedServer& a = servers_[one];
  const SteppedServer& b = servers_[other];
  const bool have_something = (a.sends && b.gets) || (a.gets && b.sends);
  return one != other && have_something ? std::min(a.nics.size(), b.nics.size()) : 0;
}

transports::Transport& SteppedLinks::transport(uint32_t server) { return *links_[server]; }

// The fewest edges, without a turn over the network.
const std::vector<LinkNumber>& SteppedLinks::inside(const topology::ServerShape& shape,
                                                    topology::VertexIndex from,
                                                    topology::VertexIndex to) {
  const auto [place, is_new] = inside_.try_emplace({&shape, from, to});
  if (!is_new || from == to) return place->second;
  std::vector<const topology::Edge*> came(static_cast<size_t>(shape.vertex_count()), nullptr);
  std::deque<topology::VertexIndex> next = {from};
  while (!next.empty() && came[to] == nullptr) {
    const topology::VertexIndex at = next.front();
    next.pop_front();
    for (const topology::Edge& edge : shape.out_edges(at)) {
      if (came[edge.to] != nullptr || edge.to == from || edge.to == shape.network()) continue;
      came[edge.to] = &edge;
      next.push_back(edge.to);
    }
  }
  CD_CHECK(came[to] != nullptr, "no way from vertex {} to {}", from, to);
  for (topology::VertexIndex at = to; at != from; at = came[at]->from) {
    place->second.push_back(static_cast<LinkNumber>(came[at] - shape.edges().data()));
  }
  std::ranges::reverse(place->second);
  return place->second;
}

LinkPath SteppedLinks::path_of(const End& from, const Ends& ends) {
  LinkPath path;
  const SteppedServer& here = from.here();
  const SteppedServer& there = from.there();
  for (const LinkNumber edge : inside(*here.shape, ends.source, from.nic_here()))
    path.add(here.first_link + edge);
  path.add(from.out());
  path.add(from.in());
  for (const LinkNumber edge : inside(*there.shape, from.nic_there(), ends.destination))
    path.add(there.first_link + edge);
  return path;
}

void SteppedLinks::left(uint64_t number) {
  frames_.all[number].from->left(frames_.all[number].token);
}

void SteppedLinks::arrived(uint64_t number) { frames_.all[number].from->other().arrive(number); }

void SteppedLinks::lose_nic(uint32_t server, size_t nic, bool is_announced) {
  const SteppedServer& here = servers_[server];
  const topology::VertexIndex vertex = here.nics[nic];
  network_.set_link(here.link(vertex, *here.shape->network()), 0);
  network_.set_link(here.link(*here.shape->network(), vertex), 0);
  for (uint32_t peer = 0; peer < servers_.size(); ++peer) {
    if (nic >= links_between(server, peer)) continue;
    End& end = *links_[server]->ends[links_[server]->first[peer] + nic];
    for (End* const one : {&end, &end.other()}) {
      one->cut();
      if (is_announced) one->lose(fmt::format("the port of {} was lost", end.device()));
    }
  }
}

void SteppedLinks::slow_nic(uint32_t server, size_t nic, double share) {
  const SteppedServer& here = servers_[server];
  const topology::VertexIndex vertex = here.nics[nic];
  const topology::VertexIndex network = *here.shape->network();
  for (const auto& [from, to] : {std::pair(vertex, network), std::pair(network, vertex)}) {
    network_.set_link(here.link(from, to), here.shape->find_edge(from, to)->bytes_per_s * share);
  }
}

void SteppedLinks::kill(uint32_t server) {
  servers_[server].is_dead = true;
  for (size_t nic = 0; nic < servers_[server].nics.size(); ++nic) lose_nic(server, nic, false);
}

}  // namespace crossdock::sim
