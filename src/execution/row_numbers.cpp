#include "execution/row_numbers.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace crossdock::execution {
namespace {

// Appends a column of references or codes per item.
class NumberRows final : public Stage {
 public:
  NumberRows(std::vector<NumberedOrigin> items, int workers) : items_(std::move(items)) {
    values_.resize(workers);
  }
  std::string describe() const override {
    return fmt::format("number rows of {} build sides", items_.size());
  }
  // Rows that have numbers are those of stores, which no source gives batch by batch.
  void mark_read(std::vector<bool>& /*columns*/) const override {}
  Status push(int worker, const RowBlock& block) override {
    std::vector<uint32_t>& values = values_[worker];
    values.resize(items_.size() * kBlockRows);
    RowBlock out = block;
    for (size_t i = 0; i < items_.size(); ++i) {
      uint32_t* numbers = values.data() + i * kBlockRows;
      write_refs(block.origins[items_[i].origin], block.rows, numbers);
      if (items_[i].codes != nullptr) {
        for (int32_t r = 0; r < block.rows; ++r) numbers[r] = items_[i].codes->code(numbers[r]);
      }
      ColumnView column;
      column.length = block.rows;
      column.values = reinterpret_cast<const uint8_t*>(numbers);
      out.computed.push_back(column);
    }
    return next().push(worker, out);
  }
  Status flush(int worker) override { return next().flush(worker); }

 private:
  std::vector<NumberedOrigin> items_;
  std::vector<std::vector<uint32_t>> values_;  // by worker
};

// Adds stores as origins: their rows are named by columns of the one origin that there is.
class LookUpRows final : public Stage {
 public:
  LookUpRows(std::vector<NumberedOrigin> items, Owners stores, int workers)
      : items_(std::move(items)), stores_(std::move(stores)), refs_(workers) {}
  std::string describe() const override { return "look up rows"; }
  Status push(int worker, const RowBlock& block) override {
    std::vector<RowRef>& refs = refs_[worker];
    refs.resize(items_.size() * kBlockRows);
    RowBlock out = block;
    for (size_t i = 0; i < items_.size(); ++i) {
      const NumberedOrigin& item = items_[i];
      RowRef* to = refs.data() + i * kBlockRows;
      const Origin& groups = block.origins[0];
      const auto* numbers = groups.batch->columns[item.position].data<uint32_t>();
      for (int32_t r = 0; r < block.rows; ++r) {
        const uint32_t number = numbers[groups.rows != nullptr ? groups.rows[r] : groups.begin + r];
        to[r] = item.codes != nullptr ? item.codes->row_of(number) : number;
      }
      Origin origin;
      origin.store = stores_[item.origin].get();
      origin.rows = to;
      out.origins.push_back(origin);
    }
    return next().push(worker, out);
  }
  Status flush(int worker) override { return next().flush(worker); }

 private:
  std::vector<NumberedOrigin> items_;
  Owners stores_;
  std::vector<std::vector<RowRef>> refs_;  // by worker
};

// Adds stores as origins: their rows are named by columns of a build side.
class FollowRows final : public Stage {
 public:
  FollowRows(int origin, std::vector<ReferringColumn> columns, int workers)
      : origin_(origin), columns_(std::move(columns)), refs_(workers) {}
  std::string describe() const override {
    return fmt::format("rows of {} build sides behind it", columns_.size());
  }
  void mark_read(std::vector<bool>& /*columns*/) const override {}
  Status push(int worker, const RowBlock& block) override {
    std::vector<RowRef>& refs = refs_[worker];
    refs.resize(columns_.size() * kBlockRows);
    RowBlock out = block;
    for (size_t i = 0; i < columns_.size(); ++i) {
      RowRef* to = refs.data() + i * kBlockRows;
      follow(block.origins[origin_], columns_[i].column, block.rows, to);
      Origin origin;
      origin.store = columns_[i].store.get();
      origin.rows = to;
      out.origins.push_back(origin);
    }
    return next().push(worker, out);
  }
  Status flush(int worker) override { return next().flush(worker); }

 private:
  static void follow(const Origin& origin, int column, int32_t rows, RowRef* to) {
    if (origin.is_missing()) {
      std::fill_n(to, rows, kNullRef);
      return;
    }
    const ChunkedColumn& values = origin.store->column(column);
    for (int32_t r = 0; r < rows; ++r) {
      const RowRef ref = origin.rows[r];
      to[r] = kNullRef;
      if (ref == kNullRef) continue;
      const uintptr_t at = values.origins[ref >> kChunkRowBits] + uintptr_t{ref} * sizeof(RowRef);
      std::memcpy(to + r, reinterpret_cast<const void*>(at), sizeof(RowRef));
    }
  }

  int origin_;
  std::vector<ReferringColumn> columns_;
  std::vector<std::vector<RowRef>> refs_;  // by worker
};

}  // namespace

Field reference_field(size_t i) {
  DataType type;
  type.id = TypeId::kUInt32;
  type.arrow_format = "I";
  return {.name = fmt::format("\x01rows {}", i), .type = type, .nullable = false, .metadata = ""};
}

void write_refs(const Origin& origin, int32_t rows, RowRef* refs) {
  if (origin.is_missing()) {
    std::fill_n(refs, rows, kNullRef);
  } else if (origin.store != nullptr) {
    std::copy_n(origin.rows, rows, refs);
  } else if (origin.rows != nullptr) {
    for (int32_t r = 0; r < rows; ++r) refs[r] = origin.first_ref + origin.rows[r];
  } else {
    std::iota(refs, refs + rows, origin.first_ref + static_cast<RowRef>(origin.begin));
  }
}

void number_rows(Chain& chain, const std::vector<NumberedOrigin>& items, int workers) {
  BlockSchema& blocks = chain.schema;
  auto schema = std::make_shared<Schema>(*blocks.schema);
  for (size_t i = 0; i < items.size(); ++i) {
    schema->fields.push_back(reference_field(i));
    blocks.places.push_back({-1, static_cast<int>(blocks.computed.size())});
    blocks.computed.push_back(schema->fields.back().type);
  }
  blocks.schema = std::move(schema);
  chain.stages.push_back(std::make_unique<NumberRows>(items, workers));
}

void look_up_rows(Chain& chain,
                  const std::vector<NumberedOrigin>& items,
                  const Owners& stores,
                  int workers) {
  for (const NumberedOrigin& item : items) {
    chain.schema.stores.push_back(stores[item.origin].get());
    chain.schema.nullable.push_back(true);
    chain.stores.push_back(stores[item.origin]);
  }
  chain.stages.push_back(std::make_unique<LookUpRows>(items, stores, workers));
}

void follow_rows(Chain& chain, int origin, std::vector<ReferringColumn> columns, int workers) {
  for (const ReferringColumn& column : columns) {
    chain.schema.stores.push_back(column.store.get());
    chain.schema.nullable.push_back(column.nullable);
    chain.stores.push_back(column.store);
  }
  chain.stages.push_back(std::make_unique<FollowRows>(origin, std::move(columns), workers));
}

}  // namespace crossdock::execution
