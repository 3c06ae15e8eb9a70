// Strings as Arrow's views: 16 bytes each, with those of up to 12 bytes inside, and others where they lie.
#pragma once

#include <cstdint>
#include <string_view>

namespace crossdock::expressions {

constexpr uint32_t kInlineStringBytes = 12;  // what a view holds itself

// Rows that are not valid (0; nullptr: all are) become empty.
struct StringSlices {
  const std::string_view* strings;
  const uint8_t* valid;
  int32_t rows;
};

// Writes views of strings that stay where they are: the k-th of those that are not inline is heap k, of which heaps[k]
// and heap_bytes[k] are set. There is room for `rows` of each. Answers how many heaps there are.
int32_t write_views(const StringSlices& of,
                    uint8_t* views,
                    const uint8_t** heaps,
                    int64_t* heap_bytes);

// The bytes of all strings that are not inline.
int64_t bytes_beyond_views(const StringSlices& of);

// Writes views of strings that are copied behind the first `at` bytes of heap `number`, which has room for them.
void copy_to_heap(
    const StringSlices& of, uint8_t* views, uint8_t* heap, int64_t at, int32_t number);

}  // namespace crossdock::expressions
