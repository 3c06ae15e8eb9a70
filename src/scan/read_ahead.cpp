#include "scan/read_ahead.hpp"

#include <algorithm>

namespace crossdock::scan {
namespace {

constexpr int64_t kGapMost = int64_t{512} << 10;  // cheaper to read than another request

}  // namespace

std::vector<ByteRange> coalesced(std::vector<ByteRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) {
    return a.begin < b.begin;
  });
  std::vector<ByteRange> whole;
  for (const ByteRange& range : ranges) {
    if (range.end <= range.begin) continue;
    if (!whole.empty() && range.begin <= whole.back().end + kGapMost) {
      whole.back().end = std::max(whole.back().end, range.end);
    } else {
      whole.push_back(range);
    }
  }
  std::vector<ByteRange> cut;
  for (const ByteRange& range : whole) {
    constexpr int64_t kMost = RangedFile::kRangeBytesMost;
    for (int64_t at = range.begin; at < range.end; at += kMost) {
      cut.push_back({at, std::min(at + kMost, range.end)});
    }
  }
  return cut;
}

int ReadAhead::add(const RangedFile& file, std::vector<ByteRange> ranges, int uses) {
  Part& part = parts_.emplace_back();
  part.file = &file;
  part.uses = uses;
  for (const ByteRange& range : coalesced(std::move(ranges)))
    part.pieces.emplace_back().range = range;
  return static_cast<int>(parts_.size()) - 1;
}

// Without memory for it, read() asks again for as much as it needs at once.
void ReadAhead::ask(Part& part, Piece& piece) {
  piece.is_asked = true;
  const int64_t bytes = piece.range.end - piece.range.begin;
  auto memory = memory_->get(bytes, "bytes of a file that lies elsewhere");
  if (!memory.ok()) return;
  piece.fetched = part.file->ask(piece.range, std::move(memory.value()));
  bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, bytes_);
  ++requests_;
}

void ReadAhead::fill() {
  for (; next_part_ < parts_.size(); ++next_part_, next_piece_ = 0) {
    Part& part = parts_[next_part_];
    for (; next_piece_ < part.pieces.size(); ++next_piece_) {
      Piece& piece = part.pieces[next_piece_];
      if (piece.is_asked) continue;
      if (bytes_ + piece.range.end - piece.range.begin > bytes_most_) return;
      ask(part, piece);
    }
  }
}

void ReadAhead::begin(int number) {
  const std::lock_guard lock(mutex_);
  Part& part = parts_[static_cast<size_t>(number)];
  for (Piece& piece : part.pieces) {
    if (!piece.is_asked) ask(part, piece);
  }
  fill();
}

void ReadAhead::end(int number) {
  const std::lock_guard lock(mutex_);
  Part& part = parts_[static_cast<size_t>(number)];
  if (--part.uses > 0) return;
  for (Piece& piece : part.pieces) {
    if (piece.fetched != nullptr) bytes_ -= piece.range.end - piece.range.begin;
    piece.fetched.reset();
    piece.is_asked = true;
  }
  fill();
}

int64_t ReadAhead::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int64_t ReadAhead::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

}  // namespace crossdock::scan
