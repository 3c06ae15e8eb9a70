// Whole ranges of counts, one put per pair of ranks.

#include "data/bulk/bucket_forms.hpp"

namespace crossdock::bulk {

Status ContiguousCounts::open_windows(const std::shared_ptr<Memory>& memory) {
  const int64_t bucket_bytes = shape_.tasks * model::kBucketCountBytes;
  const int64_t owned_bytes = owned(rank()) * bucket_bytes * shape_.ranks;
  CD_ASSIGN(inbox_, ranks_->open_window(owned_bytes, memory, "bucket counts"));
  CD_ASSIGN(outbox_,
            ranks_->open_window(shape_.buckets * bucket_bytes, memory, "the starts of buckets"));
  Result<Block> turned = memory->get(shape_.buckets * bucket_bytes, "bucket counts");
  CD_TRY(ranks_->agree(turned.ok() ? Status() : Status(turned.error())));
  turned_ = std::move(turned.value());
  return {};
}

// Counts become starts where they lie, in the order (bucket, rank, task).
Status ContiguousCounts::add_up() {
  auto* counts = reinterpret_cast<int64_t*>(inbox_->data());
  const int64_t per_rank = owned(rank()) * shape_.tasks;
  int64_t sum = 0;
  for (int64_t i = 0; i < per_rank * shape_.ranks; ++i) sum += counts[i];
  CD_ASSIGN(int64_t start, base_of(sum));
  for (int64_t first = 0; first < per_rank; first += shape_.tasks) {
    for (int source = 0; source < shape_.ranks; ++source) {
      int64_t* const of_bucket = counts + source * per_rank + first;
      for (int task = 0; task < shape_.tasks; ++task) {
        const int64_t count = of_bucket[task];
        of_bucket[task] = start;
        start += count;
      }
    }
  }
  return {};
}

// Each rank begins with the rank after it, so that no two begin with the same.
Status ContiguousCounts::exchange(std::span<const int64_t> counts, std::span<int64_t> starts) {
  const int64_t tasks = shape_.tasks;
  auto* turned = turned_.as<int64_t>();
  for (int64_t task = 0; task < tasks; ++task) {
    const int64_t* const of_task = counts.data() + task * shape_.buckets;
    for (int64_t b = 0; b < shape_.buckets; ++b) turned[b * tasks + task] = of_task[b];
  }
  const auto part = [&](const void* data, int64_t first, int64_t number) {
    return std::span(static_cast<const std::byte*>(data) + first * tasks * model::kBucketCountBytes,
                     static_cast<size_t>(number * tasks * model::kBucketCountBytes));
  };
  for (int step = 1; step <= shape_.ranks; ++step) {
    const int owner = (rank() + step) % shape_.ranks;
    if (owned(owner) == 0) continue;
    const int64_t at = rank() * owned(owner) * tasks * model::kBucketCountBytes;
    CD_TRY(
        bring(*inbox_, owner, at, part(turned, owned_begin(owner), owned(owner)), count_traffic_));
  }
  CD_TRY(inbox_->fence());
  CD_TRY(add_up());
  for (int step = 1; step <= shape_.ranks && owned(rank()) > 0; ++step) {
    const int source = (rank() + step) % shape_.ranks;
    const int64_t at = owned_begin(rank()) * tasks * model::kBucketCountBytes;
    CD_TRY(bring(*outbox_,
                 source,
                 at,
                 part(inbox_->data(), source * owned(rank()), owned(rank())),
                 start_traffic_));
  }
  CD_TRY(outbox_->fence());
  const auto* back = reinterpret_cast<const int64_t*>(outbox_->data());
  for (int64_t task = 0; task < tasks; ++task) {
    int64_t* const of_task = starts.data() + task * shape_.buckets;
    for (int64_t b = 0; b < shape_.buckets; ++b) of_task[b] = back[b * tasks + task];
  }
  return {};
}

}  // namespace crossdock::bulk
