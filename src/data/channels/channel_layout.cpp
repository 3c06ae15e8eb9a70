// Checks a spec, and works out which flows it means and where they lie.
#include "data/channels/channel_layout.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.hpp"
#include "base/int128.hpp"
#include "data/channels/rank_losses.hpp"
#include "data/rings/flow.hpp"
#include "data/rings/place_ring.hpp"
#include "table/key_hash.hpp"
#include "table/key_kind.hpp"

namespace crossdock::channels {
namespace {

constexpr uint64_t kBellBytes = rings::kRingLineBytes;
// What a process keeps for its end of a flow, beside the flow.
constexpr uint64_t kFlowEndBytes = 256;
constexpr int kSendersMax = 65'536;
constexpr int kSlotBits = 3;
// Between hosts a slot is taken until its segment has arrived there, and that has been said: a round trip through
// queues that the network fills, tens of milliseconds. With 8 slots links stand still in between; 4 hosts, 2 links of 1
// Gbit (network namespaces on 2 cores): 8 slots 0.80, 16 0.85, 32 0.93, 64 0.94 of their rate. Of many flows each has
// less to bring, so what the flows of an endpoint hold together is bounded.
constexpr int kFarSlotBitsMax = 5;
constexpr uint64_t kFarBytesMax = uint64_t{32} << 20;

Status check_ranks(const std::vector<int>& of, int ranks, std::string_view which, uint64_t id) {
  if (of.empty() || of.size() > static_cast<size_t>(kChannelEndpointsMax)) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {} has {} {}s, but must have 1 to {}",
                      id,
                      of.size(),
                      which,
                      kChannelEndpointsMax);
  }
  for (size_t at = 0; at < of.size(); ++at) {
    if (of[at] >= 0 && of[at] < ranks) continue;
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {}: {} {} is on rank {}, but there are ranks 0 to {}",
                      id,
                      which,
                      at,
                      of[at],
                      ranks - 1);
  }
  return {};
}

Status check_reach_of(const ChannelSpec& spec, size_t source) {
  const std::vector<uint16_t>& reach = spec.reach[source];
  for (size_t at = 0; at < reach.size(); ++at) {
    if (reach[at] >= spec.destination_ranks.size()) {
      return make_error(ErrorCode::kInvalidArgument,
                        "channel {}: source {} is to reach destination {}, but there are {}",
                        spec.id,
                        source,
                        reach[at],
                        spec.destination_ranks.size());
    }
    if (at > 0 && reach[at] <= reach[at - 1]) {
      return make_error(ErrorCode::kInvalidArgument,
                        "channel {}: source {} is to reach destination {} after {}; list each once,"
                        " in ascending order",
                        spec.id,
                        source,
                        reach[at],
                        reach[at - 1]);
    }
  }
  return {};
}

Status check_reach(const ChannelSpec& spec) {
  if (spec.reach.empty()) return {};
  if (spec.sends != ChannelSpec::Sends::kNamed) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {}: `reach` leaves destinations out, which only a channel whose "
                      "senders name the destination can have",
                      spec.id);
  }
  if (spec.reach.size() != spec.source_ranks.size()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {}: `reach` has {} lists for {} sources",
                      spec.id,
                      spec.reach.size(),
                      spec.source_ranks.size());
  }
  for (size_t source = 0; source < spec.reach.size(); ++source) {
    CD_TRY(check_reach_of(spec, source));
  }
  return {};
}

