// Formats of Arrow, and memory with an owner.
#include "session/device/device_table.hpp"

#include <string_view>

#include <fmt/ranges.h>

namespace crossdock {
namespace {

// The buffer goes before the device whose pool it belongs to.
struct OwnedBuffer {
  DevicePtr device;
  DeviceBuffer buffer;
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

Result<WordForm> form_of_format(const std::string& name, const std::string& format) {
  using enum WordKind;
  static constexpr std::pair<std::string_view, WordForm> kForms[] = {
      {"c", {kSigned, 1}},
      {"C", {kUnsigned, 1}},
      {"s", {kSigned, 2}},
      {"S", {kUnsigned, 2}},
      {"i", {kSigned, 4}},
      {"I", {kUnsigned, 4}},
      {"l", {kSigned, 8}},
      {"L", {kUnsigned, 8}},
      {"f", {kFloat, 4}},
      {"g", {kFloat, 8}},
      {"tdD", {kSigned, 4}},
      {"tdm", {kSigned, 8}},
      {"tts", {kSigned, 4}},
      {"ttm", {kSigned, 4}},
      {"ttu", {kSigned, 8}},
      {"ttn", {kSigned, 8}},
  };
  for (const auto& [known, form] : kForms)
    if (format == known) return form;
  if (format.starts_with("ts") || format.starts_with("tD")) return WordForm{kSigned, 8};
  return make_error(
      ErrorCode::kUnsupportedType,
      "column \"{}\" has the Arrow format \"{}\", which tables on devices do not take\n"
      "  limits   integers, floats of 4 or 8 bytes, dates, times, timestamps, durations\n"
      "  try      leave the column out, or cast it",
      name,
      format);
}

const char* format_of_form(WordForm form) {
  if (form.kind == WordKind::kFloat) return form.width_bytes == 4 ? "f" : "g";
  const bool is_signed = form.kind == WordKind::kSigned;
  switch (form.width_bytes) {
    case 1:
      return is_signed ? "c" : "C";
    case 2:
      return is_signed ? "s" : "S";
    case 4:
      return is_signed ? "i" : "I";
    default:
      return is_signed ? "l" : "L";
  }
}

DeviceBytes own_buffer(const DevicePtr& device, DeviceBuffer buffer) {
  const std::byte* const data = buffer.as<std::byte>();
  return {std::make_shared<OwnedBuffer>(device, std::move(buffer)), data, true};
}

Result<DeviceBytes> own_bytes(const DevicePtr& device, uint64_t bytes) {
  CD_ASSIGN(DeviceBuffer buffer, DeviceBuffer::make(*device, bytes));
  return own_buffer(device, std::move(buffer));
}

}  // namespace crossdock
