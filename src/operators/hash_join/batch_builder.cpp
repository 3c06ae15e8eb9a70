// Lanes written row by row, columns gathered by reference, and sides passed through.
#include "operators/hash_join/batch_builder.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/integer_types.hpp"
#include "table/bitmap.hpp"

namespace crossdock::operators {
namespace {

constexpr int64_t kLine = 64;
int64_t round_line(int64_t bytes) { return (bytes + kLine - 1) & -kLine; }

void narrow_to(int bits, const uint64_t* from, int shift, int32_t rows, uint8_t* to) {
  if (bits == 1) {
    for (int32_t i = 0; i < rows; ++i) to[i] = (from[i] >> shift) & 1;
    return;
  }
  with_unsigned(bits / 8, [=](auto zero) {
    auto* out = reinterpret_cast<decltype(zero)*>(to);
    for (int32_t i = 0; i < rows; ++i) out[i] = static_cast<decltype(zero)>(from[i] >> shift);
  });
}

int lane_bits(const DataType& type) {
  return layout(type) == Layout::kBits ? 1 : fixed_bytes(type) * 8;
}

Side side_of(const OutputField& field) {
  return field.side == OutputSide::kRight ? Side::kRight : Side::kLeft;
}

}  // namespace

Result<OwnedColumn> gather_rows(const OutputContext& context,
                                Side side,
                                int column,
                                std::span<const RowRef> refs) {
  const auto& store = context.stores[index_of(side)];
  auto gathered = gather(store->column(column), refs, store, *context.memory);
  if (gathered.ok()) return gathered;
  return Error{gathered.error().code, "hash_join: " + gathered.error().message};
}

// Everything a finished batch points into. Sides passed through or shared are kept by their store.
struct BatchBuilder::BatchMemory {
  Block block;
  std::vector<std::shared_ptr<const void>> keep;
};

bool BatchBuilder::is_present(Side side) const {
  return presence_ == Presence::kBoth || presence_ == Presence::kMixed ||
         presence_ == (side == Side::kLeft ? Presence::kLeftOnly : Presence::kRightOnly);
}

bool BatchBuilder::is_missing(const OutputField& field) const {
  return field.side != OutputSide::kKey && !is_present(side_of(field));
}

// Whether some rows of the batch may lack the field's side.
bool BatchBuilder::may_miss(const OutputField& field) const {
  return presence_ == Presence::kMixed && field.side != OutputSide::kKey &&
         context_->may_miss[static_cast<int>(side_of(field))];
}

bool BatchBuilder::is_written(const OutputField& field) const {
  return !is_missing(field) && field.source != OutputField::Source::kGathered;
}

// Gives every written field its place from `base` on (or only counts, if nullptr); answers the bytes.
int64_t BatchBuilder::lay_out(uint8_t* base) {
  int64_t used = 0;
  const int64_t capacity = context_->batch_rows;
  const auto place = [&](int64_t bytes) {
    uint8_t* at = base == nullptr ? nullptr : base + used;
    used += round_line(bytes);
    return at;
  };
  lanes_.assign(context_->plan->fields.size(), Lane{});
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const OutputField& field = context_->plan->fields[i];
    if (!is_written(field)) continue;
    const int bits = lane_bits(field.field.type);
    lanes_[i].values = place(capacity * std::max(1, bits / 8));
    if (bits == 1) lanes_[i].value_bits = place(capacity / 8 + 1);
    const bool packs_null =
        field.source == OutputField::Source::kPacked && field.packed.null_shift >= 0;
    if (packs_null || may_miss(field)) {
      lanes_[i].valid = place(capacity);
      lanes_[i].valid_bits = place(capacity / 8 + 1);
    }
  }
  return used;
}

Status BatchBuilder::open() {
  batch_ = std::make_shared<BatchMemory>();
  const int64_t bytes = lay_out(nullptr);
  if (bytes > 0) {
    CD_ASSIGN(batch_->block, context_->memory->get(bytes, "hash_join: output batch"));
    lay_out(batch_->block.data());
  }
  for (const Side side : {Side::kLeft, Side::kRight}) {
    const bool needed = is_present(side) && context_->plan->carry_of(side).has_ref;
    Block& refs = refs_[index_of(side)];
    if (!needed || refs.bytes() > 0) continue;
    CD_ASSIGN(refs,
              context_->memory->get(context_->batch_rows * int64_t{sizeof(RowRef)},
                                    "hash_join: references of an output batch"));
  }
  return {};
}

