// Joins of sides that lie on a device: by hash (join_work.hpp) or by sorting (merge_work.hpp). The result is numbers of
// rows, so keys and payloads of any width stay where they are until they are needed (gather_on_device).
//
// Keys are 64-bit words that are equal exactly if keys are: integers as they are, others as DeviceKeys makes them. Rows
// whose key is NULL match nothing, and are there where rows without a match are wanted.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

struct DeviceJoinOptions {
  // Not that by which the rows were distributed before: they would know few slots.
  WordMix mix = WordMix::from_seed(0xD1B54A32D192ED03U);
  // A table above this is met a piece at a time, by rows in the order of a partition; 0: half of the device's L2.
  uint64_t partition_above_bytes = 0;
};

struct DeviceMatches {
  uint64_t count = 0;
  DeviceBuffer
      probe_rows;  // `count` words; kNoRow where kRight and kFull found none: these come last
  DeviceBuffer
      build_rows;  // the same; kNoRow where kLeft and kFull found none; nothing of kSemi and kAnti
};

// The table of a build side. The side's rows may go once it is made, but for kRight and kFull, which ask again which of
// them had no match. The runner outlives it.
class DeviceHashTable {
 public:
  // CD-201 where table, counts or list find no room; CD-202 above 2^31 rows. What was taken goes back.
  static Result<DeviceHashTable> build(DeviceRunner& runner,
                                       const JoinRows& rows,
                                       const DeviceJoinOptions& options = {});

  bool has_duplicates() const { return is_listed_; }
  uint64_t table_bytes() const { return words_.bytes(); }

  Result<DeviceMatches> join(const JoinRows& probe, DeviceJoinKind kind) const;
  // How many rows the result has, without making it.
  Result<uint64_t> count(const JoinRows& probe, DeviceJoinKind kind) const;

 private:
  Status list_duplicates(const JoinRows& rows);
  Result<uint64_t> probe(const JoinRows& rows, const ProbeMatches& matches, uint64_t* marks) const;
  Result<uint64_t> find_unmatched(const ProbeMatches& matches, uint64_t* marks) const;
  Result<DeviceBuffer> make_marks(DeviceJoinKind kind) const;

  DeviceRunner* runner_ = nullptr;
  JoinRows build_;
  DeviceBuffer words_;
  DeviceBuffer list_;
  KeyTable table_;
  bool is_listed_ = false;
  uint32_t pieces_ =
      1;  // of a partition by the same mix, each of which meets a piece that L2 holds
};

// Both sides sorted, then merged: what it takes, in memory too, does not depend on how keys repeat.
class DeviceSortedSide {
 public:
  static Result<DeviceSortedSide> sort(DeviceRunner& runner, const JoinRows& rows);

  const int64_t* keys() const { return keys_.as<int64_t>(); }
  const uint64_t* rows() const { return rows_.words(); }
  uint64_t count() const { return count_; }
  uint64_t key_count() const { return key_count_; }  // rows behind these have a NULL as key

 private:
  DeviceBuffer keys_;
  DeviceBuffer rows_;
  uint64_t count_ = 0;
  uint64_t key_count_ = 0;
};

Result<DeviceMatches> merge_on_device(DeviceRunner& runner,
                                      const DeviceSortedSide& probe,
                                      const DeviceSortedSide& build,
                                      DeviceJoinKind kind);
Result<uint64_t> count_merged(DeviceRunner& runner,
                              const DeviceSortedSide& probe,
                              const DeviceSortedSide& build,
                              DeviceJoinKind kind);

// Word rows[i] of a column, or `absent` where that is kNoRow.
Result<DeviceBuffer> gather_on_device(DeviceRunner& runner,
                                      const uint64_t* column,
                                      const uint64_t* rows,
                                      uint64_t count,
                                      uint64_t absent);

}  // namespace crossdock::operators
