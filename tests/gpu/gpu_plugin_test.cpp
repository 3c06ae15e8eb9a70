// The plugin cuda, loaded as users load it: tables on a GPU give what tables on CPU threads give.
#include <array>

#include <gtest/gtest.h>

#include "session/device/device_export.hpp"
#include "session/device/device_import.hpp"
#include "session/device/table_operations.hpp"

namespace crossdock::session {
namespace {

constexpr int64_t kRows = 100'000;

// A key, a value that is sometimes NULL, and a text, in Arrow's layout in the host's memory.
struct HostColumns {
  std::vector<int64_t> keys, values;
  std::vector<uint8_t> validity;
  std::vector<int32_t> offsets = {0};
  std::vector<char> bytes;
  std::array<std::array<const void*, 3>, 3> buffers{};
  std::array<ArrowArray, 3> arrays{};
  std::array<ArrowArray*, 3> children{};
  std::array<ArrowSchema, 3> schemas{};
  std::array<ArrowSchema*, 3> schema_children{};
  std::array<const void*, 1> no_buffers = {nullptr};

  HostColumns() : validity(kRows / 8 + 1) {
    int64_t nulls = 0;
    for (int64_t row = 0; row < kRows; ++row) {
      keys.push_back(row * 7919 % 1003 - 500);
      values.push_back(row * 31 % 10'007 - 5000);
      const bool is_valid = row % 11 != 0;
      nulls += is_valid ? 0 : 1;
      if (is_valid) validity[static_cast<size_t>(row / 8)] |= static_cast<uint8_t>(1 << row % 8);
      for (int64_t at = 0; at < row % 5; ++at) bytes.push_back(static_cast<char>('a' + row % 7));
      offsets.push_back(static_cast<int32_t>(bytes.size()));
    }
    buffers[0] = {nullptr, keys.data()};
    buffers[1] = {validity.data(), values.data()};
    buffers[2] = {nullptr, offsets.data(), bytes.data()};
    const char* const formats[] = {"l", "l", "u"};
    const char* const names[] = {"key", "value", "text"};
    for (size_t at = 0; at < 3; ++at) {
      arrays[at].length = kRows;
      arrays[at].null_count = at == 1 ? nulls : 0;
      arrays[at].n_buffers = at == 2 ? 3 : 2;
      arrays[at].buffers = buffers[at].data();
      arrays[at].release = [](ArrowArray* done) { done->release = nullptr; };
      children[at] = &arrays[at];
      schemas[at].format = formats[at];
      schemas[at].name = names[at];
      schemas[at].flags = 2;  // nullable
      schema_children[at] = &schemas[at];
    }
  }

  Result<DeviceTable> on(const DevicePtr& device) {
    ArrowSchema schema{};
    schema.format = "+s";
    schema.name = "";
    schema.n_children = 3;
    schema.children = schema_children.data();
    ArrowDeviceArray array{};
    array.array.length = kRows;
    array.array.n_buffers = 1;
    array.array.buffers = no_buffers.data();
    array.array.n_children = 3;
    array.array.children = children.data();
    array.array.release = [](ArrowArray* done) { done->release = nullptr; };
    array.device_type = static_cast<ArrowDeviceType>(MemoryPlace::kHost);
    array.device_id = -1;
    return import_device_array(device, schema, &array);
  }
};

// Cells of all columns of a table, as the host sees them: bytes of values, "-" for NULL.
std::vector<std::string> cells_of(const DeviceTable& table) {
  ArrowArray host{};
  const Status exported = export_host_array(table, &host);
  EXPECT_TRUE(exported.ok()) << exported.error().message;
  if (!exported.ok()) return {};
  std::vector<std::string> cells;
  for (size_t column = 0; column < table.columns.size(); ++column) {
    const ArrowArray& array = *host.children[column];
    const bool is_text = operators::is_text(table.columns[column].stored);
    const uint64_t width = is_text ? 0 : width_of(table.columns[column].stored);
    const auto* const valid = static_cast<const uint8_t*>(array.buffers[0]);
    for (int64_t row = array.offset; row < array.offset + array.length; ++row) {
      const bool is_valid =
          array.null_count == 0 || valid == nullptr || (valid[row / 8] >> row % 8 & 1) != 0;
      if (!is_valid) {
        cells.emplace_back("-");
      } else if (is_text) {
        const auto* const ends = static_cast<const int32_t*>(array.buffers[1]);
        const auto* const text = static_cast<const char*>(array.buffers[2]);
        cells.emplace_back(text + ends[row], text + ends[row + 1]);
      } else {
        const auto* const data = static_cast<const char*>(array.buffers[1]);
        cells.emplace_back(data + static_cast<uint64_t>(row) * width, width);
      }
    }
  }
  host.release(&host);
  return cells;
}

template <class Operate>
void expect_like_threads(const Operate& operate) {
  HostColumns columns;
  std::vector<std::vector<std::string>> cells;
  for (const char* name : {"threads", "gpu:0"}) {
    const Result<DevicePtr> device = open_device(name, uint64_t{1} << 30);
    ASSERT_TRUE(device.ok()) << device.error().message;
    const Result<DeviceTable> table = columns.on(device.value());
    ASSERT_TRUE(table.ok()) << table.error().message;
    const Result<DeviceTable> answer = operate(table.value());
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    cells.push_back(cells_of(answer.value()));
  }
  EXPECT_FALSE(cells[0].empty());
  EXPECT_EQ(cells[0], cells[1]);
}

Result<DeviceTable> ordered(Result<DeviceTable> table) {
  if (!table.ok()) return table;
  std::vector<TableOrder> orders;
  for (const TableColumn& column : table.value().columns) orders.push_back({.column = column.name});
  return sort_table(table.value(), orders, UINT64_MAX, 0);
}

TEST(GpuPlugin, sorts) {
  expect_like_threads([](const DeviceTable& table) {
    return sort_table(
        table,
        {{.column = "text", .is_descending = true}, {.column = "value", .has_nulls_first = true}},
        5000,
        10);
  });
}

TEST(GpuPlugin, filters) {
  expect_like_threads([](const DeviceTable& table) {
    return filter_table(
        table,
        {{.column = "value", .comparison = TableComparison::kGreaterEqual, .whole = 100},
         {.column = "key", .comparison = TableComparison::kLess, .whole = 77}});
  });
}

TEST(GpuPlugin, groups) {
  expect_like_threads([](const DeviceTable& table) {
    return ordered(group_table(
        table,
        {"text", "key"},
        {{.name = "rows", .function = TableFunction::kCount, .column = ""},
         {.name = "sum", .function = TableFunction::kSum, .column = "value"},
         {.name = "mean", .function = TableFunction::kMean, .column = "value"},
         {.name = "least", .function = TableFunction::kMin, .column = "text"},
         {.name = "most",
          .function = TableFunction::kMax,
          .column = "value",
          .conditions = {{.column = "key", .comparison = TableComparison::kLess, .whole = 3}}}}));
  });
}

TEST(GpuPlugin, joins) {
  expect_like_threads([](const DeviceTable& table) -> Result<DeviceTable> {
    CD_ASSIGN(
        const DeviceTable left,
        filter_table(table,
                     {{.column = "value", .comparison = TableComparison::kLess, .whole = -4900}}));
    CD_ASSIGN(
        const DeviceTable right,
        filter_table(left, {{.column = "key", .comparison = TableComparison::kLess, .whole = 0}}));
    return ordered(join_tables(
        left,
        right,
        {.keys = {{"key", "key"}, {"text", "text"}}, .kind = operators::DeviceJoinKind::kLeft}));
  });
}

}  // namespace
}  // namespace crossdock::session