Status check_spec(const ChannelSpec& spec, int ranks) {
  if (spec.schema == nullptr) {
    return make_error(ErrorCode::kInvalidArgument, "channel {} has no schema", spec.id);
  }
  if (spec.id >= kGroupNotes) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {}: ids are less than {}; take another",
                      spec.id,
                      kGroupNotes);
  }
  CD_TRY(check_ranks(spec.source_ranks, ranks, "source", spec.id));
  CD_TRY(check_ranks(spec.destination_ranks, ranks, "destination", spec.id));
  CD_TRY(check_reach(spec));
  if (spec.senders_per_source < 1 || spec.senders_per_source > kSendersMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {}: senders_per_source is {}, but must be 1 to {}",
                      spec.id,
                      spec.senders_per_source,
                      kSendersMax);
  }
  if (spec.sends == ChannelSpec::Sends::kBroadcast && spec.segment.has_destinations) {
    return make_error(ErrorCode::kInvalidArgument,
                      "channel {}: rows of a broadcast go to all, and carry no destination",
                      spec.id);
  }
  return {};
}

// Equal values of one type have equal hashes, which stand for them.
void add_bounds(const ChannelSpec& spec, std::string& text) {
  const Batch& bounds = spec.route.bounds;
  text += fmt::format("{};", bounds.rows);
  for (size_t column = 0; column < bounds.columns.size(); ++column) {
    const DataType& type = bounds.schema->fields[column].type;
    text += fmt::format("{};", type_name(type));
    const auto kind = common_key_kind(type, type);
    CD_CHECK(kind.ok(), "bounds of type {} have passed the router", type_name(type));
    KeyHasher hasher(type, kind.value(), 0);
    uint64_t hashes[kMaxKeyRows];
    for (int64_t begin = 0; begin < bounds.rows; begin += kMaxKeyRows) {
      const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, bounds.rows - begin));
      hasher.hash(bounds.columns[column], begin, count, false, hashes);
      for (int32_t row = 0; row < count; ++row) text += fmt::format("{:x};", hashes[row]);
    }
  }
}

// Text that is the same for equal specs, value after value.
std::string fingerprint(const ChannelSpec& spec) {
  std::string text;
  const auto add = [&text](const auto& value) { text += fmt::format("{};", value); };
  const auto add_all = [&text, &add](const auto& values) {
    add(values.size());
    for (const auto& value : values) add(value);
  };
  for (const Field& field : spec.schema->fields) {
    add_all(field.name);
    add(type_name(field.type));
    add(field.nullable);
  }
  add_all(spec.source_ranks);
  add_all(spec.destination_ranks);
  add(static_cast<int>(spec.sends));
  add(static_cast<int>(spec.route.by));
  add_all(spec.route.keys);
  add_all(spec.route.assignment);
  add_bounds(spec, text);
  add(spec.reach.size());
  for (const auto& reach : spec.reach) add_all(reach);
  add(spec.senders_per_source);
  add(spec.segment.segment_bytes);
  add(spec.segment.text_bytes);
  add(spec.segment.has_destinations);
  add(spec.slot_bits);
  return text;
}

}  // namespace

uint64_t PartPlan::source_bell(size_t place) const { return place * kBellBytes; }

uint64_t PartPlan::outlet_bell(size_t place) const { return (sources.size() + place) * kBellBytes; }

uint64_t PartPlan::incoming_offset(uint16_t source, uint16_t outlet) const {
  const auto before = [](const PlacedFlow& flow, const std::pair<uint16_t, uint16_t>& ends) {
    return std::pair(flow.outlet, flow.source) < ends;
  };
  const auto at =
      std::lower_bound(incoming.begin(), incoming.end(), std::pair(outlet, source), before);
  CD_CHECK(at != incoming.end() && at->outlet == outlet && at->source == source,
           "no flow from source {} into outlet {} on rank {}",
           source,
           outlet,
           rank);
  return at->offset;
}

