#include "session/device/device_table.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/ranges.h>

namespace crossdock::session {
namespace {

// The buffer goes before the device whose pool it belongs to.
struct OwnedBuffer {
  DevicePtr device;
  operators::DeviceBuffer buffer;
};

}  // namespace

Result<const TableColumn*> DeviceTable::find(const std::string& name) const {
  std::vector<std::string> names;
  for (const TableColumn& column : columns) {
    if (column.name == name) return &column;
    names.push_back(column.name);
  }
  const std::string nearest = nearest_name(name, names);
  return make_error(ErrorCode::kUnknownColumn,
                    "no column \"{}\" in the table on {}\n  columns  {}\n  try      {}",
                    name,
                    device->name(),
                    fmt::join(names, ", "),
                    nearest.empty() ? "one of the columns above" : nearest);
}

Result<Stored> stored_of_format(const std::string& name, const std::string& format) {
  using enum Stored;
  static constexpr std::pair<std::string_view, Stored> kFormats[] = {
      {"b", kBit},     {"c", kInt8},    {"C", kUInt8},   {"s", kInt16},   {"S", kUInt16},
      {"i", kInt32},   {"I", kUInt32},  {"l", kInt64},   {"L", kUInt64},  {"f", kFloat32},
      {"g", kFloat64}, {"u", kBytes32}, {"z", kBytes32}, {"U", kBytes64}, {"Z", kBytes64},
      {"tdD", kInt32}, {"tdm", kInt64}, {"tts", kInt32}, {"ttm", kInt32}, {"ttu", kInt64},
      {"ttn", kInt64},
  };
  for (const auto& [known, stored] : kFormats)
    if (format == known) return stored;
  if (format.starts_with("ts") || format.starts_with("tD")) return kInt64;
  const auto commas = std::ranges::count(format, ',');
  if (format.starts_with("d:") && (commas == 1 || format.ends_with(",128"))) return kInt128;
  return make_error(
      ErrorCode::kUnsupportedType,
      "column \"{}\" has the Arrow format \"{}\", which tables on devices do not take\n"
      "  limits   booleans, integers, float32 and float64, decimal128, moments, strings\n"
      "  try      leave the column out, or cast it",
      name,
      format);
}

bool is_number(Stored stored) {
  const bool is_wide = stored == Stored::kInt128 || stored == Stored::kFloat16;
  return stored != Stored::kBit && !is_wide && !operators::is_text(stored) &&
         stored != Stored::kByteViews;
}

DeviceBytes own_buffer(const DevicePtr& device, operators::DeviceBuffer buffer) {
  const std::byte* const data = buffer.as<std::byte>();
  return {std::make_shared<OwnedBuffer>(device, std::move(buffer)), data, true};
}

Result<DeviceBytes> own_bytes(const DevicePtr& device, uint64_t bytes) {
  CD_ASSIGN(operators::DeviceBuffer buffer, operators::DeviceBuffer::make(*device, bytes));
  return own_buffer(device, std::move(buffer));
}

}  // namespace crossdock::session
