// The stages in front of an operator and behind it.
#include "execution/row_numbers.hpp"

#include <algorithm>
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
  static void write_refs(const Origin& origin, int32_t rows, RowRef* refs) {
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

}  // namespace

void number_rows(Chain& chain, const std::vector<NumberedOrigin>& items, int workers) {
  BlockSchema& blocks = chain.schema;
  auto schema = std::make_shared<Schema>(*blocks.schema);
  DataType type;
  type.id = TypeId::kUInt32;
  type.arrow_format = "I";
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string name = fmt::format("\x01rows {}", i);  // no column is called so
    schema->fields.push_back({.name = name, .type = type, .nullable = false, .metadata = ""});
    blocks.places.push_back({-1, static_cast<int>(blocks.computed.size())});
    blocks.computed.push_back(type);
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

}  // namespace crossdock::execution
