// Reading blocks from batches and from segments.
#include "operators/group_by/input_block.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "operators/group_by/word_scan.hpp"

namespace crossdock::operators {
namespace {

KeyHasher value_hasher(const DataType& type, uint64_t seed) {
  const auto kind = common_key_kind(type, type);
  CD_CHECK(kind.ok(), "type {}", type_name(type));
  return {type, kind.value(), seed};
}

template <class T>
void compact(T* values, const uint8_t* keep, int32_t rows) {
  int32_t kept = 0;
  for (int32_t i = 0; i < rows; ++i) {
    values[kept] = values[i];
    kept += keep[i];
  }
}

}  // namespace

std::optional<CarriedLanes> plan_carried_lanes(const BlockPlan& plan) {
  CarriedLanes lanes;
  if (plan.aggregates->masks.size() > kCarriedMasksMax) return std::nullopt;
  for (int t = 0; t < plan.keys->tail_count(); ++t) lanes.tails[t] = lanes.count++;
  if (plan.needs_refs() || !plan.aggregates->masks.empty()) lanes.meta = lanes.count++;
  for (const ValueLane& lane : plan.aggregates->lanes) {
    lanes.low.push_back(lanes.count++);
    lanes.high.push_back(lane.has_high ? lanes.count++ : -1);
  }
  if (lanes.count > kCarriedLanesMax) return std::nullopt;
  return lanes;
}

InputBlock::InputBlock(const BlockPlan& plan)
    : plan_(plan), encoder_(*plan.keys, *plan.store->schema()) {
  const Schema& schema = *plan.store->schema();
  for (const Field& field : schema.fields) readers_.emplace_back(field.type);
  for (const ValueLane& lane : plan.aggregates->lanes) {
    lanes_.push_back(std::make_unique<Lane>());
    const DataType& type = schema.fields[lane.column].type;
    if (lane.hashed) {
      lanes_.back()->hasher.emplace(value_hasher(type, plan.keys->seed));
    } else {
      lanes_.back()->reader.emplace(type);
      if (plan.program != nullptr) lanes_.back()->step = plan.program->decimal_step(lane.column);
    }
  }
  for (size_t i = 0; i < plan.aggregates->masks.size(); ++i) {
    masks_.push_back(std::make_unique<Mask>());
  }
  low_.assign(lanes_.size(), nullptr);
  high_.assign(lanes_.size(), nullptr);
  inputs_.resize(plan.aggregates->inputs.size());
}

// What the program has read or computed.
Status InputBlock::take_lane(size_t l, const expressions::ExpressionLane& values, int32_t rows) {
  const ValueLane& planned = plan_.aggregates->lanes[l];
  low_[l] = values.words;
  high_[l] = planned.form == ValueForm::kWide ? values.high : nullptr;
  if (high_[l] == nullptr || planned.has_high) return {};
  return check_digits(l, values.valid, rows);
}

Status InputBlock::load_lane(size_t l, const Batch& batch, int64_t begin, int32_t rows) {
  const ValueLane& planned = plan_.aggregates->lanes[l];
  const ColumnView& column = batch.columns[planned.column];
  Lane& lane = *lanes_[l];
  if (plan_.is_computed(planned.column)) return take_lane(l, computed(planned.column), rows);
  if (lane.step >= 0) return take_lane(l, evaluator_->decimals(lane.step), rows);
  high_[l] = nullptr;
  low_[l] = lane.low;
  if (planned.hashed) {
    lane.hasher->hash(column, begin, rows, false, lane.low);
    return {};
  }
  if (planned.form != ValueForm::kWide) {
    low_[l] = lane.reader->words(column, begin, rows, lane.low);
    if (low_[l] != lane.low) fetch_words(low_[l] + rows, rows);
    return {};
  }
  if (column.is_narrow) {
    low_[l] = column.data<uint64_t>() + begin;
    return {};
  }
  if (lane.reader->wide(column, begin, rows, lane.low, lane.high)) return {};
  high_[l] = lane.high;
  if (planned.has_high) return {};
  uint8_t valid[kGroupRows];
  const bool any_null = lane.reader->valid(column, begin, rows, valid);
  return check_digits(l, any_null ? valid : nullptr, rows);
}

// A lane planned as one word per value has two: an error, unless only null rows need them.
Status InputBlock::check_digits(size_t l, const uint8_t* valid, int32_t rows) {
  const uint64_t* high = high_[l];
  high_[l] = nullptr;
  for (int32_t i = 0; i < rows; ++i) {
    const auto sign = static_cast<uint64_t>(static_cast<int64_t>(low_[l][i]) >> 63);
    if (high[i] == sign || (valid != nullptr && valid[i] == 0)) continue;
    const Field& field = plan_.store->schema()->fields[plan_.aggregates->lanes[l].column];
    return make_error(ErrorCode::kValueOutOfRange,
                      "column '{}' is {}, but a value of it has more than 18 digits\n"
                      "  try      a cast to the decimal type that its values need",
                      field.name,
                      type_name(field.type));
  }
  return {};
}

// is_true[i] = 1 where the bool column is true: neither false nor null. Answers whether any is not.
bool InputBlock::read_true(
    int column, const Batch& batch, int64_t begin, int32_t rows, uint8_t* is_true) {
  uint64_t values[kGroupRows];
  uint8_t valid[kGroupRows];
  const uint64_t* words = nullptr;
  const uint8_t* valid_at = nullptr;
  if (plan_.is_computed(column)) {
    words = computed(column).words;
    valid_at = computed(column).valid;
  } else {
    const ColumnView& view = batch.columns[column];
    words = readers_[column].words(view, begin, rows, values);
    if (readers_[column].valid(view, begin, rows, valid)) valid_at = valid;
  }
  uint8_t all = 1;
  for (int32_t i = 0; i < rows; ++i) {
    is_true[i] = static_cast<uint8_t>(words[i]) & (valid_at != nullptr ? valid_at[i] : 1);
    all &= is_true[i];
  }
  return all == 0;
}

// valid[i] = 1 where the column has a value. Answers whether a row may have none.
bool InputBlock::read_valid(
    int column, const Batch& batch, int64_t begin, int32_t rows, uint8_t* valid) {
  if (!plan_.is_computed(column)) {
    return readers_[column].valid(batch.columns[column], begin, rows, valid);
  }
  const uint8_t* const known = computed(column).valid;
  if (known != nullptr) std::copy_n(known, rows, valid);
  return known != nullptr;
}

void InputBlock::load_mask(size_t m, const Batch& batch, int64_t begin, int32_t rows) {
  const InputMask& planned = plan_.aggregates->masks[m];
  Mask& mask = *masks_[m];
  mask.partial = false;
  uint8_t also[kGroupRows];
  const auto add = [&](auto read) {
    uint8_t* const to = mask.partial ? also : mask.valid;
    if (!read(to)) return;
    for (int32_t i = 0; mask.partial && i < rows; ++i) mask.valid[i] &= also[i];
    mask.partial = true;
  };
  for (const int column : {planned.column, planned.by}) {
    if (column >= 0) {
      add([&](uint8_t* to) { return read_valid(column, batch, begin, rows, to); });
    }
  }
  if (planned.filter >= 0) {
    add([&](uint8_t* to) { return read_true(planned.filter, batch, begin, rows, to); });
  }
}

// Filters and computed columns of the block.
Status InputBlock::evaluate(const Batch& batch, int64_t begin, int32_t rows) {
  if (!evaluator_.has_value()) {
    CD_ASSIGN(evaluator_, expressions::BlockEvaluator::create(plan_.program, *plan_.memory));
    computed_.resize(plan_.program->outputs().size());
  }
  CD_ASSIGN(rows_, evaluator_->filter(batch, begin, rows));
  if (rows_ == 0) return {};
  CD_TRY(evaluator_->compute());
  for (size_t i = 0; i < computed_.size(); ++i) {
    computed_[i] = evaluator_->lane(static_cast<int32_t>(i));
  }
  return {};
}

void InputBlock::drop_rows(const uint8_t* keep) {
  compact_words(words_, keep, rows_, words_);
  for (int t = 0; t < plan_.keys->tail_count(); ++t) {
    compact_words(tails_[t], keep, rows_, tails_[t]);
  }
  if (plan_.needs_refs()) compact(refs_, keep, rows_);
  for (size_t l = 0; l < lanes_.size(); ++l) {
    compact_words(low_[l], keep, rows_, lanes_[l]->low);
    low_[l] = lanes_[l]->low;
    if (high_[l] == nullptr) continue;
    compact_words(high_[l], keep, rows_, lanes_[l]->high);
    high_[l] = lanes_[l]->high;
  }
  for (const auto& mask : masks_) {
    if (mask->partial) compact(mask->valid, keep, rows_);
  }
  rows_ = static_cast<int32_t>(std::count(keep, keep + rows_, uint8_t{1}));
}

void InputBlock::fill_inputs() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const AggregateInput& planned = plan_.aggregates->inputs[i];
    inputs_[i] = {};
    if (planned.lane >= 0) {
      inputs_[i].words = low_[planned.lane];
      inputs_[i].high = high_[planned.lane];
    }
    if (planned.mask >= 0 && masks_[planned.mask]->partial) {
      inputs_[i].valid = masks_[planned.mask]->valid;
    }
  }
}

