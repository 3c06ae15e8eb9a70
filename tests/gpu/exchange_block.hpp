// What a block does in an exchange, for kernels and for CPU threads: sends its share of rows, takes what comes,
// flushes, takes the rest, and adds up what it got. The rows follow from their numbers, so they can be checked one by
// one.
#pragma once

#include <cstdint>

#include "data/device/device_port.hpp"
#include "data/device/made_rows.hpp"

namespace crossdock {

struct ExchangeSums {
  uint64_t rows = 0;
  uint64_t keys = 0;    // modulo 2^64
  uint64_t mixed = 0;   // sum over mix(key ^ value): finds rows that were put together wrongly
  uint64_t misled = 0;  // rows that another destination should have
};

struct ExchangeWork {
  device::DevicePort port;
  bool is_source = true;
  bool is_destination = true;
  uint64_t* keys = nullptr;
  uint64_t* values = nullptr;
  uint64_t rows = 0;  // of the endpoint; blocks share them
  uint32_t batch_rows = 512;
  uint64_t makes_every =
      0;  // not 0: rows are made of the columns, and those of other values left out
  ExchangeSums* sums = nullptr;  // per block
  int64_t* ends = nullptr;       // per block: 0, or what it ended with
};

template <class Traits, rings::Coop C>
class ExchangeBlock {
 public:
  CD_HOST_DEVICE ExchangeBlock(const ExchangeWork& work, uint32_t number, const C& coop)
      : work_(work), block_(work.port, number), number_(number), coop_(coop) {}

  // 0, kPortAborted or kPortStuck.
  template <class Patience>
  CD_HOST_DEVICE int64_t run(device::SorterScratch& scratch, Patience& patience) {
    device::SegmentSorter<Traits> sorter(work_.port.node, scratch);
    const uint64_t share = (work_.rows + work_.port.blocks - 1) / work_.port.blocks;
    uint64_t next = smaller(share * number_, work_.rows);
    const uint64_t end = smaller(next + share, work_.rows);
    while (work_.is_source && next < end) {
      const int64_t sent = work_.makes_every == 0 ? send(next, end) : send_made(next, end, scratch);
      if (sent < 0) return sent;
      next += static_cast<uint64_t>(sent);
      bool has_moved = drain() || sent != 0;
      if (!has_moved) has_moved = sorter.step(coop_) == rings::Step::kProgress;
      if (patience.is_over(has_moved)) return device::kPortStuck;
    }
    if (work_.is_source) {
      const int64_t flushed = block_.flush(
          scratch, [this] { return drain(); }, patience, coop_);
      if (flushed != 0) return flushed;
    }
    while (work_.is_destination && !block_.at_end(coop_)) {
      if (block_.is_aborted(coop_)) return device::kPortAborted;
      bool has_moved = drain();
      if (!has_moved) has_moved = sorter.step(coop_) == rings::Step::kProgress;
      if (patience.is_over(has_moved)) return device::kPortStuck;
    }
    return 0;
  }

  // Of all threads of the block, to all of them.
  CD_HOST_DEVICE ExchangeSums sums() const {
    return {coop_.sum(mine_.rows),
            coop_.sum(mine_.keys),
            coop_.sum(mine_.mixed),
            coop_.sum(mine_.misled)};
  }

  CD_HOST_DEVICE static uint64_t fingerprint(uint64_t key, uint64_t value) {
    uint64_t mixed = (key ^ value << 1) * 0x9E3779B97F4A7C15U;
    return mixed ^ mixed >> 29;
  }

  CD_HOST_DEVICE static uint64_t made_key(uint64_t key, uint64_t value) { return key + 3 * value; }

 private:
  CD_HOST_DEVICE static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

  CD_HOST_DEVICE int64_t send(uint64_t next, uint64_t end) {
    const device::DeviceColumn columns[] = {{reinterpret_cast<std::byte*>(work_.keys), nullptr},
                                            {reinterpret_cast<std::byte*>(work_.values), nullptr}};
    const auto rows = static_cast<uint32_t>(smaller(work_.batch_rows, end - next));
    return block_.send(columns, next, rows, device::kByRule, coop_);
  }

  CD_HOST_DEVICE int64_t send_made(uint64_t next, uint64_t end, device::SorterScratch& scratch) {
    const auto make = [this](uint64_t row, uint64_t& key, uint64_t& value) {
      value = work_.values[row];
      key = made_key(work_.keys[row], value);
      return value % work_.makes_every == 0 ? device::kByRule : device::kNowhere;
    };
    device::MadeSender<Traits, uint64_t, uint64_t> sender(work_.port, number_, scratch);
    const auto rows = static_cast<uint32_t>(smaller(work_.batch_rows, end - next));
    return sender.send(next, rows, make, coop_);
  }

  // Folds what has come, where it lies.
  CD_HOST_DEVICE bool drain() {
    if (!work_.is_destination) return false;
    const device::ArrivedRows arrived = block_.arrived(coop_);
    if (arrived.rows == 0) return false;
    const uint64_t* keys = arrived.layout->lane<uint64_t>(arrived.segment, 0) + arrived.first;
    const uint64_t* values = arrived.layout->lane<uint64_t>(arrived.segment, 1) + arrived.first;
    for (uint32_t row = coop_.rank(); row < arrived.rows; row += coop_.size()) {
      ++mine_.rows;
      mine_.keys += keys[row];
      mine_.mixed += fingerprint(keys[row], values[row]);
      const uint16_t to = block_.destination_of(keys[row]);
      mine_.misled += to != device::kToAll && to != work_.port.destination;
    }
    block_.done_with(arrived, arrived.rows, coop_);
    return true;
  }

  const ExchangeWork& work_;
  device::PortBlock<Traits> block_;
  uint32_t number_;
  const C& coop_;
  ExchangeSums mine_;
};

}  // namespace crossdock
