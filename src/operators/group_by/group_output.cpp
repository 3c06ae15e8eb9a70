// Batches of groups, and their key columns.
#include "operators/group_by/group_output.hpp"

#include <algorithm>
#include <cstring>

namespace crossdock::operators {
namespace {

// Keys that are not packed lie with the first row of each group.
Status gather_keys(const GroupOutput& output,
                   const GroupList& list,
                   BatchMemory& memory,
                   Batch& batch) {
  CD_ASSIGN(uint8_t * bytes, memory.get(list.count * static_cast<int64_t>(sizeof(RowRef))));
  auto* refs = reinterpret_cast<RowRef*>(bytes);
  uint64_t words[kGroupRows];
  for (int64_t at = 0; at < list.count; at += kGroupRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kGroupRows, list.count - at));
    list.table->index().keys(list.groups + at, rows, {words, {nullptr, nullptr}, refs + at});
  }
  for (const GroupKeyPart& part : output.keys->parts) {
    CD_ASSIGN(OwnedColumn column, gather_groups(output, part.column, refs, list.count));
    memory.keep(std::move(column.owner));
    batch.columns.push_back(column.view);
  }
  return {};
}

// Numbers of one part for all rows of the batch, block by block.
struct PartRows {
  const GroupKeyPart* part;
  const DataType* type;
  ColumnView column;
  uint8_t* valid = nullptr;
  uint64_t* low = nullptr;  // strings: kept until all are known
  uint64_t* high = nullptr;
};

// Of the batch, and of what is needed only while it is made.
struct PartMemory {
  BatchMemory* batch;
  BatchMemory* scratch;
};

Result<PartRows> open_part(const GroupKeyPart& part,
                           const DataType& type,
                           int64_t rows,
                           PartMemory memory) {
  PartRows out{&part, &type, {}, nullptr, nullptr, nullptr};
  if (part.nullable) {
    CD_ASSIGN(out.valid, memory.scratch->get(rows));
  }
  if (part.form != GroupKeyForm::kText) {
    CD_ASSIGN(out.column, make_fixed(type, rows, *memory.batch));
    return out;
  }
  CD_ASSIGN(uint8_t * low, memory.scratch->get(rows * 8));
  out.low = reinterpret_cast<uint64_t*>(low);
  if (part.is_wide()) {
    CD_ASSIGN(uint8_t * high, memory.scratch->get(rows * 8));
    out.high = reinterpret_cast<uint64_t*>(high);
  }
  return out;
}

void store_numbers(PartRows& rows, uint64_t* low, const uint64_t* high, int32_t count, int64_t at) {
  const GroupKeyPart& part = *rows.part;
  if (part.form == GroupKeyForm::kText) {
    std::memcpy(rows.low + at, low, static_cast<size_t>(count) * 8);
    if (rows.high != nullptr) std::memcpy(rows.high + at, high, static_cast<size_t>(count) * 8);
    return;
  }
  if (part.form == GroupKeyForm::kWide) {
    auto* to = const_cast<uint8_t*>(rows.column.values) + at * 16;
    for (int32_t i = 0; i < count; ++i) {
      const UInt128 number = static_cast<UInt128>(part.is_wide() ? high[i] : 0) << 64 | low[i];
      const UInt128 value = number + static_cast<UInt128>(part.base);
      std::memcpy(to + int64_t{i} * 16, &value, 16);
    }
    return;
  }
  if (part.form == GroupKeyForm::kDictionary) {
    for (int32_t i = 0; i < count; ++i) {
      low[i] = low[i] < part.indices.size() ? part.indices[low[i]] : 0;
    }
  } else if (part.form == GroupKeyForm::kNumber) {
    const auto base = static_cast<uint64_t>(part.base);
    for (int32_t i = 0; i < count; ++i) low[i] += base;
  }
  store_words(*rows.type, low, count, rows.column, at);
}

