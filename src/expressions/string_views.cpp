#include "expressions/string_views.hpp"

#include <cstring>

namespace crossdock::expressions {
namespace {

// A view of a string in a heap, or, if it is short, the string.
void write_view(std::string_view string, int32_t heap, int64_t offset, uint8_t* to) {
  uint32_t view[4] = {static_cast<uint32_t>(string.size()), 0, 0, 0};
  if (string.size() <= kInlineStringBytes) {
    if (!string.empty()) std::memcpy(view + 1, string.data(), string.size());
  } else {
    std::memcpy(view + 1, string.data(), 4);
    view[2] = static_cast<uint32_t>(heap);
    view[3] = static_cast<uint32_t>(offset);
  }
  std::memcpy(to, view, sizeof(view));
}

std::string_view string_at(const StringSlices& of, int32_t row) {
  return of.valid == nullptr || of.valid[row] != 0 ? of.strings[row] : std::string_view();
}

}  // namespace

int32_t write_views(const StringSlices& of,
                    uint8_t* views,
                    const uint8_t** heaps,
                    int64_t* heap_bytes) {
  int32_t count = 0;
  for (int32_t i = 0; i < of.rows; ++i) {
    const std::string_view string = string_at(of, i);
    write_view(string, count, 0, views + int64_t{i} * 16);
    if (string.size() <= kInlineStringBytes) continue;
    heaps[count] = reinterpret_cast<const uint8_t*>(string.data());
    heap_bytes[count] = static_cast<int64_t>(string.size());
    ++count;
  }
  return count;
}

int64_t bytes_beyond_views(const StringSlices& of) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < of.rows; ++i) {
    const std::string_view string = string_at(of, i);
    if (string.size() > kInlineStringBytes) bytes += static_cast<int64_t>(string.size());
  }
  return bytes;
}

void copy_to_heap(
    const StringSlices& of, uint8_t* views, uint8_t* heap, int64_t at, int32_t number) {
  for (int32_t i = 0; i < of.rows; ++i) {
    const std::string_view string = string_at(of, i);
    write_view(string, number, at, views + int64_t{i} * 16);
    if (string.size() <= kInlineStringBytes) continue;
    std::memcpy(heap + at, string.data(), string.size());
    at += static_cast<int64_t>(string.size());
  }
}

}  // namespace crossdock::expressions
