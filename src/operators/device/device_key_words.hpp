// Keys of any columns as words that joins and group-bys take (key_work.hpp says how, and what it costs).
//
// One 64-bit integer column without NULLs is its own words, and nothing runs. Columns whose types, or else values, need
// at most 64 bits together are packed. Others (strings, decimals, several wide columns) are numbered: the word of a
// key is the number of a row that has it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "operators/device/device_runner.hpp"

namespace crossdock::operators {

struct DeviceKeySpec {
  std::vector<DeviceValues> columns{};  // 1 to kKeyColumnsMax
  uint64_t rows = 0;
  // NULLs are values like others, as in group-bys; else a row with a NULL in any column is equal to nothing.
  bool nulls_equal = false;
};

// Words of one side. The columns may go, except where words are the column's own.
struct DeviceKeyWords {
  JoinRows rows{};
  DeviceBuffer words;
  DeviceBuffer valid;
};

class DeviceKeys {
 public:
  // CD-105 for columns that kernels do not read, CD-202 above 2^31 rows that must be numbered, CD-201 without memory.
  // The columns of numbered keys must live as long as it does.
  static Result<DeviceKeys> make(DeviceRunner& runner, const DeviceKeySpec& spec);

  const JoinRows& rows() const { return local_.rows; }
  bool are_numbered() const { return numbers_.count != 0; }
  bool are_packed() const { return is_packed_; }

  // Words of another side, equal to words of this one exactly if keys are. Rows whose key this side does not have may
  // have no word (`valid` says so). CD-103 for columns of another kind.
  Result<DeviceKeyWords> match(const DeviceKeySpec& other) const;

 private:
  Status lay_out(const DeviceKeySpec& spec);
  Status measure();
  bool place_fields();
  Result<DeviceKeyWords> pack(const KeyFields& keys, uint64_t rows, bool can_miss) const;
  Result<DeviceKeyWords> number(const KeyFields& keys, uint64_t rows, bool is_known) const;

  DeviceRunner* runner_ = nullptr;
  KeyFields fields_;
  DeviceKeyWords local_;
  DeviceBuffer slots_;
  KeyNumbers numbers_;
  bool is_packed_ = false;
};

// A column's values as words, for what computes with them: integers sign- or zero-extended, the bits of doubles, or
// words that order as signed numbers (DeviceValues::ordered_word). CD-105 for strings and decimals.
Result<DeviceKeyWords> read_words_on_device(DeviceRunner& runner,
                                            const DeviceValues& values,
                                            uint64_t rows,
                                            KeyOrder order = KeyOrder::kNone);

// Of the words of each field, or of its ordered words.
Result<std::vector<WordRange>> measure_keys(DeviceRunner& runner,
                                            const KeyFields& keys,
                                            uint64_t rows);

// CD-105 for float16, views of strings, and what is not there.
Status check_device_values(const DeviceValues& values);

}  // namespace crossdock::operators
