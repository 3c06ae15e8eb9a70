#include "operators/hash_join/residual.hpp"

namespace crossdock::operators {

Status ResidualCheck::decide(const RowRef* left,
                             const RowRef* right,
                             int32_t count,
                             uint8_t* keep) const {
  auto owners = std::make_shared<std::vector<std::shared_ptr<const void>>>();
  Batch pairs;
  pairs.schema = schema_;
  pairs.rows = count;
  for (const OutputColumn& column : spec_->residual_columns) {
    const Side side = column.side == OutputSide::kRight ? Side::kRight : Side::kLeft;
    const std::span<const RowRef> refs(side == Side::kRight ? right : left,
                                       static_cast<size_t>(count));
    CD_ASSIGN(OwnedColumn gathered, gather_rows(*output_, side, column.column, refs));
    pairs.columns.push_back(gathered.view);
    owners->push_back(std::move(gathered.owner));
    owners->push_back(output_->stores[index_of(side)]);
  }
  pairs.owner = owners;
  return spec_->residual(pairs, keep);
}

}  // namespace crossdock::operators
