// What moving bytes should cost: pure functions from sizes and rates to seconds.
#pragma once

namespace crossdock::model {

// Rates that hang on devices and not on the graph of links. They are not measured here: the defaults are what
// publications say, and a machine that is measured replaces them.
struct TransferRates {
  // A message costs as much as that many bytes of its link before its own bytes count. Wu et al. (MGI, PVLDB 19(9),
  // 2026, section 1) move 64 MB between two A100 4.8 times as fast as 1 MB. With s / (s + x) of the link's rate for
  // messages of s bytes, that makes x 4.1 MB.
  double message_bytes = 4.1e6;
  // Rows handled on one device. Same paper, Figure 1a: a receiver that handles rows as they come keeps up with a
  // transfer at 44 GB/s; one that waits for the last row brings the whole to 23 GB/s. 1 / (1/23 - 1/44) is 48.
  double partition_bytes_per_s = 48e9;
};

// Of a link's rate, what messages of this size reach.
inline double message_efficiency(double message_bytes, const TransferRates& rates) {
  return message_bytes <= 0 ? 0 : message_bytes / (message_bytes + rates.message_bytes);
}

// One transfer over links of `bytes_per_s` together.
inline double transfer_seconds(double bytes, double bytes_per_s, double latency_s) {
  return bytes <= 0 ? 0 : latency_s + bytes / bytes_per_s;
}

// Rows leave as they are arranged, so the slower of both sets the pace; segments carry them.
inline double streaming_seconds(double link_s,
                                double bytes,
                                double segment_bytes,
                                const TransferRates& rates) {
  const double moving_s = link_s / message_efficiency(segment_bytes, rates);
  const double arranging_s = bytes / rates.partition_bytes_per_s;
  return moving_s > arranging_s ? moving_s : arranging_s;
}

// Rows are counted and arranged first, and leave as one message per destination.
inline double bulk_seconds(double link_s,
                           double bytes,
                           double message_bytes,
                           const TransferRates& rates) {
  return bytes / rates.partition_bytes_per_s + link_s / message_efficiency(message_bytes, rates);
}

}  // namespace crossdock::model
