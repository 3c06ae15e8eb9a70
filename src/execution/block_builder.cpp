// Row numbers of row numbers.
#include "execution/block_builder.hpp"

#include <algorithm>

namespace crossdock::execution {

BlockBuilder::BlockBuilder(const BlockSchema& input, const RowStore* adds_store)
    : store_(adds_store) {
  const size_t origins = input.stores.size() + (store_ != nullptr ? 1 : 0);
  pending_.origins.resize(origins);
  for (size_t i = 0; i < origins; ++i) {
    rows_.push_back(std::make_unique<uint32_t[]>(kBlockRows));
    pending_.origins[i].rows = rows_.back().get();
  }
  for (const DataType& type : input.computed) computed_.emplace_back(type);
  pending_.computed.resize(computed_.size());
}

void BlockBuilder::append(const RowBlock& block,
                          const uint16_t* rows,
                          const RowRef* refs,
                          int32_t count) {
  const int32_t at = pending_.rows;
  for (size_t o = 0; o < block.origins.size(); ++o) {
    const Origin& from = block.origins[o];
    Origin& to = pending_.origins[o];
    uint32_t* numbers = rows_[o].get() + at;
    to.batch = from.batch;
    to.first_ref = from.first_ref;
    to.store = from.store;
    if (from.rows == nullptr) {
      const auto begin = static_cast<uint32_t>(from.begin);
      for (int32_t i = 0; i < count; ++i) numbers[i] = begin + rows[i];
    } else {
      for (int32_t i = 0; i < count; ++i) numbers[i] = from.rows[rows[i]];
    }
  }
  if (store_ != nullptr) {
    pending_.origins.back().store = store_;
    std::copy_n(refs, count, rows_.back().get() + at);
  }
  for (size_t c = 0; c < computed_.size(); ++c) {
    computed_[c].append(block.computed[c], rows, count, at);
  }
  pending_.rows += count;
}

Status BlockBuilder::put(const RowBlock& block,
                         const uint16_t* rows,
                         const RowRef* refs,
                         int32_t count,
                         int worker,
                         BlockSink& next) {
  pending_.morsel = block.morsel;
  for (int32_t done = 0; done < count;) {
    const int32_t some = std::min(count - done, kBlockRows - pending_.rows);
    append(block, rows + done, refs == nullptr ? nullptr : refs + done, some);
    done += some;
    if (pending_.rows == kBlockRows) CD_TRY(flush(worker, next));
  }
  return {};
}

void BlockBuilder::set_computed() {
  for (size_t c = 0; c < computed_.size(); ++c) {
    pending_.computed[c] = computed_[c].appended(pending_.rows);
  }
}

const RowBlock& BlockBuilder::make(const RowBlock& block,
                                const uint16_t* rows,
                                const RowRef* refs,
                                int32_t count) {
  pending_.rows = 0;
  append(block, rows, refs, count);
  set_computed();
  return pending_;
}

Status BlockBuilder::flush(int worker, BlockSink& next) {
  if (pending_.rows == 0) return {};
  set_computed();
  const Status status = next.push(worker, pending_);
  pending_.rows = 0;
  return status;
}

}  // namespace crossdock::execution
