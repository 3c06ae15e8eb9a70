#include "operators/merge_join/merge_parts.hpp"

#include <algorithm>

namespace crossdock::operators {
namespace {

class PartCutter {
 public:
  explicit PartCutter(const PartRequest& request) : request_(request) {}

  std::vector<MergePart> cut() {
    for (int range = 0; range < request_.ranges->range_count(); ++range) {
      if (!matters(range)) continue;
      if (request_.splits_heavy && request_.ranges->splitter(range).is_heavy) {
        cut_product(range);
      } else {
        add_range(range);
      }
    }
    for (const Side side : {Side::kLeft, Side::kRight}) {
      if (!request_.keeps_without_word[index_of(side)]) continue;
      cut_rows(MergePart::Kind::kWithoutWord, side, 0, rows_of(side).rows_without_word());
    }
    return std::move(parts_);
  }

 private:
  const MergeSide& rows_of(Side side) const { return *request_.sides[index_of(side)]; }

  // Whether rows can come out of a range, or its rows must be seen in any case.
  bool matters(int range) const {
    const bool left = rows_of(Side::kLeft).rows(range) > 0;
    const bool right = rows_of(Side::kRight).rows(range) > 0;
    if (left && (right || request_.roles.left_alone)) return true;
    if (right && request_.roles.right_alone) return true;
    return (left && rows_of(Side::kLeft).must_be_read()) ||
           (right && rows_of(Side::kRight).must_be_read());
  }

  void add_range(int range) {
    const int64_t rows =
        std::max(rows_of(Side::kLeft).rows(range), rows_of(Side::kRight).rows(range));
    if (open_rows_ == 0 || open_rows_ + rows > request_.part_rows) {
      parts_.push_back({MergePart::Kind::kRanges, range, range, Side::kLeft, 0, 0});
      open_rows_ = rows;
    } else {
      parts_.back().last = range;  // skips only ranges that do not matter
      open_rows_ += rows;
    }
  }

  void cut_product(int range) {
    const int64_t right = rows_of(Side::kRight).rows(range);
    const int64_t left = rows_of(Side::kLeft).rows(range);
    const int64_t pairs_each = request_.roles.pairs ? std::max<int64_t>(1, right) : 1;
    const Side side = left > 0 ? Side::kLeft : Side::kRight;
    cut_rows(MergePart::Kind::kProduct, side, range, left > 0 ? left : right, pairs_each);
  }

  void cut_rows(MergePart::Kind kind, Side side, int range, int64_t rows, int64_t pairs_each = 1) {
    constexpr int64_t kRowsMax = 1 << 16;
    const int64_t step = std::clamp<int64_t>(request_.part_rows / pairs_each, 1, kRowsMax);
    for (int64_t begin = 0; begin < rows; begin += step) {
      parts_.push_back({kind, range, range, side, begin, std::min(rows, begin + step)});
    }
    open_rows_ = 0;
  }

  const PartRequest& request_;
  std::vector<MergePart> parts_;
  int64_t open_rows_ = 0;  // of the last part, if it can take more ranges
};

}  // namespace

std::vector<MergePart> cut_parts(const PartRequest& request) { return PartCutter(request).cut(); }

}  // namespace crossdock::operators