Status BatchBuilder::append(const JoinedRows& block) {
  CD_CHECK(
      has_room(block.rows), "rows {} more {} capacity {}", rows_, block.rows, context_->batch_rows);
  if (batch_ == nullptr) CD_TRY(open());
  for (const Side side : {Side::kLeft, Side::kRight}) {
    if (is_present(side) && context_->plan->carry_of(side).has_ref) append_refs(block, side);
  }
  if (context_->plan->needs_keys) append_keys(block);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const OutputField& field = context_->plan->fields[i];
    if (lanes_[i].values != nullptr && field.source == OutputField::Source::kPacked) {
      append_packed(block, field, lanes_[i]);
    }
  }
  rows_ += block.rows;
  return {};
}

void BatchBuilder::append_refs(const JoinedRows& block, Side side) {
  auto* refs = refs_[index_of(side)].as<RowRef>() + rows_;
  const uint64_t* carry = block.carry[index_of(side)];
  const uint8_t* present = block.present[index_of(side)];
  if (present == nullptr) {
    for (int32_t i = 0; i < block.rows; ++i) refs[i] = static_cast<RowRef>(carry[i]);
  } else {
    for (int32_t i = 0; i < block.rows; ++i) {
      refs[i] = static_cast<RowRef>(carry[i]) | (present[i] - RowRef{1});  // absent: kNullRef
    }
  }
}

// Writes which rows have the side, or (unless `only`) clears the marks of those that do not.
void BatchBuilder::append_presence(const JoinedRows& block,
                                   Side side,
                                   bool only,
                                   const Lane& lane) {
  uint8_t* valid = lane.valid + rows_;
  const uint8_t* present = block.present[index_of(side)];
  if (only) std::memset(valid, 1, block.rows);
  if (present == nullptr) return;
  for (int32_t i = 0; i < block.rows; ++i) valid[i] &= present[i];
}

void BatchBuilder::append_packed(const JoinedRows& block,
                                 const OutputField& field,
                                 const Lane& lane) {
  const uint64_t* carry = block.carry[static_cast<int>(side_of(field))];
  const int64_t width = std::max(1, field.packed.bits / 8);
  narrow_to(field.packed.bits, carry, field.packed.shift, block.rows, lane.values + rows_ * width);
  if (lane.valid == nullptr) return;
  const bool packs_null = field.packed.null_shift >= 0;
  if (packs_null) narrow_to(1, carry, field.packed.null_shift, block.rows, lane.valid + rows_);
  if (may_miss(field)) append_presence(block, side_of(field), !packs_null, lane);
}

void BatchBuilder::append_keys(const JoinedRows& block) {
  uint64_t keys[kBlockRows];
  const bool is_ordered = context_->keys->mode == KeyMode::kOrdered;
  if (!is_ordered) {
    std::memcpy(keys, block.words, block.rows * sizeof(uint64_t));
    context_->keys->words_to_keys(keys, block.rows);
  }
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const OutputField& field = context_->plan->fields[i];
    if (lanes_[i].values == nullptr || field.source != OutputField::Source::kKeyWord) continue;
    const int bits = lane_bits(field.field.type);
    const int shift = is_ordered ? 0 : field.key_shift;
    if (is_ordered) context_->keys->order->decode(field.key_part, block.words, block.rows, keys);
    narrow_to(bits, keys, shift, block.rows, lanes_[i].values + rows_ * (bits / 8));
    if (lanes_[i].valid != nullptr) append_presence(block, side_of(field), true, lanes_[i]);
  }
}

