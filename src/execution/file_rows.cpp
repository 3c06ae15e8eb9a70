#include "execution/file_rows.hpp"

#include <algorithm>
#include <numeric>

#include "execution/batch_writer.hpp"
#include "execution/file_units.hpp"
#include "scan/column_cursor.hpp"

namespace crossdock::execution {
namespace {

constexpr uint64_t kReadRows = 1 << 14;

class FileRows final : public RowsByNumber {
 public:
  FileRows(FileSourceOptions options, std::vector<std::shared_ptr<const scan::StringCodes>> codes)
      : options_(std::move(options)), table_(*options_.table), codes_(std::move(codes)) {
    uint64_t first = 0;
    const auto& files = table_.files().files();
    for (size_t f = 0; f < files.size(); ++f) {
      const auto& row_groups = files[f]->metadata().row_groups;
      for (size_t g = 0; g < row_groups.size(); ++g) {
        const uint64_t end = first + static_cast<uint64_t>(row_groups[g].rows);
        groups_.push_back({static_cast<int>(f), static_cast<int>(g), first, end});
        first = end;
      }
    }
  }

  Result<Batch> read(const std::vector<uint64_t>& numbers,
                     const std::vector<int>& columns) const override {
    struct Owner {
      std::vector<Batch> batches;
      std::shared_ptr<const scan::ParquetTable> table;
      std::vector<std::shared_ptr<const scan::StringCodes>> codes;
    };
    const auto ahead = ask_ahead(numbers, columns);
    auto owner = std::make_shared<Owner>();
    owner->table = options_.table;
    owner->codes = codes_;
    Batch all{table_.schema(), static_cast<int64_t>(numbers.size()), {}, nullptr};
    all.columns.resize(table_.columns().size());
    for (const int column : columns) {
      CD_ASSIGN(Batch one, read_column(numbers, column));
      all.columns[static_cast<size_t>(column)] = one.columns[0];
      owner->batches.push_back(std::move(one));
    }
    all.owner = std::move(owner);
    return all;
  }

 private:
  struct Group {
    int file = 0;
    int number = 0;
    uint64_t first = 0;
    uint64_t end = 0;
  };

  std::unique_ptr<scan::ReadAhead> ask_ahead(const std::vector<uint64_t>& numbers,
                                             const std::vector<int>& columns) const {
    std::vector<bool> read(table_.columns().size(), false);
    for (const int column : columns) read[static_cast<size_t>(column)] = true;
    std::vector<Unit> units;
    size_t at = 0;
    for (const Group& group : groups_) {
      const size_t first = at;
      while (at < numbers.size() && numbers[at] < group.end) ++at;
      if (at == first) continue;
      Unit& unit = units.emplace_back();
      unit.file = group.file;
      unit.group = group.number;
      unit.rows = static_cast<int64_t>(numbers[at - 1] + 1 - group.first);
    }
    return read_ahead_of_groups(table_, units, read, options_.memory);
  }

  Result<Batch> read_column(const std::vector<uint64_t>& numbers, int column) const {
    const auto place = static_cast<size_t>(column);
    auto schema = std::make_shared<Schema>();
    schema->fields.push_back(table_.schema()->fields[place]);
    BatchWriter writer(schema, options_.memory, "rows of a file");
    scan::ColumnCursor cursor(table_.columns()[place].form, codes_[place], options_.memory);
    Batch step{schema, 0, std::vector<ColumnView>(1), nullptr};
    std::vector<uint32_t> rows;
    size_t at = 0;
    for (const Group& group : groups_) {
      if (at == numbers.size()) break;
      if (numbers[at] >= group.end) continue;
      const scan::ByteSource& file =
          table_.files().files()[static_cast<size_t>(group.file)]->file();
      const scan::ColumnForm& form = table_.columns()[place].form_in(group.file);
      cursor.open(file, form, table_.chunk(column, group.file, group.number), 1);
      while (at < numbers.size() && numbers[at] < group.end) {
        const uint64_t begin = numbers[at];
        rows.clear();
        for (; at < numbers.size() && numbers[at] < std::min(group.end, begin + kReadRows); ++at) {
          rows.push_back(static_cast<uint32_t>(numbers[at] - begin));
        }
        cursor.step(static_cast<int64_t>(begin - group.first),
                    static_cast<int32_t>(rows.back()) + 1);
        step.rows = static_cast<int64_t>(rows.size());
        CD_ASSIGN(step.columns[0], cursor.decode(rows.data(), static_cast<int32_t>(step.rows)));
        CD_TRY(writer.append(step, {0}));
      }
    }
    return writer.finish();
  }

  FileSourceOptions options_;
  const scan::ParquetTable& table_;
  std::vector<std::shared_ptr<const scan::StringCodes>> codes_;
  std::vector<Group> groups_;  // of all files, in order
};

// Reads rows by the numbers of each block.
class ReadByNumber final : public Stage {
 public:
  ReadByNumber(std::shared_ptr<const RowsByNumber> rows,
               int numbers,
               std::vector<int> columns,
               int workers)
      : rows_(std::move(rows)),
        numbers_(numbers),
        columns_(std::move(columns)),
        workers_(static_cast<size_t>(workers)) {}

  std::string describe() const override {
    return fmt::format("read {} columns of these rows", columns_.size());
  }

  Status push(int index, const RowBlock& block) override {
    Worker& worker = workers_[static_cast<size_t>(index)];
    const Origin& sorted = block.origins[0];
    const auto* numbers = sorted.batch->columns[static_cast<size_t>(numbers_)].data<uint64_t>();
    const auto count = static_cast<size_t>(block.rows);
    const auto number_of = [&](uint32_t row) {
      return numbers[sorted.rows != nullptr ? sorted.rows[row] : sorted.begin + row];
    };
    std::vector<uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return number_of(a) < number_of(b);
    });
    std::vector<uint64_t> ascending(count);
    worker.rows.resize(count);
    for (size_t i = 0; i < count; ++i) {
      ascending[i] = number_of(order[i]);
      worker.rows[order[i]] = static_cast<uint32_t>(i);
    }
    CD_ASSIGN(worker.batch, rows_->read(ascending, columns_));
    RowBlock out = block;
    Origin origin;
    origin.batch = &worker.batch;
    origin.rows = worker.rows.data();
    out.origins.push_back(origin);
    CD_TRY(next().push(index, out));
    // The batch goes with the next block.
    return next().flush(index);
  }
  Status flush(int index) override { return next().flush(index); }

 private:
  struct Worker {
    Batch batch;
    std::vector<uint32_t> rows;
  };
  std::shared_ptr<const RowsByNumber> rows_;
  int numbers_;
  std::vector<int> columns_;
  std::vector<Worker> workers_;
};

}  // namespace

std::shared_ptr<const RowsByNumber> rows_of_files(
    FileSourceOptions options, std::vector<std::shared_ptr<const scan::StringCodes>> codes) {
  return std::make_shared<FileRows>(std::move(options), std::move(codes));
}

void read_by_number(Chain& chain,
                    std::shared_ptr<const RowsByNumber> rows,
                    int numbers,
                    std::vector<int> columns,
                    int workers) {
  chain.schema.stores.push_back(nullptr);
  chain.schema.nullable.push_back(false);
  chain.stores.push_back(nullptr);
  chain.stages.push_back(
      std::make_unique<ReadByNumber>(std::move(rows), numbers, std::move(columns), workers));
}

}  // namespace crossdock::execution
