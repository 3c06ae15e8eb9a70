// Thrift's compact protocol, as far as Parquet's metadata use it. Nothing that is read is believed: every length is
// held against the bytes that are left, nesting has a limit, and after the first fault all further reads give nothing.
//
//   reader.each_field([&](int id, ThriftType type) {
//     if (id == 1) return reader.read(type, &size);
//     return false;  // skipped
//   });
//   if (reader.failed()) ...
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace crossdock::scan {

enum class ThriftType : uint8_t {
  kStop = 0,
  kTrue = 1,
  kFalse = 2,
  kByte = 3,
  kInt16 = 4,
  kInt32 = 5,
  kInt64 = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

// Used by one thread. Strings that it gives point into the bytes.
class ThriftReader {
 public:
  explicit ThriftReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  // Bytes read so far.
  int64_t position() const { return static_cast<int64_t>(at_); }

  // Calls `field(id, type)` for each field of a struct. It reads the field and answers true, or answers false.
  template <class Field>
  void each_field(Field field) {
    int id = 0;
    while (begin_field(&id)) {
      if (!field(id, type_)) skip(type_, 0);
    }
  }
  // Calls `element(type)` for each element of a list, to the same effect. Answers whether it was one. Of booleans each
  // is a byte, 1 for true.
  template <class Element>
  bool each_element(ThriftType type, Element element) {
    ThriftType of = ThriftType::kStop;
    if (type != ThriftType::kList && type != ThriftType::kSet) return false;
    int64_t left = begin_list(&of);
    if (of == ThriftType::kTrue || of == ThriftType::kFalse) of = ThriftType::kByte;
    for (; left > 0 && !failed_; --left) {
      if (!element(of)) skip(of, 0);
    }
    return true;
  }

  // Each answers false, and reads nothing, where a field has another type.
  bool read(ThriftType type, int64_t* value);
  bool read(ThriftType type, int8_t* value);
  bool read(ThriftType type, int32_t* value);  // a fault where it does not fit
  bool read(ThriftType type, bool* value);
  bool read(ThriftType type, std::string_view* value);

 private:
  bool begin_field(int* id);
  int64_t begin_list(ThriftType* type);
  void skip(ThriftType type, int depth);
  void skip_elements(ThriftType type, int64_t count, int depth);
  uint8_t byte();
  uint64_t varint();
  int64_t zigzag();
  void advance(uint64_t bytes);
  size_t left() const { return bytes_.size() - at_; }
  void fail() {
    failed_ = true;
    at_ = bytes_.size();
  }

  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
  bool failed_ = false;
  ThriftType type_ = ThriftType::kStop;
};

}  // namespace crossdock::scan
