// Columns of the host coded on GPU 0 and decoded there: what tests compare with the reference, and benches time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "data/codecs/column_coder.hpp"
#include "data/codecs/device/device_columns.hpp"
#include "gpu/gpu_memory.hpp"

namespace crossdock {

struct GpuColumn {
  std::span<const std::byte> values;
  codecs::CodedValues kind;
  codecs::CodecScheme scheme;
};

// Holds the GPU's memory: of the values, of the coded columns and of those that come back. One thread.
class GpuCoding {
 public:
  // `blocks` of each launch. The columns' bytes need not stay.
  Status open(std::span<const GpuColumn> columns, uint32_t blocks);
  // All columns in one launch; seconds until it has ended.
  Result<double> encode();
  // What encode() has left, or what change() has made of it.
  Result<double> decode();

  uint64_t coded_words(size_t column) const { return coded_words_[column]; }
  Result<std::vector<uint64_t>> coded(size_t column) const;
  Result<std::vector<std::byte>> decoded(size_t column) const;
  // Other words in a coded column's place, no more than it had room for.
  Status change(size_t column, std::span<const uint64_t> words);

 private:
  Status upload_columns();

  GpuMemory memory_;
  void* stream_ = nullptr;
  uint32_t blocks_ = 0;
  std::vector<codecs::EncodeColumn> encode_columns_;
  std::vector<codecs::DecodeColumn> decode_columns_;
  std::vector<uint64_t> coded_words_;
  codecs::EncodeColumn* encode_table_ = nullptr;
  codecs::DecodeColumn* decode_table_ = nullptr;
  codecs::EncodeWork encode_work_;
  codecs::DecodeWork decode_work_;
};

}  // namespace crossdock
