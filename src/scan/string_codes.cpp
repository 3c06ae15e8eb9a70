#include "scan/string_codes.hpp"

#include <algorithm>

#include "scan/page_values.hpp"

namespace crossdock::scan {
namespace {

constexpr int64_t kBytesMost = int64_t{1} << 30;
constexpr uint32_t kValuesMost = uint32_t{1} << 24;

DataType view_type() {
  DataType type;
  type.id = TypeId::kUtf8View;
  type.arrow_format = "vu";
  return type;
}

// A column of one string.
struct OneString {
  explicit OneString(std::string_view string)
      : view(view_of(string)),
        heap(reinterpret_cast<const uint8_t*>(string.data())),
        heap_bytes(view.bytes) {
    column.length = 1;
    column.values = reinterpret_cast<const uint8_t*>(&view);
    column.heaps = &heap;
    column.heap_bytes = &heap_bytes;
    column.heap_count = 1;
  }
  OneString(const OneString&) = delete;
  OneString& operator=(const OneString&) = delete;

  StringView view;
  const uint8_t* heap;
  int64_t heap_bytes;
  ColumnView column;
};

}  // namespace

StringCodes::StringCodes()
    : type_(view_type()),
      memory_(Memory::create(kBytesMost)),
      interner_(*memory_, kValuesMost, 0) {}

Status StringCodes::add(const ColumnView& strings) {
  for (int64_t at = 0; at < strings.length; at += kMaxKeyRows) {
    const auto count = static_cast<int32_t>(std::min<int64_t>(kMaxKeyRows, strings.length - at));
    CD_TRY(interner_.add(type_, strings, at, count));
  }
  if (!interner_.is_full()) return {};
  return make_error(ErrorCode::kSourceFailed,
                    "the dictionaries of a column have more than {} different strings",
                    kValuesMost);
}

Status StringCodes::add(std::string_view string) { return add(OneString(string).column); }

void StringCodes::freeze() {
  for (uint32_t code = 0; code < interner_.value_count(); ++code) {
    bytes_ += interner_.value(code);
    offsets_.push_back(static_cast<int32_t>(bytes_.size()));
  }
  bytes_.reserve(16);
  values_.length = int64_t{interner_.value_count()};
  values_.values = reinterpret_cast<const uint8_t*>(bytes_.data());
  values_.offsets = offsets_.data();
}

void StringCodes::find(const ColumnView& strings,
                       int64_t begin,
                       int32_t count,
                       int32_t* codes) const {
  static_assert(static_cast<int32_t>(kNoCode) == -1);
  BytesInterner::Scratch scratch(type_);
  interner_.find(strings, begin, count, reinterpret_cast<uint32_t*>(codes), scratch);
}

int32_t StringCodes::code(std::string_view string) const {
  int32_t code = -1;
  find(OneString(string).column, 0, 1, &code);
  return code;
}

}  // namespace crossdock::scan
