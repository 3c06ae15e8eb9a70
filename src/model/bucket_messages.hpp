// How many messages an exchange of bucket counts takes: pure functions of ranks, tasks, buckets and buffers.
//
// A radix sort over ranks that moves rows by one digit needs to know where the rows of each bucket, rank and task start
// among all rows. Every rank counts its rows by task and bucket; bucket b has an owner, who adds the counts up in the
// order (bucket, rank, task) and sends the sums back. Arkouda's pull request 1635 ("Reduce sort bucket exchange
// overhead", 2022) tells of the first two forms and proposes the third; the other two are ours. Its text does not say
// how many tasks a rank has, so that is a parameter here.
//
// L ranks, T tasks each, B buckets, S elements to a buffer; the messages by which counts reach their owners:
//
//   kTaskBuffers   L^2 T ceil(B / (L S))             every task for itself, in buffers of (address, value)
//   kChunkBuffers  L T k ceil(B / (k S)), k = max(1, L / T)   task t sends chunk t of all its rank's tasks
//   kContiguous    L (L - 1)                         whole ranges of counts, put as they lie; sorted there
//   kCombined      L (L - 1)                         the same of sums over the rank's tasks: 1/T of the bytes
//   kScanned       about L log2 L + L                sums of all buckets, in rounds between ranks; no owners
//
// The first two count what a rank sends to itself, too, as the pull request does; they hold where L and T divide B and
// one another. bucket_traffic holds for all numbers, and says which messages stay on their rank. Except in kScanned the
// starts come back in as many messages again.
#pragma once

#include <cstdint>
#include <string_view>

namespace crossdock::model {

enum class BucketForm : uint8_t { kTaskBuffers, kChunkBuffers, kContiguous, kCombined, kScanned };
constexpr BucketForm kBucketForms[] = {BucketForm::kTaskBuffers,
                                       BucketForm::kChunkBuffers,
                                       BucketForm::kContiguous,
                                       BucketForm::kCombined,
                                       BucketForm::kScanned};

std::string_view bucket_form_name(BucketForm form);

struct BucketShape {
  int ranks = 1;
  int tasks = 1;                   // of each rank
  int64_t buckets = 1 << 11;       // of a digit
  int64_t buffer_elements = 8192;  // of kTaskBuffers and kChunkBuffers
};

// Of all ranks together, to bring counts to their owners.
struct BucketTraffic {
  int64_t messages = 0;      // to other ranks
  int64_t bytes = 0;         // in them
  int64_t own_messages = 0;  // buffers that a rank fills for itself
  int64_t own_bytes = 0;

  int64_t all_messages() const { return messages + own_messages; }
  friend bool operator==(const BucketTraffic&, const BucketTraffic&) = default;
};

constexpr int64_t kBucketCountBytes = 8;
constexpr int64_t kBucketElementBytes = 16;  // an address and a value

// Part i of `total` things that `parts` share evenly begins here, and ends where part i + 1 begins.
constexpr int64_t part_begin(int64_t total, int64_t parts, int64_t i) { return total * i / parts; }

// Exact for any numbers.
BucketTraffic bucket_traffic(const BucketShape& shape, BucketForm form);

// Of the rounds and the tree of kScanned.
int64_t scanned_messages(int ranks);

}  // namespace crossdock::model