Result<std::shared_ptr<const ChannelLayout>> ChannelLayout::make(const ChannelSpec& spec,
                                                                 std::vector<int> host_of_rank) {
  CD_TRY(check_spec(spec, static_cast<int>(host_of_rank.size())));
  auto plan = std::shared_ptr<ChannelLayout>(new ChannelLayout);
  plan->spec_ = spec;
  plan->spec_.route.destinations = plan->destinations();
  plan->host_of_rank_ = std::move(host_of_rank);
  if (spec.sends == ChannelSpec::Sends::kRouted) {
    // Every sender makes its own; this one tells now what would be wrong with it.
    CD_TRY(sorters::RowRouter::make(spec.schema, plan->spec_.route));
  }
  CD_ASSIGN(plan->layout_, segments::RowLayout::make(spec.schema, spec.segment));
  plan->make_outlets();
  CD_TRY(plan->make_rings());
  return std::shared_ptr<const ChannelLayout>(std::move(plan));
}

Status ChannelLayout::make_rings() {
  const bool by_distance = spec_.slot_bits == kSlotBitsByDistance;
  const int near = by_distance ? kSlotBits : spec_.slot_bits;
  CD_TRY(rings::make_ring_shape(layout_->segments(), near));
  ring_ = layout_->ring_shape(near);
  far_ring_ = by_distance ? layout_->ring_shape(far_slot_bits()) : ring_;
  return {};
}

bool ChannelLayout::is_far(int source, const Outlet& outlet) const {
  return host_of(spec_.source_ranks[static_cast<size_t>(source)]) != host_of(outlet.rank);
}

// As many as kFarBytesMax has room for, with as many flows as an endpoint can have.
int ChannelLayout::far_slot_bits() const {
  const uint64_t flows = std::max(spec_.source_ranks.size(), outlets_.size());
  const uint64_t slots = kFarBytesMax / (flows * ring_.segment_bytes);
  return std::clamp(static_cast<int>(std::bit_width(slots)) - 1, kSlotBits, kFarSlotBitsMax);
}

void ChannelLayout::make_outlets() {
  outlet_of_.resize(spec_.destination_ranks.size());
  if (spec_.sends != ChannelSpec::Sends::kBroadcast) {
    for (size_t at = 0; at < outlet_of_.size(); ++at) {
      outlet_of_[at] = static_cast<uint16_t>(at);
      outlets_.push_back({spec_.destination_ranks[at], {static_cast<uint16_t>(at)}});
    }
    return;
  }
  std::vector<std::vector<uint16_t>> on_rank(host_of_rank_.size());
  for (size_t at = 0; at < outlet_of_.size(); ++at) {
    on_rank[static_cast<size_t>(spec_.destination_ranks[at])].push_back(static_cast<uint16_t>(at));
  }
  for (size_t rank = 0; rank < on_rank.size(); ++rank) {
    if (on_rank[rank].empty()) continue;
    for (const uint16_t at : on_rank[rank]) outlet_of_[at] = static_cast<uint16_t>(outlets_.size());
    outlets_.push_back({static_cast<int>(rank), std::move(on_rank[rank])});
  }
}

std::vector<uint16_t> ChannelLayout::outlets_from(int source) const {
  if (!spec_.reach.empty()) return spec_.reach[static_cast<size_t>(source)];
  std::vector<uint16_t> all(outlets_.size());
  for (size_t at = 0; at < all.size(); ++at) all[at] = static_cast<uint16_t>(at);
  return all;
}

std::vector<uint16_t> ChannelLayout::sources_into(int outlet) const {
  std::vector<uint16_t> into;
  for (size_t source = 0; source < spec_.source_ranks.size(); ++source) {
    if (!spec_.reach.empty() &&
        !std::binary_search(spec_.reach[source].begin(), spec_.reach[source].end(), outlet)) {
      continue;
    }
    into.push_back(static_cast<uint16_t>(source));
  }
  return into;
}

bool ChannelLayout::has_end(int rank) const {
  const auto has = [rank](const std::vector<int>& ranks) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  return has(spec_.source_ranks) || has(spec_.destination_ranks);
}

