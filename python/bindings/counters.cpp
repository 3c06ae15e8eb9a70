// One key per number.
#include "bindings/counters.hpp"

namespace crossdock::python {
namespace {

nb::dict dict_of(const channels::FlowCounters& flow) {
  nb::dict found;
  found["level"] = flow.level;
  found["source"] = flow.source;
  found["outlet"] = flow.outlet;
  found["failed"] = flow.failed;
  if (flow.begins_here) {
    found["slots"] = flow.slots;
    found["segments_published"] = flow.published;
    found["segments_occupied"] = flow.published - flow.recycled;
    found["rows_sent"] = flow.rows_sent;
    found["segments_resent"] = flow.resent;
    nb::dict stalls;
    stalls["ring_full"] = flow.stalled_ring_full;
    stalls["no_credit"] = flow.stalled_no_credit;
    stalls["link_full"] = flow.stalled_link_full;
    found["stalls"] = stalls;
  }
  if (flow.ends_here) {
    found["segments_taken"] = flow.taken;
    found["segments_waiting"] = flow.waiting;
    found["segments_given_back"] = flow.recycled;
    found["rows_taken"] = flow.rows_taken;
    found["bytes_taken"] = flow.bytes_taken;
  }
  return found;
}

nb::dict dict_of(const movers::LinkCounters& link) {
  nb::dict found;
  found["link"] = nb::str(link.name.c_str());
  found["peer"] = link.peer;
  found["frames_sent"] = link.frames_sent;
  found["bytes_sent"] = link.bytes_sent;
  found["frames_received"] = link.frames_received;
  found["bytes_received"] = link.bytes_received;
  found["notes_sent"] = link.notes_sent;
  found["notes_received"] = link.notes_received;
  found["resent"] = link.resent;
  found["duplicates"] = link.duplicates;
  found["relayed"] = link.relayed;
  found["dropped"] = link.dropped;
  found["malformed"] = link.malformed;
  nb::dict stalls;
  stalls["no_credit"] = link.stalled_no_credit;
  stalls["link_full"] = link.stalled_link_full;
  found["stalls"] = stalls;
  found["frames_under_way"] = link.frames_under_way;
  found["bytes_under_way"] = link.bytes_under_way;
  found["lost"] = link.is_lost;
  return found;
}

}  // namespace

nb::dict channel_counters(const channels::ChannelCounters& counters,
                          uint64_t channel,
                          int64_t memory_bytes) {
  nb::list flows;
  for (const channels::FlowCounters& flow : counters.flows) flows.append(dict_of(flow));
  nb::dict found;
  found["channel"] = channel;
  found["refused"] = counters.refused;
  found["memory_bytes"] = memory_bytes;
  found["flows"] = flows;
  return found;
}

nb::list link_counters(const std::vector<movers::LinkCounters>& links) {
  nb::list found;
  for (const movers::LinkCounters& link : links) found.append(dict_of(link));
  return found;
}

}  // namespace crossdock::python
