// What a scan will read of files that lie elsewhere, asked for before it does: in the order of reading, several ranges
// at once, and never more than a bound of bytes beyond what is being read.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memory/budget.hpp"
#include "scan/ranged_file.hpp"

namespace crossdock::scan {

// Ranges of one file in order, those side by side as one, and none longer than a request may be. What lies between two
// is read with them where that is cheaper than another request.
std::vector<ByteRange> coalesced(std::vector<ByteRange> ranges);

// Thread-safe after the last add().
class ReadAhead {
 public:
  // `bytes_most`: asked for ahead, and not yet read.
  ReadAhead(std::shared_ptr<Memory> memory, int64_t bytes_most)
      : memory_(std::move(memory)), bytes_most_(bytes_most) {}

  // Adds a part of the scan, such as a row group: ranges of a file, which outlives this; `uses`: how often end() will
  // be called. Answers its number.
  int add(const RangedFile& file, std::vector<ByteRange> ranges, int uses);
  // The part is read from now on: all of it is asked for, and of those behind it what the bound leaves room for.
  void begin(int part);
  // After the last use its bytes are given back.
  void end(int part);
  int64_t requests() const;
  // Bytes that were asked for at the same time, at most.
  int64_t peak_bytes() const;

 private:
  struct Piece {
    ByteRange range;
    bool is_asked = false;
    std::shared_ptr<FetchedRange> fetched;  // nullptr: not asked for, or there was no memory
  };
  struct Part {
    const RangedFile* file = nullptr;
    std::vector<Piece> pieces;
    int uses = 0;
  };

  void ask(Part& part, Piece& piece);
  void fill();

  const std::shared_ptr<Memory> memory_;
  const int64_t bytes_most_;
  mutable std::mutex mutex_;
  std::vector<Part> parts_;
  size_t next_part_ = 0;  // that has pieces to be asked for ahead
  size_t next_piece_ = 0;
  int64_t bytes_ = 0;  // asked for, and not yet given back
  int64_t peak_bytes_ = 0;
  int64_t requests_ = 0;
};

}  // namespace crossdock::scan
