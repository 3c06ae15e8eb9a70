// Who waits for whom, and what is released when: on a device that says it is CUDA's and counts.
#include "session/device/device_import.hpp"

#include <array>
#include <numeric>

#include <gtest/gtest.h>

#include "session/device/counting_driver.hpp"
#include "session/device/device_export.hpp"
#include "session/device/table_operations.hpp"

namespace crossdock::session {
namespace {

DevicePtr counted_device(DriverCounts& counts, uint64_t limit_bytes = 0) {
  return std::make_shared<Device>("gpu:3", std::make_unique<CountingDriver>(counts), limit_bytes);
}

// One int64 column as an Arrow array on a device; counts its releases.
struct ProducedColumn {
  std::vector<int64_t> values = std::vector<int64_t>(1000);
  std::array<const void*, 2> buffers = {nullptr, values.data()};
  int released = 0;
  ArrowSchema schema{};
  ArrowDeviceArray array{};

  explicit ProducedColumn(MemoryPlace place, void* event = nullptr) {
    std::iota(values.begin(), values.end(), -3);
    schema.format = "l";
    schema.name = "k";
    array.array.length = static_cast<int64_t>(values.size());
    array.array.n_buffers = 2;
    array.array.buffers = buffers.data();
    array.array.private_data = this;
    array.array.release = [](ArrowArray* done) {
      ++static_cast<ProducedColumn*>(done->private_data)->released;
      done->release = nullptr;
    };
    array.device_type = static_cast<ArrowDeviceType>(place);
    array.device_id = 3;
    array.sync_event = event;
  }
};

TEST(DeviceImport, a_producers_event_is_waited_for_and_its_memory_kept) {
  DriverCounts counts;
  const DevicePtr device = counted_device(counts);
  int event = 0;
  ProducedColumn produced(MemoryPlace::kCuda, &event);
  {
    auto table = import_device_array(device, produced.schema, &produced.array);
    ASSERT_TRUE(table.ok()) << table.error().message;
    EXPECT_EQ(counts.waited_for, std::vector<void*>{&event});
    EXPECT_EQ(produced.array.array.release, nullptr);
    EXPECT_EQ(device->pool().used_bytes(), 0U);
    const DeviceTable other = table.value();
    table.value().columns.clear();
    EXPECT_EQ(produced.released, 0);
    EXPECT_EQ(static_cast<const void*>(other.columns[0].values.data), produced.values.data());
  }
  EXPECT_EQ(produced.released, 1);
}

TEST(DeviceImport, the_hosts_memory_is_copied_and_let_go) {
  DriverCounts counts;
  const DevicePtr device = counted_device(counts);
  ProducedColumn produced(MemoryPlace::kHost);
  const auto table = import_device_array(device, produced.schema, &produced.array);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(produced.released, 1);
  EXPECT_TRUE(counts.waited_for.empty());
  EXPECT_EQ(device->pool().used_bytes(), 8192U);
}

TEST(DeviceImport, an_error_leaves_the_array_to_its_producer) {
  DriverCounts counts;
  const DevicePtr device = counted_device(counts, 4096);
  const auto expect_error = [&](ProducedColumn& produced, ErrorCode code) {
    const auto table = import_device_array(device, produced.schema, &produced.array);
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.error().code, code) << table.error().message;
    EXPECT_EQ(produced.released, 0);
    EXPECT_NE(produced.array.array.release, nullptr);
    EXPECT_EQ(device->pool().used_bytes(), 0U);
  };
  ProducedColumn text(MemoryPlace::kCuda);
  text.schema.format = "+l";
  expect_error(text, ErrorCode::kUnsupportedType);
  ProducedColumn other(MemoryPlace::kCuda);
  other.array.device_id = 2;
  expect_error(other, ErrorCode::kInvalidArgument);
  ProducedColumn bare(MemoryPlace::kCuda);
  bare.array.array.n_buffers = 1;
  expect_error(bare, ErrorCode::kMalformedArrow);
  ProducedColumn large(MemoryPlace::kHost);
  expect_error(large, ErrorCode::kOutOfMemoryBudget);
}

TEST(DeviceImport, exports_carry_events_and_order_streams) {
  DriverCounts counts;
  const DevicePtr device = counted_device(counts, 16384);
  ProducedColumn produced(MemoryPlace::kHost);
  auto table = import_device_array(device, produced.schema, &produced.array);
  ASSERT_TRUE(table.ok());
  ArrowDeviceArray array;
  ASSERT_TRUE(export_device_array(table.value(), &array).ok());
  EXPECT_EQ(counts.events, 1);
  EXPECT_EQ(array.sync_event, &counts);
  EXPECT_EQ(array.device_id, 3);
  EXPECT_EQ(array.device_type, 2);
  const auto tensor = export_versioned_tensor(table.value(), "k", 77);
  const auto unordered = export_tensor(table.value(), "k", 0);
  ASSERT_TRUE(tensor.ok() && unordered.ok());
  EXPECT_EQ(counts.streams, std::vector<uint64_t>{77});
  EXPECT_EQ(tensor.value()->tensor.device.type, 2);
  EXPECT_EQ(tensor.value()->tensor.device.id, 3);
  table.value().columns.clear();
  array.array.release(&array.array);
  EXPECT_EQ(counts.events, 0);
  tensor.value()->deleter(tensor.value());
  EXPECT_EQ(device->pool().used_bytes(), 8192U);
  unordered.value()->deleter(unordered.value());
  EXPECT_EQ(device->pool().used_bytes(), 0U);
  EXPECT_EQ(counts.waits_for_all, 0);
  const auto next =
      device->pool().allocate(16384);  // only now an allocation needs what others have read
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_EQ(counts.waits_for_all, 1);
  device->pool().release(next.value());
}

TEST(DeviceImport, operators_give_everything_back_where_memory_ends) {
  for (uint64_t limit_bytes = 9216; limit_bytes < 200'000; limit_bytes += 9216) {
    DriverCounts counts;
    const DevicePtr device = counted_device(counts, limit_bytes);
    ProducedColumn produced(MemoryPlace::kCuda);
    const auto table = import_device_array(device, produced.schema, &produced.array);
    ASSERT_TRUE(table.ok());
    const auto sorted = sort_table(table.value(), {{"k", true, false}}, 10, 0);
    if (sorted.ok()) {
      EXPECT_EQ(sorted.value().rows, 10U);
      EXPECT_EQ(*reinterpret_cast<const int64_t*>(sorted.value().columns[0].values.data), 996);
      continue;
    }
    EXPECT_EQ(sorted.error().code, ErrorCode::kOutOfMemoryBudget);
    EXPECT_EQ(device->pool().used_bytes(), 0U);
  }
}

}  // namespace
}  // namespace crossdock::session