Status InputBlock::load(const Morsel& morsel, int32_t offset, int32_t rows) {
  const Batch& batch = *morsel.batch;
  const int64_t begin = morsel.begin + offset;
  if (plan_.program != nullptr) {
    CD_TRY(evaluate(batch, begin, rows));
    if (rows_ == 0) return {};
  }
  rows_ = rows;
  encoder_.encode(batch, begin, rows, {words_, {tails_[0], tails_[1]}});
  word_at_ = words_;
  tail_at_[0] = tails_[0];
  tail_at_[1] = tails_[1];
  for (size_t l = 0; l < lanes_.size(); ++l) CD_TRY(load_lane(l, batch, begin, rows));
  for (size_t m = 0; m < masks_.size(); ++m) load_mask(m, batch, begin, rows);
  if (plan_.needs_refs()) {
    const RowRef first = morsel.first_ref + static_cast<RowRef>(offset);
    for (int32_t i = 0; i < rows; ++i) refs_[i] = first + static_cast<RowRef>(i);
  }
  if (plan_.program != nullptr && evaluator_->kept() != nullptr) drop_rows(evaluator_->kept());
  uint8_t keep[kGroupRows];
  if (plan_.row_filter >= 0 && read_true(plan_.row_filter, batch, begin, rows, keep)) {
    drop_rows(keep);
  }
  fill_inputs();
  return {};
}

