// Sums over the ranges that a task and an owner have in common.
#include "model/bucket_messages.hpp"

#include <algorithm>

namespace crossdock::model {
namespace {

// Beside its values, a sum says whether one of them passed 64 bits.
constexpr int64_t kFoldExtraBytes = 8;

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Adds what one rank sends to all owners in buffers: `elements(task, owner)` of them at once.
template <class Elements>
BucketTraffic buffered(const BucketShape& shape, const Elements& elements) {
  BucketTraffic traffic;
  for (int task = 0; task < shape.tasks; ++task) {
    for (int owner = 0; owner < shape.ranks; ++owner) {
      const int64_t count = elements(task, owner);
      const int64_t buffers = ceil_div(count, shape.buffer_elements);
      // To every owner all ranks but itself send from afar.
      traffic.messages += (shape.ranks - 1) * buffers;
      traffic.bytes += (shape.ranks - 1) * count * kBucketElementBytes;
      traffic.own_messages += buffers;
      traffic.own_bytes += count * kBucketElementBytes;
    }
  }
  return traffic;
}

BucketTraffic one_sided(const BucketShape& shape, int64_t counts_per_bucket) {
  BucketTraffic traffic;
  for (int owner = 0; owner < shape.ranks; ++owner) {
    const int64_t buckets = part_begin(shape.buckets, shape.ranks, owner + 1) -
                            part_begin(shape.buckets, shape.ranks, owner);
    const int64_t bytes = buckets * counts_per_bucket * kBucketCountBytes;
    traffic.messages += buckets > 0 ? shape.ranks - 1 : 0;
    traffic.bytes += (shape.ranks - 1) * bytes;
  }
  return traffic;
}

}  // namespace

std::string_view bucket_form_name(BucketForm form) {
  switch (form) {
    case BucketForm::kTaskBuffers:
      return "task buffers";
    case BucketForm::kChunkBuffers:
      return "chunk buffers";
    case BucketForm::kContiguous:
      return "contiguous";
    case BucketForm::kCombined:
      return "combined";
    case BucketForm::kScanned:
      return "scanned";
  }
  return "?";
}

BucketTraffic bucket_traffic(const BucketShape& shape, BucketForm form) {
  const auto owned_begin = [&](int owner) { return part_begin(shape.buckets, shape.ranks, owner); };
  switch (form) {
    case BucketForm::kTaskBuffers:
      return buffered(shape, [&](int /*task*/, int owner) {
        return owned_begin(owner + 1) - owned_begin(owner);
      });
    case BucketForm::kChunkBuffers:
      return buffered(shape, [&](int task, int owner) {
        const int64_t begin =
            std::max(owned_begin(owner), part_begin(shape.buckets, shape.tasks, task));
        const int64_t end =
            std::min(owned_begin(owner + 1), part_begin(shape.buckets, shape.tasks, task + 1));
        return std::max<int64_t>(0, end - begin) * shape.tasks;
      });
    case BucketForm::kContiguous:
      return one_sided(shape, shape.tasks);
    case BucketForm::kCombined:
      return one_sided(shape, 1);
    case BucketForm::kScanned:
      break;
  }
  BucketTraffic traffic;
  traffic.messages = scanned_messages(shape.ranks);
  traffic.bytes = traffic.messages * (shape.buckets * kBucketCountBytes + kFoldExtraBytes);
  return traffic;
}

// Sums of the ranks before: in round r, rank i tells rank i + 2^r, if there is one. Sums of all: a tree to rank 0, and
// back.
int64_t scanned_messages(int ranks) {
  int64_t messages = 2 * (int64_t{ranks} - 1);
  for (int64_t step = 1; step < ranks; step *= 2) messages += ranks - step;
  return messages;
}

}  // namespace crossdock::model
