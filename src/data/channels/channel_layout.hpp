// What a channel is made of: its outlets, its flows, and where the part of each process lies in memory.
//
// All processes work it out alike from the same spec, so that only memory has to be passed around, and no tables. The
// part of a rank is one run of bytes: a doorbell per source and per outlet of the rank, then the flows into its outlets
// from every source, then, for outlets on other hosts, the near ends of the flows of its sources.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "data/channels/channel.hpp"
#include "data/rings/ring.hpp"

namespace crossdock::channels {

struct Outlet {
  int rank = 0;
  std::vector<uint16_t> destinations;  // one; of a broadcast all of the rank
};

// One end of a flow in the part of a rank, and where.
struct PlacedFlow {
  uint16_t source = 0;
  uint16_t outlet = 0;
  bool is_far = false;  // between hosts
  uint64_t offset = 0;  // in the part's memory
};

struct PartPlan {
  int rank = 0;
  std::vector<uint16_t> sources;     // of this rank, ascending; source i has doorbell i
  std::vector<uint16_t> outlets;     // of this rank, ascending; outlet i has doorbell sources + i
  std::vector<PlacedFlow> incoming;  // by outlet, then source
  std::vector<PlacedFlow> outgoing;  // to other hosts; by source, then outlet
  uint64_t bytes = 0;

  uint64_t source_bell(size_t place) const;
  uint64_t outlet_bell(size_t place) const;
  // Where the flow from `source` into `outlet` lies; the pair must have one here.
  uint64_t incoming_offset(uint16_t source, uint16_t outlet) const;
};

// Immutable.
class ChannelLayout {
 public:
  // host_of_rank[r]: any number that ranks of one host share. CD-105 for an endpoint on no rank, too many of them, a
  // reach that is out of order or not for this kind of channel; errors of RowLayout, RowRouter and rings.
  static Result<std::shared_ptr<const ChannelLayout>> make(const ChannelSpec& spec,
                                                           std::vector<int> host_of_rank);

  const ChannelSpec& spec() const { return spec_; }
  const std::shared_ptr<const segments::RowLayout>& layout() const { return layout_; }
  // Of a flow within a host, or between hosts.
  const rings::RingShape& ring(bool is_far) const { return is_far ? far_ring_ : ring_; }
  int ranks() const { return static_cast<int>(host_of_rank_.size()); }
  int host_of(int rank) const { return host_of_rank_[static_cast<size_t>(rank)]; }

  int sources() const { return static_cast<int>(spec_.source_ranks.size()); }
  int destinations() const { return static_cast<int>(spec_.destination_ranks.size()); }
  const std::vector<Outlet>& outlets() const { return outlets_; }
  uint16_t outlet_of(int destination) const { return outlet_of_[static_cast<size_t>(destination)]; }
  // Ascending.
  std::vector<uint16_t> outlets_from(int source) const;
  std::vector<uint16_t> sources_into(int outlet) const;

  bool has_end(int rank) const;  // a source or a destination
  PartPlan part_of(int rank) const;
  // CD-201 if the part of a rank would take more than memory_bytes_max, with what to change. To be asked before
  // part_of(), which needs memory for each flow itself.
  Status check_memory(int rank) const;

  // The same for specs that are equal but for their ids: what ranks compare before they open a channel.
  uint64_t digest() const;

 private:
  ChannelLayout() = default;
  void make_outlets();
  Status make_rings();
  bool is_far(int source, const Outlet& outlet) const;
  int far_slot_bits() const;
  struct PartCount;
  PartCount count_of(int rank) const;

  ChannelSpec spec_;
  std::shared_ptr<const segments::RowLayout> layout_;
  rings::RingShape ring_;
  rings::RingShape far_ring_;
  std::vector<int> host_of_rank_;
  std::vector<Outlet> outlets_;
  std::vector<uint16_t> outlet_of_;
};

}  // namespace crossdock::channels
