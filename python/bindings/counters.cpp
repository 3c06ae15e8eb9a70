// One key per number.
#include "bindings/counters.hpp"

namespace crossdock::python {
namespace {

nb::dict dict_of(const channels::FlowCounters& flow) {
  nb::dict counters;
  counters["level"] = flow.level;
  counters["source"] = flow.source;
  counters["outlet"] = flow.outlet;
  counters["failed"] = flow.failed;
  if (flow.begins_here) {
    counters["slots"] = flow.slots;
    counters["segments_published"] = flow.published;
    counters["segments_occupied"] = flow.published - flow.recycled;
    counters["rows_sent"] = flow.rows_sent;
    counters["segments_resent"] = flow.resent;
    nb::dict stalls;
    stalls["ring_full"] = flow.stalled_ring_full;
    stalls["no_credit"] = flow.stalled_no_credit;
    stalls["link_full"] = flow.stalled_link_full;
    counters["stalls"] = stalls;
  }
  if (flow.ends_here) {
    counters["segments_taken"] = flow.taken;
    counters["segments_waiting"] = flow.waiting;
    counters["segments_given_back"] = flow.recycled;
    counters["rows_taken"] = flow.rows_taken;
    counters["bytes_taken"] = flow.bytes_taken;
  }
  return counters;
}

nb::dict dict_of(const movers::LinkCounters& link) {
  nb::dict counters;
  counters["link"] = nb::str(link.name.c_str());
  counters["peer"] = link.peer;
  counters["frames_sent"] = link.frames_sent;
  counters["bytes_sent"] = link.bytes_sent;
  counters["frames_received"] = link.frames_received;
  counters["bytes_received"] = link.bytes_received;
  counters["notes_sent"] = link.notes_sent;
  counters["notes_received"] = link.notes_received;
  counters["resent"] = link.resent;
  counters["duplicates"] = link.duplicates;
  counters["relayed"] = link.relayed;
  counters["dropped"] = link.dropped;
  counters["malformed"] = link.malformed;
  nb::dict stalls;
  stalls["no_credit"] = link.stalled_no_credit;
  stalls["link_full"] = link.stalled_link_full;
  counters["stalls"] = stalls;
  counters["frames_under_way"] = link.frames_under_way;
  counters["bytes_under_way"] = link.bytes_under_way;
  counters["lost"] = link.is_lost;
  return counters;
}

}  // namespace

nb::dict channel_counters(const channels::ChannelCounters& counters,
                          uint64_t channel,
                          int64_t memory_bytes) {
  nb::list flows;
  for (const channels::FlowCounters& flow : counters.flows) flows.append(dict_of(flow));
  nb::dict dict;
  dict["channel"] = channel;
  dict["refused"] = counters.refused;
  dict["memory_bytes"] = memory_bytes;
  dict["flows"] = flows;
  return dict;
}

nb::list link_counters(const std::vector<movers::LinkCounters>& links) {
  nb::list dicts;
  for (const movers::LinkCounters& link : links) dicts.append(dict_of(link));
  return dicts;
}

}  // namespace crossdock::python
