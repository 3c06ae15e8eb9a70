// The forms of BucketCounts that put into windows.
#pragma once

#include <memory>
#include <vector>

#include "data/bulk/bucket_counts.hpp"

namespace crossdock::bulk {

// Counts as (address, value), in buffers that are sent when they are full: kTaskBuffers and kChunkBuffers.
class BufferedCounts : public BucketCounts {
 public:
  BufferedCounts(ranks::Communicator& ranks,
                 const model::BucketShape& shape,
                 model::BucketForm form);
  Status open_windows(const std::shared_ptr<Memory>& memory);
  Status exchange(std::span<const int64_t> counts, std::span<int64_t> starts) override;

 private:
  struct Element {
    int64_t address = 0;
    int64_t value = 0;
  };
  // What a task has for an owner: the counts of buckets [begin, end), of some tasks each.
  struct Piece {
    int owner = 0;
    int64_t begin = 0;
    int64_t end = 0;
    int first_task = 0;
    int tasks = 0;      // whose counts these are
    int64_t place = 0;  // among the elements that one rank sends this owner

    int64_t elements() const { return (end - begin) * tasks; }
  };
  // Walks over elements of a piece: tasks of a bucket, then the next bucket.
  struct Place {
    int64_t bucket = 0;
    int task = 0;

    Place(const Piece& piece, int64_t element)
        : bucket(piece.begin + element / piece.tasks),
          task(piece.first_task + static_cast<int>(element % piece.tasks)) {}
    void step(const Piece& piece) {
      if (++task < piece.first_task + piece.tasks) return;
      task = piece.first_task;
      ++bucket;
    }
  };

  void plan_task_pieces();
  void plan_chunk_pieces();
  Status send_counts(std::span<const int64_t> counts);
  Status send_starts();
  // In the owner's table.
  int64_t address_of(const Place& place, int64_t first_bucket, int source) const {
    return ((place.bucket - first_bucket) * shape_.ranks + source) * shape_.tasks + place.task;
  }

  model::BucketForm form_;
  std::vector<std::vector<Piece>> pieces_;  // by sending task, in the order in which it sends
  std::vector<Element> buffer_;
  Block table_;  // of the owner, [bucket][rank][task]
  // They go before what is put into them.
  std::shared_ptr<ranks::Window> inbox_;   // of the owner: elements by source
  std::shared_ptr<ranks::Window> outbox_;  // of who counted: elements by owner
};

// Counts as they lie, [bucket][task], an owner's in one put: kContiguous. The owner reads them in the order of the sums
// instead of turning them round first, and puts the sums where the counts were.
class ContiguousCounts : public BucketCounts {
 public:
  ContiguousCounts(ranks::Communicator& ranks, const model::BucketShape& shape)
      : BucketCounts(ranks, shape) {}
  Status open_windows(const std::shared_ptr<Memory>& memory);
  Status exchange(std::span<const int64_t> counts, std::span<int64_t> starts) override;

 private:
  Status add_up();

  Block turned_;  // counts, [bucket][task]
  // They go before what is put into them.
  std::shared_ptr<ranks::Window> inbox_;   // of the owner, [rank][bucket][task]
  std::shared_ptr<ranks::Window> outbox_;  // of who counted, [bucket][task]
};

}  // namespace crossdock::bulk
