// A network at the level of flows: bytes that leave by a path of links, and no packets.
//
// Every flow gets its max-min fair share of the links on its path: the rates of all rise together, and those on a link
// that is full stay where they are (Bertsekas and Gallager, Data Networks, section 6.5.2). Flows that are alike are
// one: a hop says how many of them cross one link, so a whole exchange among servers that are alike is a few flows on
// the links of one of them. A flow of messages takes more of a link than its bytes, by what a message costs there.
//
// When a flow begins or ends or a link changes, only what shares links with it is computed again, directly or over
// others. Cost: links and hops of that part, times the logarithm of its links. Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <vector>

namespace crossdock::sim {

using LinkNumber = uint32_t;
using FlowNumber = uint32_t;

struct LinkRate {
  double bytes_per_s = 0;    // 0: nothing gets through
  double latency_s = 0;      // a flow ends later by the sum of those on its path
  double message_bytes = 0;  // that a message costs beside its own
};

struct Hop {
  LinkNumber link = 0;
  double crossings = 1;  // flows like this one that go over one such link
};

struct FlowShape {
  std::vector<Hop> hops;  // none: it needs no wire and ends at once
  double bytes = 0;
  double message_bytes = 0;  // 0: one message of all bytes
};

class FairNetwork {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  // Ends that are nearer to each other than this share of the time are one: rounding alone would make them many, and
  // a caller that can do with less has its result sooner.
  void set_same_time(double share) { same_time_ = share; }

  LinkNumber add_link(const LinkRate& rate);
  // From now on. What is there goes on with new shares.
  void set_link(double now_s, LinkNumber link, double bytes_per_s);
  // Times may not go back. CD_CHECK: links exist, crossings are positive, bytes are not negative.
  FlowNumber start(double now_s, FlowShape shape);
  // Takes a flow away before its end; gives the bytes that had not been sent.
  double stop(double now_s, FlowNumber flow);

  // When the next flow has sent its last byte; kNever if none moves. Computes shares again where needed.
  double next_end_s(double now_s);
  // Flows that have sent their last byte by now, in the order of their numbers; each once.
  std::vector<FlowNumber> take_ended(double now_s);

  double rate_of(FlowNumber flow) const { return flows_[flow].rate; }
  double latency_of(FlowNumber flow) const;
  int link_count() const { return static_cast<int>(links_.size()); }
  size_t flow_count() const { return flows_.size(); }  // also those that have ended
  int active_flows() const { return active_; }
  // How long a link was busy until now, were it full all the time: what it carried over its rate at the time.
  double busy_s(LinkNumber link) const { return links_[link].busy_s; }
  // Without what messages cost.
  double carried_bytes(LinkNumber link) const { return links_[link].carried_bytes; }
  // How often shares were computed, and of how many flows: what a change touched.
  uint64_t solves() const { return solves_; }
  uint64_t flows_solved() const { return flows_solved_; }

 private:
  // Small, since a large exchange has a hundred million of them and of uses.
  struct Crossing {
    FlowNumber flow = 0;
    float crossings = 1;
  };
  struct Link {
    LinkRate rate;
    double busy_s = 0;
    double carried_bytes = 0;
    std::vector<Crossing> flows;  // ended ones too, until they are looked at again
    bool is_changed = false;
    uint32_t place = 0;  // in the part that is being computed
    uint32_t mark = 0;
  };
  struct Use {
    LinkNumber link = 0;
    float crossings = 1;
  };
  struct Flow {
    uint32_t first_use = 0;
    uint32_t uses = 0;
    double remaining = 0;
    double message_bytes = 0;
    double rate = 0;
    double since_s = 0;  // when `remaining` was true
    uint32_t version = 0;
    uint32_t mark = 0;
    bool is_active = false;
  };
  struct End {
    double at_s = 0;
    FlowNumber flow = 0;
    uint32_t version = 0;
    bool operator<(const End& other) const {
      return at_s != other.at_s ? at_s > other.at_s : flow > other.flow;
    }
  };
  // Of a link while shares are computed.
  struct Filling {
    double left = 0;    // of its rate, beside flows whose share is known
    double weight = 0;  // of the others
    uint32_t open = 0;  // the others
    bool is_old = false;

    double level() const { return left > 0 ? left / weight : 0; }
  };

  std::span<const Use> uses_of(const Flow& flow) const {
    return std::span(uses_).subspan(flow.first_use, flow.uses);
  }
  // Of a link's rate, per byte and second of each of these flows.
  static double weight_of(const Link& link, const Flow& flow, float crossings) {
    return crossings * (1 + link.rate.message_bytes / flow.message_bytes);
  }
  void change(LinkNumber link);
  void carry(double now_s, Flow& flow);
  void collect_part();
  void solve(double now_s);
  void share_out();
  void fill(uint32_t place);
  void freeze(FlowNumber flow, double level);
  void drop(double now_s, FlowNumber flow);

  double same_time_ = 1e-9;
  std::vector<Link> links_;
  std::vector<Flow> flows_;
  std::vector<Use> uses_;
  std::priority_queue<End> ends_;
  std::vector<LinkNumber> changed_;
  std::vector<LinkNumber> part_links_;
  std::vector<FlowNumber> part_flows_;
  std::vector<Filling> fillings_;
  std::vector<uint8_t> is_frozen_;  // per flow
  std::vector<FlowNumber> done_;    // at once
  uint32_t mark_ = 0;
  int active_ = 0;
  uint64_t solves_ = 0;
  uint64_t flows_solved_ = 0;
};

}  // namespace crossdock::sim
