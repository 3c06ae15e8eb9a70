// What messages into the next rank's memory cost by their size: for the rates of the exchange's model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"

namespace crossdock::ranks {

struct PutRate {
  int64_t message_bytes = 0;
  // Of a message, of the slowest rank, with its share of the flush and the fence.
  double seconds = 0;
  bool is_near = false;  // all ranks wrote into the next one's memory themselves, without puts
};

// All ranks call it with the same sizes, 1 byte to 16 MiB each (CD-105 for others). Each rank sends to the next as many
// messages as make some 16 MiB, all of them at once, in the best of three rounds; 32 MiB of memory in each rank.
Result<std::vector<PutRate>> measure_puts(Communicator& ranks,
                                          const std::shared_ptr<Memory>& memory,
                                          std::span<const int64_t> message_bytes);

}  // namespace crossdock::ranks
