#include "scan/page_values.hpp"

#include <algorithm>
#include <cstring>

#include "scan/code_kernels.hpp"

namespace crossdock::scan {
namespace {

constexpr size_t kInlineBytes = kInlineStringBytes;
constexpr size_t kLengthBytes = 4;

Error too_few() {
  return make_error(ErrorCode::kSourceFailed, "a page has fewer values than its header says");
}

StringView view_of(std::span<const uint8_t> bytes, size_t at, uint32_t length, int32_t heap) {
  StringView view;
  view.bytes = static_cast<int32_t>(length);
  if (length <= kInlineBytes) {
    if (bytes.size() - at >= kInlineBytes) {  // a copy of a known size, and zeros behind it
      uint64_t low = 0;
      uint32_t high = 0;
      std::memcpy(&low, bytes.data() + at, 8);
      std::memcpy(&high, bytes.data() + at + 8, 4);
      if (length < 8) {
        low &= (uint64_t{1} << (8 * length)) - 1;
        high = 0;
      } else if (length < kInlineBytes) {
        high &= (uint32_t{1} << (8 * (length - 8))) - 1;
      }
      std::memcpy(view.words, &low, 8);
      std::memcpy(view.words + 2, &high, 4);
    } else if (length > 0) {
      std::memcpy(view.words, bytes.data() + at, length);
    }
    return view;
  }
  std::memcpy(view.words, bytes.data() + at, 4);
  view.words[1] = heap;
  view.words[2] = static_cast<int32_t>(at);
  return view;
}

}  // namespace

Result<PageValues> PageValues::create(std::span<const uint8_t> bytes,
                                      Encoding encoding,
                                      const ColumnForm& form) {
  PageValues values;
  values.bytes_ = bytes;
  values.width_ = static_cast<size_t>(form.stored_bytes);
  if (encoding == Encoding::kDictionary || encoding == Encoding::kPlainDictionary) {
    values.kind_ = Kind::kCodes;
    const int bits = bytes.empty() ? 0 : bytes[0];
    if (bits > RunDecoder::kMaxBits) {
      return make_error(ErrorCode::kSourceFailed, "codes of a page have {} bits", bits);
    }
    values.runs_ = RunDecoder(bytes.empty() ? bytes : bytes.subspan(1), bits);
    return values;
  }
  if (form.physical == PhysicalType::kBoolean) {
    values.kind_ = Kind::kBits;
    if (encoding != Encoding::kRunLength) return values;
    uint32_t length = 0;
    if (bytes.size() < kLengthBytes) return too_few();
    std::memcpy(&length, bytes.data(), kLengthBytes);
    const auto runs = bytes.subspan(kLengthBytes);
    values.in_runs_ = true;
    values.runs_ = RunDecoder(runs.first(std::min<size_t>(length, runs.size())), 1);
    return values;
  }
  if (form.physical == PhysicalType::kByteArray) values.kind_ = Kind::kStrings;
  return values;
}

Status PageValues::skip(int64_t count) {
  switch (kind_) {
    case Kind::kCodes:
      return runs_.skip(count) ? Status() : too_few();
    case Kind::kFixed:
      return take_fixed(count).ok() ? Status() : too_few();
    case Kind::kBits:
      if (in_runs_) return runs_.skip(count) ? Status() : too_few();
      at_ += static_cast<size_t>(count);
      return at_ <= bytes_.size() * 8 ? Status() : too_few();
    case Kind::kStrings:
      break;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (bytes_.size() - at_ < kLengthBytes) return too_few();
    std::memcpy(&length, bytes_.data() + at_, kLengthBytes);
    at_ += kLengthBytes;
    if (length > bytes_.size() - at_) return too_few();
    at_ += length;
  }
  return {};
}

Status PageValues::read_codes(int64_t count, uint32_t limit, uint32_t* out) {
  if (!runs_.read(count, out)) return too_few();
  const uint32_t largest = largest_code(out, count);
  if (count == 0 || largest < limit) return {};
  return make_error(ErrorCode::kSourceFailed,
                    "a page has the code {} of a dictionary of {} values",
                    largest,
                    limit);
}

Result<const uint8_t*> PageValues::take_fixed(int64_t count) {
  const size_t left = bytes_.size() - at_;
  const auto needed = static_cast<size_t>(count);
  if (width_ == 0 || needed > left / width_) return too_few();
  const uint8_t* values = bytes_.data() + at_;
  at_ += needed * width_;
  return values;
}

Status PageValues::read_strings(int64_t count, int32_t heap, StringView* out) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (bytes_.size() - at_ < kLengthBytes) return too_few();
    std::memcpy(&length, bytes_.data() + at_, kLengthBytes);
    at_ += kLengthBytes;
    if (length > bytes_.size() - at_) return too_few();
    out[i] = view_of(bytes_, at_, length, heap);
    at_ += length;
  }
  return {};
}

Status PageValues::read_bits(int64_t count, uint8_t* out) {
  if (in_runs_) {
    constexpr int64_t kSome = 256;
    uint32_t values[kSome];
    for (int64_t done = 0; done < count; done += kSome) {
      const int64_t some = std::min(kSome, count - done);
      if (!runs_.read(some, values)) return too_few();
      for (int64_t i = 0; i < some; ++i) out[done + i] = static_cast<uint8_t>(values[i]);
    }
    return {};
  }
  const auto needed = static_cast<size_t>(count);
  if (at_ > bytes_.size() * 8 || needed > bytes_.size() * 8 - at_) return too_few();
  for (size_t i = 0; i < needed; ++i, ++at_) {
    out[i] = static_cast<uint8_t>((bytes_[at_ / 8] >> (at_ % 8)) & 1);
  }
  return {};
}

}  // namespace crossdock::scan
