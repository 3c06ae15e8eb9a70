// Counters of channels and links as dictionaries of Python.
#pragma once

#include <cstdint>
#include <vector>

#include <nanobind/nanobind.h>

#include "data/channels/channel.hpp"
#include "data/movers/mover.hpp"

namespace crossdock::python {

namespace nb = nanobind;

// The keys of docs/reference-counters.md. What is not known in this process, since the flow's other end is elsewhere,
// is left out. With the GIL.
nb::dict channel_counters(const channels::ChannelCounters& counters,
                          uint64_t channel,
                          int64_t memory_bytes);
nb::list link_counters(const std::vector<movers::LinkCounters>& links);

}  // namespace crossdock::python