PartPlan ChannelLayout::part_of(int rank) const {
  PartPlan part;
  part.rank = rank;
  for (size_t at = 0; at < spec_.source_ranks.size(); ++at) {
    if (spec_.source_ranks[at] == rank) part.sources.push_back(static_cast<uint16_t>(at));
  }
  for (size_t at = 0; at < outlets_.size(); ++at) {
    if (outlets_[at].rank == rank) part.outlets.push_back(static_cast<uint16_t>(at));
  }
  part.bytes = (part.sources.size() + part.outlets.size()) * kBellBytes;
  const auto place = [&part, this](uint16_t source, uint16_t outlet) {
    const PlacedFlow placed{source, outlet, is_far(source, outlets_[outlet]), part.bytes};
    part.bytes += rings::flow_bytes(ring(placed.is_far));
    return placed;
  };
  for (const uint16_t outlet : part.outlets) {
    for (const uint16_t source : sources_into(outlet))
      part.incoming.push_back(place(source, outlet));
  }
  for (const uint16_t source : part.sources) {
    for (const uint16_t outlet : outlets_from(source)) {
      if (!is_far(source, outlets_[outlet])) continue;
      part.outgoing.push_back(place(source, outlet));
    }
  }
  return part;
}

// What part_of() would list.
struct ChannelLayout::PartCount {
  uint64_t bells = 0;
  uint64_t near = 0;   // flows in the part, within a host
  uint64_t far = 0;    // and between hosts
  uint64_t flows = 0;  // with an end in this process
};

ChannelLayout::PartCount ChannelLayout::count_of(int rank) const {
  PartCount count;
  uint64_t outlets_here = 0;
  uint64_t outlets_far = 0;
  for (const Outlet& outlet : outlets_) {
    outlets_here += outlet.rank == rank;
    outlets_far += host_of(outlet.rank) != host_of(rank);
  }
  count.bells = outlets_here;
  for (size_t source = 0; source < spec_.source_ranks.size(); ++source) {
    const bool is_own = spec_.source_ranks[source] == rank;
    count.bells += is_own;
    uint64_t into_here = outlets_here;
    uint64_t to_far = outlets_far;
    uint64_t reached = outlets_.size();
    if (!spec_.reach.empty()) {
      into_here = to_far = 0;
      reached = spec_.reach[source].size();
      for (const uint16_t outlet : spec_.reach[source]) {
        into_here += outlets_[outlet].rank == rank;
        to_far += host_of(outlets_[outlet].rank) != host_of(rank);
      }
    }
    const bool comes_far = host_of(spec_.source_ranks[source]) != host_of(rank);
    (comes_far ? count.far : count.near) += into_here;
    count.far += is_own ? to_far : 0;
    count.flows += is_own ? reached : into_here;
  }
  return count;
}

Status ChannelLayout::check_memory(int rank) const {
  const PartCount count = count_of(rank);
  // In 128 bits: 2^32 flows of 2^40 bytes each can be asked for.
  const UInt128 bytes =
      UInt128{count.bells} * kBellBytes + UInt128{count.near} * rings::flow_bytes(ring_) +
      UInt128{count.far} * rings::flow_bytes(far_ring_) + UInt128{count.flows} * kFlowEndBytes;
  const auto limit = static_cast<uint64_t>(std::max<int64_t>(0, spec_.memory_bytes_max));
  if (bytes <= limit) return {};
  return make_error(ErrorCode::kOutOfMemoryBudget,
                    "channel {} needs {} bytes on rank {}, for {} flows of {} segments of {} bytes,"
                    " and may take {}; ask for fewer slots (slot_bits), smaller segments "
                    "(segment_bytes), or raise memory_bytes_max",
                    spec_.id,
                    bytes,
                    rank,
                    count.flows,
                    uint64_t{1} << (count.far > 0 ? far_ring_ : ring_).slot_bits,
                    ring_.segment_bytes,
                    limit);
}

uint64_t ChannelLayout::digest() const {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char byte : fingerprint(spec_)) {
    hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace crossdock::channels