Status close_part(PartRows& rows, int64_t count, BatchMemory& memory) {
  const GroupKeyPart& part = *rows.part;
  if (part.form == GroupKeyForm::kText) {
    CD_ASSIGN(rows.column,
              make_strings(*rows.type, {count, part.text_bytes, rows.low, rows.high}, memory));
  }
  return rows.valid == nullptr ? Status() : set_validity(rows.valid, count, memory, rows.column);
}

}  // namespace

Result<OwnedColumn> gather_groups(const GroupOutput& output,
                                  int column,
                                  const RowRef* refs,
                                  int64_t count) {
  auto gathered = gather(output.store->column(column),
                         {refs, static_cast<size_t>(count)},
                         output.store,
                         *output.memory);
  if (gathered.ok()) return gathered;
  return Error{gathered.error().code, "group_by: " + gathered.error().message};
}

Status write_keys(const GroupOutput& output,
                  const GroupList& list,
                  BatchMemory& memory,
                  Batch& batch) {
  const GroupKeyPlan& plan = *output.keys;
  if (!plan.is_packed()) return gather_keys(output, list, memory, batch);
  BatchMemory scratch(output.memory);
  std::vector<PartRows> parts;
  for (size_t p = 0; p < plan.parts.size(); ++p) {
    CD_ASSIGN(
        PartRows rows,
        open_part(plan.parts[p], output.schema->fields[p].type, list.count, {&memory, &scratch}));
    parts.push_back(rows);
  }
  uint64_t words[kGroupRows];
  uint64_t tails[kGroupRows];
  uint64_t low[kGroupRows];
  uint64_t high[kGroupRows];
  for (int64_t at = 0; at < list.count; at += kGroupRows) {
    const auto rows = static_cast<int32_t>(std::min<int64_t>(kGroupRows, list.count - at));
    list.table->index().keys(list.groups + at, rows, {words, {tails, nullptr}, nullptr});
    words_to_packed(plan, words, tails, rows);
    const PackedKeys packed{words, plan.has_tail() ? tails : nullptr};
    for (PartRows& part : parts) {
      unpack_part(
          *part.part, packed, rows, {low, high, part.valid == nullptr ? nullptr : part.valid + at});
      store_numbers(part, low, high, rows, at);
    }
  }
  for (size_t p = 0; p < parts.size(); ++p) {
    CD_TRY(close_part(parts[p], list.count, memory));
    if (plan.parts[p].form == GroupKeyForm::kDictionary) {
      parts[p].column.dictionary = output.store->column(plan.parts[p].column).dictionary;
    }
    batch.columns.push_back(parts[p].column);
  }
  return {};
}

Status GroupWriter::emit_batch(const GroupList& list) {
  auto memory = std::make_shared<BatchMemory>(output_->memory);
  Batch batch;
  batch.schema = output_->schema;
  batch.rows = list.count;
  CD_TRY(write_keys(*output_, list, *memory, batch));
  for (const PlannedAggregate& aggregate : output_->aggregates->aggregates) {
    CD_ASSIGN(ColumnView column, write_aggregate(*output_, aggregate, list, *memory));
    batch.columns.push_back(column);
  }
  memory->keep(output_->store);
  batch.owner = std::move(memory);
  return sink_->accept(worker_, std::move(batch));
}

Status GroupWriter::emit(const GroupList& list) {
  rows_ += list.count;
  if (sink_->counts_only()) return {};
  for (int64_t at = 0; at < list.count; at += output_->batch_rows) {
    const int64_t count = std::min(output_->batch_rows, list.count - at);
    CD_TRY(emit_batch({list.table, list.groups + at, count}));
  }
  return {};
}

Status GroupWriter::emit_all(const GroupTable& table) {
  const int64_t bytes = table.index().bound() * static_cast<int64_t>(sizeof(uint32_t));
  if (listed_.bytes() < bytes) {
    listed_.reset();
    CD_ASSIGN(listed_, output_->memory->get(bytes, "group_by: list of groups"));
  }
  auto* groups = listed_.as<uint32_t>();
  return emit({&table, groups, table.index().list(groups)});
}

}  // namespace crossdock::operators
