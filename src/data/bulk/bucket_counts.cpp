#include "data/bulk/bucket_counts.hpp"

#include <cstring>
#include <vector>

#include "data/bulk/bucket_forms.hpp"

namespace crossdock::bulk {
namespace {

// Whatever a form does with a rank's sums; the tasks' own shares are known here. `inner` is of one task.
class CombinedCounts : public BucketCounts {
 public:
  CombinedCounts(ranks::Communicator& ranks,
                 const model::BucketShape& shape,
                 std::unique_ptr<BucketCounts> inner)
      : BucketCounts(ranks, shape),
        inner_(std::move(inner)),
        sums_(static_cast<size_t>(shape.buckets)) {}

  Status exchange(std::span<const int64_t> counts, std::span<int64_t> starts) override {
    const auto buckets = static_cast<size_t>(shape_.buckets);
    sums_.assign(buckets, 0);
    for (size_t at = 0; at < counts.size(); at += buckets) {
      for (size_t b = 0; b < buckets; ++b) sums_[b] += counts[at + b];
    }
    CD_TRY(inner_->exchange(sums_, sums_));
    for (size_t at = 0; at < counts.size(); at += buckets) {
      for (size_t b = 0; b < buckets; ++b) {
        const int64_t count = counts[at + b];
        starts[at + b] = sums_[b];
        sums_[b] += count;
      }
    }
    count_traffic_ = inner_->count_traffic();
    start_traffic_ = inner_->start_traffic();
    return {};
  }

 private:
  std::unique_ptr<BucketCounts> inner_;
  std::vector<int64_t> sums_;
};

// The sums of the ranks before this one, and of all: every rank finds the starts of all buckets by itself.
class ScannedCounts : public BucketCounts {
 public:
  ScannedCounts(ranks::Communicator& ranks, const model::BucketShape& shape)
      : BucketCounts(ranks, shape) {}

  Status exchange(std::span<const int64_t> counts, std::span<int64_t> starts) override {
    CD_ASSIGN(const std::vector<int64_t> before, ranks_->exclusive_sum(counts));
    CD_ASSIGN(const std::vector<int64_t> all, ranks_->fold(counts, ranks::Fold::kSum));
    int64_t sum = 0;
    for (size_t b = 0; b < all.size(); ++b) {
      starts[b] = sum + before[b];
      sum += all[b];
    }
    return {};
  }
};

Status check_shape(const model::BucketShape& shape, int ranks) {
  if (shape.ranks == ranks && shape.tasks >= 1 && shape.buckets >= 1 &&
      shape.buffer_elements >= 1) {
    return {};
  }
  return make_error(ErrorCode::kInvalidArgument,
                    "an exchange of bucket counts of {} ranks ({} are there), {} tasks, {} buckets "
                    "and {} elements to a buffer; all are 1 at least",
                    shape.ranks,
                    ranks,
                    shape.tasks,
                    shape.buckets,
                    shape.buffer_elements);
}

// Ranks write to each other's places by their own shapes. Tasks that are combined first are a rank's own matter.
Status check_alike(ranks::Communicator& ranks,
                   const model::BucketShape& shape,
                   model::BucketForm form) {
  const bool has_tasks =
      form != model::BucketForm::kCombined && form != model::BucketForm::kScanned;
  const int64_t proposal[] = {static_cast<int64_t>(form),
                              has_tasks ? int64_t{shape.tasks} : 1,
                              shape.buckets,
                              shape.buffer_elements};
  CD_ASSIGN(const std::vector<int64_t> least, ranks.fold(proposal, ranks::Fold::kMin));
  CD_ASSIGN(const std::vector<int64_t> most, ranks.fold(proposal, ranks::Fold::kMax));
  if (least == most) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "ranks exchange bucket counts of {} to {} tasks, {} to {} buckets and {} to {} "
                    "elements to a buffer, by forms {} to {}; all ranks take the same",
                    least[1],
                    most[1],
                    least[2],
                    most[2],
                    least[3],
                    most[3],
                    least[0],
                    most[0]);
}

template <class Form, class... Args>
Result<std::unique_ptr<BucketCounts>> opened(const std::shared_ptr<Memory>& memory,
                                             Args&&... args) {
  auto form = std::make_unique<Form>(std::forward<Args>(args)...);
  CD_TRY(form->open_windows(memory));
  return std::unique_ptr<BucketCounts>(std::move(form));
}

}  // namespace

Result<std::unique_ptr<BucketCounts>> BucketCounts::open(ranks::Communicator& ranks,
                                                         const model::BucketShape& shape,
                                                         model::BucketForm form,
                                                         const std::shared_ptr<Memory>& memory) {
  CD_TRY(ranks.agree(check_shape(shape, ranks.size())));
  CD_TRY(check_alike(ranks, shape, form));
  model::BucketShape combined = shape;
  combined.tasks = 1;
  std::unique_ptr<BucketCounts> inner;
  switch (form) {
    case model::BucketForm::kTaskBuffers:
    case model::BucketForm::kChunkBuffers:
      return opened<BufferedCounts>(memory, ranks, shape, form);
    case model::BucketForm::kContiguous:
      return opened<ContiguousCounts>(memory, ranks, shape);
    case model::BucketForm::kCombined: {
      CD_ASSIGN(inner, opened<ContiguousCounts>(memory, ranks, combined));
      break;
    }
    case model::BucketForm::kScanned:
      inner = std::make_unique<ScannedCounts>(ranks, combined);
      break;
  }
  return std::unique_ptr<BucketCounts>(
      std::make_unique<CombinedCounts>(ranks, shape, std::move(inner)));
}

Result<int64_t> BucketCounts::base_of(int64_t own_sum) {
  CD_ASSIGN(const std::vector<int64_t> before, ranks_->exclusive_sum({&own_sum, 1}));
  return before[0];
}

Status BucketCounts::bring(ranks::Window& window,
                           int target,
                           int64_t at,
                           std::span<const std::byte> from,
                           model::BucketTraffic& as) {
  const auto bytes = static_cast<int64_t>(from.size());
  if (target == rank()) {
    std::memcpy(window.data() + at, from.data(), from.size());
    as.own_messages += 1;
    as.own_bytes += bytes;
    return {};
  }
  as.messages += 1;
  as.bytes += bytes;
  return window.put(target, at, from);
}

}  // namespace crossdock::bulk
