#include "data/sorters/chunk_scatter.hpp"

#include <algorithm>
#include <cstring>

#include <hwy/cache_control.h>

namespace crossdock::sorters {

void close_gaps(uint64_t* words, int64_t rows, const std::vector<WordGap>& gaps) {
  uint64_t* const end = words + rows;
  const uint64_t* source = end;  // the next word that lies too far on
  size_t behind = 0;             // gaps before it
  for (const WordGap& gap : gaps) {
    for (uint64_t* at = gap.begin; at < std::min(gap.end, end); ++at) {
      for (; behind < gaps.size() && gaps[behind].begin <= source; ++behind) {
        source = std::max<const uint64_t*>(source, gaps[behind].end);
      }
      *at = *source++;
    }
  }
}

uint64_t* ChunkedArrays::take_chunk(int index) {
  Array& array = arrays_[index];
  const int64_t begin = array.taken_rows.fetch_add(kChunkRows, std::memory_order_relaxed);
  return begin + kChunkRows <= array.capacity_rows ? array.words + begin : nullptr;
}

int64_t ChunkedArrays::taken_rows(int index) const {
  return arrays_[index].taken_rows.load(std::memory_order_relaxed);
}

ChunkScatter::ChunkScatter(ChunkedArrays& arrays)
    : arrays_(&arrays), fill_(arrays.count()), cursors_(arrays.count()) {}

Status ChunkScatter::open(Memory& memory, const char* who) {
  CD_ASSIGN(buffers_, memory.get(int64_t{arrays_->count()} * kFlushRows * 8, who));
  return {};
}

ScatterState ChunkScatter::state() {
  return {buffers_.as<uint64_t>(), fill_.data(), cursors_.data(), 0, 63};
}

bool ChunkScatter::open_chunk(uint32_t range) {
  uint64_t* const chunk = arrays_->take_chunk(static_cast<int>(range));
  if (chunk != nullptr) cursors_[range] = {chunk, kChunkRows};
  return chunk != nullptr;
}

bool ChunkScatter::put(const uint64_t* words, const uint16_t* ranges, int32_t rows) {
  const ScatterState state = this->state();
  const ScatterInput input{words, nullptr, rows, ranges, nullptr};
  uint32_t blocked = UINT32_MAX;
  int32_t done = scatter_rows(state, input, 0, &blocked);
  while (blocked != UINT32_MAX) {
    if (!open_chunk(blocked)) return false;
    flush_buffer(state, blocked);
    blocked = UINT32_MAX;
    done = scatter_rows(state, input, done, &blocked);
  }
  return true;
}

bool ChunkScatter::finish() {
  for (uint32_t range = 0; range < fill_.size(); ++range) {
    const int32_t left = fill_[range];
    if (left == 0) continue;
    ScatterCursor& cursor = cursors_[range];
    if (cursor.room_rows == 0 && !open_chunk(range)) return false;
    const uint64_t* const buffer = buffers_.as<uint64_t>() + int64_t{range} * kFlushRows;
    std::memcpy(cursor.words, buffer, static_cast<size_t>(left) * sizeof(uint64_t));
    cursor.words += left;
    cursor.room_rows -= left;
  }
  hwy::FlushStream();
  buffers_.reset();
  return true;
}

WordGap ChunkScatter::gap(int range) const {
  const ScatterCursor& cursor = cursors_[range];
  return {cursor.words, cursor.words + cursor.room_rows};
}

}  // namespace crossdock::sorters
