// Parquet's hybrid of runs and packed bits: dictionary codes, levels, and booleans of the encoding RLE.
#pragma once

#include <cstdint>
#include <span>

namespace crossdock::scan {

// Reads one sequence from its begin. Bytes behind `bytes` are not read. Used by one thread.
class RunDecoder {
 public:
  static constexpr int kMaxBits = 32;

  RunDecoder() = default;
  // 0 <= bits <= kMaxBits.
  RunDecoder(std::span<const uint8_t> bytes, int bits)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()), bits_(bits) {}

  // The next `count` values. False where there are no more, or what says how many is malformed.
  bool read(int64_t count, uint32_t* out);
  bool skip(int64_t count);
  // If the next `count` values are one run, skips them and says its value.
  bool take_run(int64_t count, uint32_t* value);

 private:
  bool next_run();
  void unpack(int64_t count, uint32_t* out);

  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  int bits_ = 0;
  int64_t left_ = 0;  // values of the run
  bool is_packed_ = false;
  uint32_t value_ = 0;  // of a run that is not packed
  const uint8_t* packed_ = nullptr;
  int64_t packed_at_ = 0;  // values of the packed run that are read
};

}  // namespace crossdock::scan
