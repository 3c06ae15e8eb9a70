#include "operators/merge_join/merge_keys.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "table/key_word.hpp"

namespace crossdock::operators {
namespace {

int column_of(const KeyPart& part, Side side) {
  return side == Side::kLeft ? part.left : part.right;
}

// A key of one word whatever its values are.
bool needs_no_scan(const OrderKeyPlan& order) {
  return order.part_count() == 1 && order.reader(0, 0).form() == OrderForm::kWord;
}

Result<OrderRanges> scan_ranges(JoinRun& run, const OrderKeyPlan& order) {
  if (needs_no_scan(order)) {
    OrderRanges ranges = order.any_ranges();
    ranges[0].beyond = false;  // only decimals can be
    return ranges;
  }
  std::vector<OrderRanges> ranges(run.team->worker_count(), order.make_ranges());
  for (const Side side : {Side::kLeft, Side::kRight}) {
    CD_TRY(run.for_side("scan key ranges", side, [&](int worker, const Morsel& morsel) -> Status {
      order.scan(index_of(side), *morsel.batch, morsel.begin, morsel.rows, ranges[worker]);
      return {};
    }));
  }
  for (size_t worker = 1; worker < ranges.size(); ++worker) {
    for (size_t p = 0; p < ranges[0].size(); ++p) ranges[0][p].merge(ranges[worker][p]);
  }
  return std::move(ranges[0]);
}

}  // namespace

Result<OrderKeyPlan> MergeKeys::plan_order(const std::shared_ptr<const RowStore> (&stores)[2],
                                           const KeyPlan& keys) {
  std::vector<OrderTerm> terms;
  std::vector<OrderSide> sides(2);
  for (const Side side : {Side::kLeft, Side::kRight}) {
    sides[index_of(side)].store = stores[index_of(side)].get();
  }
  for (const KeyPart& part : keys.parts) {
    terms.push_back({part.kind, false, false});
    for (const Side side : {Side::kLeft, Side::kRight}) {
      sides[index_of(side)].columns.push_back(column_of(part, side));
    }
  }
  return OrderKeyPlan::create(std::move(terms), std::move(sides));
}

Result<MergeKeys> MergeKeys::create(JoinRun& run, const KeyPlan& keys) {
  MergeKeys merge;
  CD_ASSIGN(OrderKeyPlan order, plan_order(run.output->stores, keys));
  CD_ASSIGN(OrderRanges ranges, scan_ranges(run, order));
  if (!keys.null_equals_null) {
    for (int p = 0; p < order.part_count(); ++p) {
      for (const int side : {0, 1}) {
        merge.lacks_words_[side] |= order.reader(side, p).any_nulls();
      }
      // No row with a null gets as far as needing a bit for it. (Strings of null rows are not read, so
      // those must stay known.)
      if (order.reader(0, p).form() != OrderForm::kBytes) ranges[p].any_null = false;
    }
  }
  for (const Side side : {Side::kLeft, Side::kRight}) {
    merge.direct_[index_of(side)] = direct_for(keys, *run.schema_of(side), side);
  }
  order.settle(ranges);
  merge.order_ = std::make_shared<const OrderKeyPlan>(std::move(order));
  return merge;
}

Result<std::optional<MergeKeys>> MergeKeys::create_plain(
    const std::shared_ptr<const RowStore> (&stores)[2], const KeyPlan& keys) {
  MergeKeys merge;
  for (const Side side : {Side::kLeft, Side::kRight}) {
    merge.direct_[index_of(side)] = direct_for(keys, *stores[index_of(side)]->schema(), side);
    if (!merge.direct_[index_of(side)].is_possible) return std::optional<MergeKeys>();
  }
  CD_ASSIGN(OrderKeyPlan order, plan_order(stores, keys));
  CD_CHECK(needs_no_scan(order), "words of a plain integer depend on rows");
  OrderRanges ranges = order.any_ranges();
  ranges[0].beyond = false;
  ranges[0].any_null = false;
  for (const int side : {0, 1}) merge.lacks_words_[side] = order.reader(side, 0).any_nulls();
  order.settle(ranges);
  merge.order_ = std::make_shared<const OrderKeyPlan>(std::move(order));
  return std::optional<MergeKeys>(std::move(merge));
}

MergeKeys::Direct MergeKeys::direct_for(const KeyPlan& keys, const Schema& schema, Side side) {
  if (keys.parts.size() != 1 || keys.null_equals_null) return {};
  const KeyPart& part = keys.parts[0];
  const DataType& type = schema.fields[column_of(part, side)].type;
  const bool is_plain = part.kind.form == KeyForm::kInteger64 && type.id != TypeId::kDictionary &&
                        layout(type) == Layout::kFixed && fixed_bytes(type) == 8;
  return {is_plain, column_of(part, side), type.id == TypeId::kUInt64 ? 0 : kSignBit};
}

void MergeKeys::encode(
    Side side, const Batch& batch, int64_t begin, int32_t count, uint64_t* words) const {
  const Direct& direct = direct_[index_of(side)];
  if (!direct.is_possible) {
    return order_->encode(index_of(side), batch, begin, count, words);
  }
  const uint64_t* values = batch.columns[direct.column].data<uint64_t>() + begin;
  for (int32_t i = 0; i < count; ++i) words[i] = values[i] ^ direct.flip;
}

KeyPlan MergeKeys::output_keys(const KeyPlan& keys) const {
  KeyPlan output = keys;
  output.mode = KeyMode::kOrdered;
  output.packs_exactly = is_exact();
  output.order = order_;
  return output;
}

int32_t MergeEncoder::encode(
    const Batch& batch, int64_t begin, int32_t count, uint64_t* words, uint8_t* live) {
  keys_->encode(side_, batch, begin, count, words);
  if (!keys_->may_lack_words(side_)) return count;
  std::fill_n(live, count, uint8_t{1});
  if (!nulls_.clear_nulls(batch, begin, count, live)) return count;
  return static_cast<int32_t>(std::count(live, live + count, uint8_t{1}));
}

}  // namespace crossdock::operators
