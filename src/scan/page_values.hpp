// The values of one page, one after the other, whatever their encoding: nulls have none.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "scan/column_form.hpp"
#include "scan/run_decoder.hpp"

namespace crossdock::scan {

// Views of Arrow: bytes, prefix, heap, offset; up to twelve bytes lie in the view itself.
struct StringView {
  int32_t bytes = 0;
  int32_t words[3] = {};
};
static_assert(sizeof(StringView) == 16);
constexpr int32_t kInlineStringBytes = 12;

// The string of a view of this heap; valid as long as both.
inline std::string_view string_of(const StringView& view, const uint8_t* heap) {
  const void* bytes = view.bytes <= kInlineStringBytes ? static_cast<const void*>(view.words)
                                                       : heap + view.words[2];
  return {static_cast<const char*>(bytes), static_cast<size_t>(view.bytes)};
}

// The view of a string that is the first heap of its column.
inline StringView view_of(std::string_view string) {
  StringView view;
  view.bytes = static_cast<int32_t>(string.size());
  const bool is_inline = view.bytes <= kInlineStringBytes;
  string.copy(reinterpret_cast<char*>(view.words),
              is_inline ? string.size() : sizeof(view.words[0]));
  return view;
}

// Used by one thread. Errors: kSourceFailed.
class PageValues {
 public:
  enum class Kind : uint8_t { kCodes, kFixed, kStrings, kBits };

  PageValues() = default;
  // `encoding`: PLAIN, RLE or a dictionary's.
  static Result<PageValues> create(std::span<const uint8_t> bytes,
                                   Encoding encoding,
                                   const ColumnForm& form);

  Kind kind() const { return kind_; }
  Status skip(int64_t count);
  // kCodes. All are below `limit`.
  Status read_codes(int64_t count, uint32_t limit, uint32_t* out);
  // kFixed: where the next values lie, of any alignment.
  Result<const uint8_t*> take_fixed(int64_t count);
  // kStrings: views of `bytes`, which is the heap of this number.
  Status read_strings(int64_t count, int32_t heap, StringView* out);
  // kBits: bytes of 0 or 1.
  Status read_bits(int64_t count, uint8_t* out);

 private:
  Kind kind_ = Kind::kFixed;
  RunDecoder runs_;  // kCodes, and kBits in runs
  bool in_runs_ = false;
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;  // byte, or bit
  size_t width_ = 0;
};

}  // namespace crossdock::scan
