#include "scan/plain_pages.hpp"

#include <cstring>

#include "scan/delta_reader.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kPlainBytesMost = INT32_MAX;

Error malformed(std::string_view what) {
  return make_error(ErrorCode::kSourceFailed, "{} of a page are malformed", what);
}

// Room for the values of the page in PLAIN.
Result<uint8_t*> room_for(DataPage& page, int64_t bytes, Memory& memory) {
  if (bytes > kPlainBytesMost) return malformed("the lengths");
  CD_ASSIGN(page.plain_memory, memory.get(std::max<int64_t>(bytes, 1), "a page of a file"));
  return page.plain_memory.data();
}

void set_plain(DataPage& page, int64_t bytes) {
  page.values = {page.plain_memory.data(), static_cast<size_t>(bytes)};
  page.header.encoding = Encoding::kPlain;
}

Status split_streams(DataPage& page, const ColumnForm& form, Memory& memory) {
  const auto width = static_cast<size_t>(form.stored_bytes);
  if (width == 0 || page.values.size() % width != 0) return malformed("the streams");
  const auto bytes = static_cast<int64_t>(page.values.size());
  CD_ASSIGN(uint8_t * out, room_for(page, bytes, memory));
  const size_t count = page.values.size() / width;
  for (size_t stream = 0; stream < width; ++stream) {
    const uint8_t* in = page.values.data() + stream * count;
    for (size_t i = 0; i < count; ++i) out[i * width + stream] = in[i];
  }
  set_plain(page, bytes);
  return {};
}

Status whole_numbers(DataPage& page, const ColumnForm& form, Memory& memory) {
  CD_ASSIGN(const DeltaNumbers numbers, read_deltas(page.values, page.header.values));
  const auto width = static_cast<size_t>(form.stored_bytes);
  const auto bytes = static_cast<int64_t>(numbers.values.size() * width);
  CD_ASSIGN(uint8_t * out, room_for(page, bytes, memory));
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    std::memcpy(out + i * width, &numbers.values[i], width);  // the lower bytes come first
  }
  set_plain(page, bytes);
  return {};
}

// Strings by the bytes that each shares with the one before it, the lengths of what follows, and that.
struct StringParts {
  std::vector<int64_t> shared;  // empty: none share anything
  std::vector<int64_t> lengths;
  std::span<const uint8_t> bytes;
};

Result<StringParts> string_parts(const DataPage& page) {
  StringParts parts;
  std::span<const uint8_t> rest = page.values;
  if (page.header.encoding == Encoding::kDeltaByteArray) {
    CD_ASSIGN(DeltaNumbers shared, read_deltas(rest, page.header.values));
    parts.shared = std::move(shared.values);
    rest = rest.subspan(shared.bytes);
  }
  CD_ASSIGN(DeltaNumbers lengths, read_deltas(rest, page.header.values));
  parts.lengths = std::move(lengths.values);
  parts.bytes = rest.subspan(lengths.bytes);
  const bool has_shared = page.header.encoding == Encoding::kDeltaByteArray;
  if (has_shared && parts.shared.size() != parts.lengths.size()) return malformed("the lengths");
  return parts;
}

// Bytes of all strings in PLAIN, each behind `prefix` bytes; checks that the parts give them.
Result<int64_t> plain_bytes(const StringParts& parts, int64_t prefix) {
  int64_t sum = 0;
  int64_t last = 0;
  auto left = static_cast<int64_t>(parts.bytes.size());
  for (size_t i = 0; i < parts.lengths.size(); ++i) {
    const int64_t shared = parts.shared.empty() ? 0 : parts.shared[i];
    const int64_t length = parts.lengths[i];
    if (length < 0 || length > left || shared < 0 || shared > last) return malformed("the lengths");
    left -= length;
    last = shared + length;
    sum += prefix + last;
    if (sum > kPlainBytesMost) return malformed("the lengths");
  }
  return sum;
}

Status strings(DataPage& page, const ColumnForm& form, Memory& memory) {
  CD_ASSIGN(const StringParts parts, string_parts(page));
  const bool is_fixed = form.physical == PhysicalType::kFixedBytes;
  const int64_t prefix = is_fixed ? 0 : 4;
  CD_ASSIGN(const int64_t bytes, plain_bytes(parts, prefix));
  CD_ASSIGN(uint8_t * out, room_for(page, bytes, memory));
  const uint8_t* in = parts.bytes.data();
  const uint8_t* last = nullptr;
  for (size_t i = 0; i < parts.lengths.size(); ++i) {
    const auto shared = static_cast<size_t>(parts.shared.empty() ? 0 : parts.shared[i]);
    const auto length = static_cast<size_t>(parts.lengths[i]);
    const auto whole = static_cast<uint32_t>(shared + length);
    if (is_fixed && whole != static_cast<uint32_t>(form.stored_bytes)) {
      return malformed("the lengths");
    }
    if (!is_fixed) std::memcpy(out, &whole, sizeof(whole));
    out += prefix;
    if (shared > 0) std::memcpy(out, last, shared);
    if (length > 0) std::memcpy(out + shared, in, length);
    last = out;
    in += length;
    out += whole;
  }
  set_plain(page, bytes);
  return {};
}

}  // namespace

Status make_plain(DataPage& page, const ColumnForm& form, Memory& memory) {
  const bool is_integer =
      form.physical == PhysicalType::kInt32 || form.physical == PhysicalType::kInt64;
  const bool holds_strings = form.physical == PhysicalType::kByteArray;
  const bool is_bool = form.physical == PhysicalType::kBoolean;
  switch (page.header.encoding) {
    case Encoding::kPlain:
      return {};
    case Encoding::kDictionary:
    case Encoding::kPlainDictionary:
      if (is_bool) break;
      return {};
    case Encoding::kRunLength:
      if (is_bool) return {};
      break;
    case Encoding::kDeltaBinaryPacked:
      if (is_integer) return whole_numbers(page, form, memory);
      break;
    case Encoding::kDeltaLengthByteArray:
      if (holds_strings) return strings(page, form, memory);
      break;
    case Encoding::kDeltaByteArray:
      if (holds_strings || form.physical == PhysicalType::kFixedBytes)
        return strings(page, form, memory);
      break;
    case Encoding::kByteStreamSplit:
      if (!holds_strings && !is_bool) return split_streams(page, form, memory);
      break;
    default:
      break;
  }
  return make_error(ErrorCode::kSourceFailed,
                    "a page has the encoding {}, which its type does not have",
                    static_cast<int>(page.header.encoding));
}

}  // namespace crossdock::scan
