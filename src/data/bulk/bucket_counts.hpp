// Where the rows of each bucket start among the rows of all ranks: what a pass of a radix sort over ranks asks first.
//
// Every rank has counted its rows by task and bucket. Bucket b has an owner, who puts the counts in the order (bucket,
// rank, task), adds them up and sends the sums back; owners have consecutive buckets, so one number per owner, added up
// over ranks, makes the sums of all. The forms (model/bucket_messages.hpp) are those of Arkouda's pull request 1635 and
// what goes beyond them; all give the same starts. Tasks are parts of a rank's rows; here one thread sends for all of
// them, buffer by buffer in turn, in the order in which threads would.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/result.hpp"
#include "data/ranks/communicator.hpp"
#include "model/bucket_messages.hpp"

namespace crossdock::bulk {

class BucketCounts {
 public:
  virtual ~BucketCounts() = default;
  BucketCounts(const BucketCounts&) = delete;
  BucketCounts& operator=(const BucketCounts&) = delete;

  // All ranks call it alike. `shape.ranks` is the communicator's size. CD-105 in all ranks if no tasks, buckets or
  // elements are asked for, or shapes or forms differ, but for tasks that a form combines first; CD-201.
  static Result<std::unique_ptr<BucketCounts>> open(ranks::Communicator& ranks,
                                                    const model::BucketShape& shape,
                                                    model::BucketForm form,
                                                    const std::shared_ptr<Memory>& memory);

  // All ranks call it. counts[task * buckets + bucket] of this rank; `starts` likewise. Errors of the communicator.
  virtual Status exchange(std::span<const int64_t> counts, std::span<int64_t> starts) = 0;

  // What this rank put into windows since open, to bring counts to owners and starts back. kScanned puts nothing: its
  // sums are the communicator's collectives, and counted there.
  const model::BucketTraffic& count_traffic() const { return count_traffic_; }
  const model::BucketTraffic& start_traffic() const { return start_traffic_; }

 protected:
  BucketCounts(ranks::Communicator& ranks, const model::BucketShape& shape)
      : ranks_(&ranks), shape_(shape) {}

  int rank() const { return ranks_->rank(); }
  int64_t owned_begin(int owner) const {
    return model::part_begin(shape_.buckets, shape_.ranks, owner);
  }
  int64_t owned(int owner) const { return owned_begin(owner + 1) - owned_begin(owner); }
  // The sum of what the owners before this one own.
  Result<int64_t> base_of(int64_t own_sum);
  // Puts or copies, and counts it.
  Status bring(ranks::Window& window,
               int target,
               int64_t at,
               std::span<const std::byte> from,
               model::BucketTraffic& as);

  ranks::Communicator* ranks_;
  model::BucketShape shape_;
  model::BucketTraffic count_traffic_;
  model::BucketTraffic start_traffic_;
};

}  // namespace crossdock::bulk