void InputBlock::load_segment(const sorters::Segment& segment,
                              int32_t offset,
                              int32_t rows,
                              const CarriedLanes& lanes) {
  rows_ = rows;
  word_at_ = segment.words() + offset;
  for (int t = 0; t < 2 && lanes.tails[t] >= 0; ++t) {
    tail_at_[t] = segment.carry(lanes.tails[t]) + offset;
  }
  for (size_t l = 0; l < low_.size(); ++l) {
    low_[l] = segment.carry(lanes.low[l]) + offset;
    high_[l] = lanes.high[l] < 0 ? nullptr : segment.carry(lanes.high[l]) + offset;
  }
  if (lanes.meta >= 0) {
    const uint64_t* meta = segment.carry(lanes.meta) + offset;
    for (int32_t i = 0; i < rows; ++i) refs_[i] = static_cast<RowRef>(meta[i]);
    for (size_t m = 0; m < masks_.size(); ++m) {
      masks_[m]->partial = true;
      const int shift = 32 + static_cast<int>(m);
      for (int32_t i = 0; i < rows; ++i) masks_[m]->valid[i] = (meta[i] >> shift) & 1;
    }
  }
  fill_inputs();
}

KeyBlock InputBlock::keys() const { return {rows_, word_at_, {tail_at_[0], tail_at_[1]}, refs_}; }

GroupBlock InputBlock::values(const uint32_t* groups) const {
  return {rows_, groups, refs_, inputs_.data()};
}

void InputBlock::pack_meta() {
  const bool refs = plan_.needs_refs();
  for (int32_t i = 0; i < rows_; ++i) meta_[i] = refs ? refs_[i] : 0;
  for (size_t m = 0; m < masks_.size(); ++m) {
    const int shift = 32 + static_cast<int>(m);
    const Mask& mask = *masks_[m];
    for (int32_t i = 0; i < rows_; ++i) {
      meta_[i] |= uint64_t{mask.partial ? mask.valid[i] : uint8_t{1}} << shift;
    }
  }
}

void InputBlock::carry(const CarriedLanes& lanes, const uint64_t** carried) {
  for (int t = 0; t < 2 && lanes.tails[t] >= 0; ++t) carried[lanes.tails[t]] = tail_at_[t];
  if (lanes.meta >= 0) {
    pack_meta();
    carried[lanes.meta] = meta_;
  }
  for (size_t l = 0; l < low_.size(); ++l) {
    carried[lanes.low[l]] = low_[l];
    if (lanes.high[l] < 0) continue;
    if (high_[l] == nullptr) {
      uint64_t* high = lanes_[l]->high;
      for (int32_t i = 0; i < rows_; ++i) {
        high[i] = static_cast<uint64_t>(static_cast<int64_t>(low_[l][i]) >> 63);
      }
      carried[lanes.high[l]] = high;
    } else {
      carried[lanes.high[l]] = high_[l];
    }
  }
}

InputBlock::Selected InputBlock::carry_selected(const CarriedLanes& lanes,
                                                const uint32_t* selected,
                                                int32_t count,
                                                const uint64_t** carried) {
  carry(lanes, carried);
  while (selected_.size() < static_cast<size_t>(lanes.count) + 1) {
    selected_.push_back(std::make_unique<Words[]>(1));
  }
  for (int lane = 0; lane < lanes.count; ++lane) {
    uint64_t* to = selected_[lane][0];
    for (int32_t i = 0; i < count; ++i) to[i] = carried[lane][selected[i]];
    carried[lane] = to;
  }
  uint64_t* words = selected_[lanes.count][0];
  for (int32_t i = 0; i < count; ++i) words[i] = word_at_[selected[i]];
  return {words, count};
}

}  // namespace crossdock::operators
