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

void BlockBuilder::append(const RowBlock& block, const SelectedRows& of) {
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
      for (int32_t i = 0; i < of.count; ++i) numbers[i] = begin + of.rows[i];
    } else {
      for (int32_t i = 0; i < of.count; ++i) numbers[i] = from.rows[of.rows[i]];
    }
  }
  if (store_ != nullptr) {
    pending_.origins.back().store = store_;
    std::copy_n(of.refs, of.count, rows_.back().get() + at);
  }
  for (size_t c = 0; c < computed_.size(); ++c) {
    computed_[c].append(block.computed[c], of.rows, of.count, at);
  }
  pending_.rows += of.count;
}

Status BlockBuilder::put(const RowBlock& block,
                         const SelectedRows& rows,
                         int worker,
                         BlockSink& next) {
  pending_.morsel = block.morsel;
  for (int32_t done = 0; done < rows.count;) {
    const int32_t some = std::min(rows.count - done, kBlockRows - pending_.rows);
    const RowRef* refs = rows.refs == nullptr ? nullptr : rows.refs + done;
    append(block, {rows.rows + done, some, refs});
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

const RowBlock& BlockBuilder::make(const RowBlock& block, const SelectedRows& rows) {
  pending_.rows = 0;
  append(block, rows);
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
