#include "scan/thrift_reader.hpp"

#include <limits>

namespace crossdock::scan {
namespace {

constexpr int kMaxDepth = 32;  // of what is skipped; what is read has a depth of its own

}  // namespace

uint8_t ThriftReader::byte() {
  if (left() == 0) {
    fail();
    return 0;
  }
  return bytes_[at_++];
}

uint64_t ThriftReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t part = byte();
    value |= uint64_t{part & 0x7FU} << shift;
    if ((part & 0x80) == 0) return failed_ ? 0 : value;
  }
  fail();
  return 0;
}

int64_t ThriftReader::zigzag() {
  const uint64_t value = varint();
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void ThriftReader::advance(uint64_t bytes) {
  if (bytes > left()) {
    fail();
  } else {
    at_ += bytes;
  }
}

bool ThriftReader::begin_field(int* id) {
  const uint8_t head = byte();
  if (failed_ || head == 0) return false;
  type_ = static_cast<ThriftType>(head & 0x0F);
  const int64_t next = (head >> 4) != 0 ? *id + (head >> 4) : zigzag();
  if (type_ == ThriftType::kStop || type_ > ThriftType::kStruct || next < 0 || next > INT16_MAX) {
    fail();
  }
  *id = static_cast<int>(next);
  return !failed_;
}

// Every element has a byte at least, so a count beyond the bytes that are left is a fault.
int64_t ThriftReader::begin_list(ThriftType* type) {
  const uint8_t head = byte();
  *type = static_cast<ThriftType>(head & 0x0F);
  const uint64_t count = (head >> 4) == 15 ? varint() : head >> 4;
  if (count > left() || *type > ThriftType::kStruct) fail();
  return failed_ ? 0 : static_cast<int64_t>(count);
}

void ThriftReader::skip_elements(ThriftType type, int64_t count, int depth) {
  const bool is_bool = type == ThriftType::kTrue || type == ThriftType::kFalse;
  for (int64_t i = 0; i < count && !failed_; ++i) {
    skip(is_bool ? ThriftType::kByte : type, depth);
  }
}

void ThriftReader::skip(ThriftType type, int depth) {
  if (depth > kMaxDepth) return fail();
  switch (type) {
    case ThriftType::kTrue:
    case ThriftType::kFalse:
      return;
    case ThriftType::kByte:
      return advance(1);
    case ThriftType::kInt16:
    case ThriftType::kInt32:
    case ThriftType::kInt64:
      varint();
      return;
    case ThriftType::kDouble:
      return advance(8);
    case ThriftType::kBinary:
      return advance(varint());
    case ThriftType::kList:
    case ThriftType::kSet: {
      ThriftType of = ThriftType::kStop;
      const int64_t count = begin_list(&of);
      return skip_elements(of, count, depth + 1);
    }
    case ThriftType::kMap: {
      const uint64_t count = varint();
      if (count == 0 || failed_) return;
      const uint8_t types = byte();
      if (count > left()) return fail();
      for (uint64_t i = 0; i < count && !failed_; ++i) {
        skip_elements(static_cast<ThriftType>(types >> 4), 1, depth + 1);
        skip_elements(static_cast<ThriftType>(types & 0x0F), 1, depth + 1);
      }
      return;
    }
    case ThriftType::kStruct: {
      int id = 0;
      while (begin_field(&id)) skip(type_, depth + 1);
      return;
    }
    default:
      return fail();
  }
}

bool ThriftReader::read(ThriftType type, int64_t* value) {
  if (type != ThriftType::kInt32 && type != ThriftType::kInt64) return false;
  *value = zigzag();
  return true;
}

bool ThriftReader::read(ThriftType type, int8_t* value) {
  if (type != ThriftType::kByte) return false;
  *value = static_cast<int8_t>(byte());
  return true;
}

bool ThriftReader::read(ThriftType type, int32_t* value) {
  if (type != ThriftType::kInt32) return false;
  const int64_t wide = zigzag();
  if (wide < std::numeric_limits<int32_t>::min() || wide > std::numeric_limits<int32_t>::max()) {
    fail();
    return true;
  }
  *value = static_cast<int32_t>(wide);
  return true;
}

bool ThriftReader::read(ThriftType type, bool* value) {
  if (type != ThriftType::kTrue && type != ThriftType::kFalse) return false;
  *value = type == ThriftType::kTrue;
  return true;
}

bool ThriftReader::read(ThriftType type, std::string_view* value) {
  if (type != ThriftType::kBinary) return false;
  const uint64_t bytes = varint();
  const size_t begin = at_;
  advance(bytes);
  if (!failed_) *value = {reinterpret_cast<const char*>(bytes_.data() + begin), bytes};
  return true;
}

}  // namespace crossdock::scan