Result<Batch> BatchBuilder::finish() {
  if (batch_ == nullptr) CD_TRY(open());
  Batch out;
  out.schema = context_->plan->schema;
  out.rows = rows_;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    CD_ASSIGN(ColumnView column, finish_field(i));
    out.columns.push_back(column);
  }
  for (const auto& store : context_->stores) batch_->keep.push_back(store);
  out.owner = std::move(batch_);
  batch_ = nullptr;
  rows_ = 0;
  return out;
}

Result<ColumnView> BatchBuilder::finish_field(size_t index) {
  const OutputField& field = context_->plan->fields[index];
  if (lanes_[index].values != nullptr) return finish_lane(field, lanes_[index]);
  if (is_missing(field)) return null_column(field);
  if (presence_ == Presence::kMixed && field.side == OutputSide::kKey) {
    return finish_mixed_keys(index);
  }
  return finish_gathered(field);
}

ColumnView BatchBuilder::finish_lane(const OutputField& field, const Lane& lane) {
  ColumnView column;
  column.length = rows_;
  column.values = lane.values;
  if (layout(field.field.type) == Layout::kBits) {
    pack_bits(lane.values, rows_, lane.value_bits);
    column.values = lane.value_bits;
  }
  if (lane.valid != nullptr) {
    column.null_count = rows_ - pack_bits(lane.valid, rows_, lane.valid_bits);
    if (column.null_count > 0) column.validity = lane.valid_bits;
  }
  return column;
}

// The batch whose rows [*begin, *begin + rows) are exactly the references of `side`, or nullptr.
const Batch* BatchBuilder::passed_through(Side side, int64_t* begin) const {
  const auto* refs = refs_[index_of(side)].as<RowRef>();
  if (rows_ == 0 || refs[rows_ - 1] - refs[0] != rows_ - 1) return nullptr;
  if (refs[rows_ - 1] == kNullRef) return nullptr;
  RowRef broken = 0;
  for (int64_t i = 0; i < rows_; ++i) broken |= refs[i] ^ (refs[0] + static_cast<RowRef>(i));
  if (broken != 0) return nullptr;
  const RowStore& store = *context_->stores[index_of(side)];
  const Batch* batch = store.batch_of(refs[0], begin);
  return *begin + rows_ <= batch->rows ? batch : nullptr;
}

Result<ColumnView> BatchBuilder::finish_gathered(const OutputField& field) {
  const Side side = field.side == OutputSide::kKey ? key_side() : side_of(field);
  const int index =
      field.side == OutputSide::kKey && side == Side::kRight ? field.right_column : field.column;
  int64_t begin = 0;
  if (const Batch* batch = passed_through(side, &begin); batch != nullptr) {
    return slice(batch->columns[index], begin, rows_);
  }
  const std::span<const RowRef> refs(refs_[index_of(side)].as<RowRef>(),
                                     static_cast<size_t>(rows_));
  CD_ASSIGN(OwnedColumn column, gather_rows(*context_, side, index, refs));
  batch_->keep.push_back(std::move(column.owner));
  return column.view;
}

// The left key where the row has one, else its partner's.
Result<ColumnView> BatchBuilder::finish_mixed_keys(size_t field) {
  const BothKeys& keys = *context_->both_keys;
  const auto* lefts = refs_[0].as<RowRef>();
  const auto* rights = refs_[1].as<RowRef>();
  std::vector<RowRef> refs(static_cast<size_t>(rows_));
  for (int64_t i = 0; i < rows_; ++i) {
    refs[i] = lefts[i] != kNullRef ? lefts[i] : rights[i] + keys.first_right;
  }
  const ChunkedColumn& column = keys.store->column(keys.columns[field]);
  CD_ASSIGN(OwnedColumn gathered, gather(column, refs, keys.store, *context_->memory));
  batch_->keep.push_back(std::move(gathered.owner));
  batch_->keep.push_back(keys.store);
  return gathered.view;
}

Result<ColumnView> BatchBuilder::null_column(const OutputField& field) {
  const std::vector<RowRef> refs(static_cast<size_t>(rows_), kNullRef);
  CD_ASSIGN(OwnedColumn column, gather_rows(*context_, side_of(field), field.column, refs));
  batch_->keep.push_back(std::move(column.owner));
  return column.view;
}

}  // namespace crossdock::operators
