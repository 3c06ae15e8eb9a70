// Group keys as words: how the key columns of a row become 64 or 128 bits that a scatter can partition
// and a table can compare, and how the columns are got back from them.
//
// Every key column becomes a number of few bits: its distance from the smallest value, one code more
// for null, strings as padded bytes and length, dictionaries by the number of their value. The numbers
// stand side by side in one packed key, the first column on top, so packed keys order as the rows do.
//
//   dense    few bits: the word is the packed key, shifted to the top; groups are places of an array
//   exact    up to 64 bits: the packed key, mixed bijectively. Equal words are equal keys.
//   exact2   up to 128 bits: the lower half mixed together with the upper one, which goes along as the
//            row's tail. Equal words and tails are equal keys.
//   image    one text of up to 23 bytes: three words, the first mixed with the other two, which go along
//            as tails. All three equal are equal keys; columns come from the first row of a group.
//   hashed   the rest: a hash; a row is compared with the first row of its group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/int128.hpp"
#include "base/result.hpp"
#include "operators/group_by/accumulator.hpp"
#include "table/key_hash.hpp"
#include "table/row_compare.hpp"
#include "table/value_range.hpp"
#include "table/value_words.hpp"
#include "table/word_mix.hpp"

namespace crossdock::operators {

enum class GroupKeyMode : uint8_t { kDense, kExact, kExact2, kImage, kHashed };
const char* group_key_mode_name(GroupKeyMode mode);

enum class GroupKeyForm : uint8_t { kNumber, kReal, kWide, kText, kDictionary };

struct GroupKeyPart {
  int column = 0;
  GroupKeyForm form = GroupKeyForm::kNumber;
  bool nullable = false;          // as the data are
  int value_bits = 64;            // of the number; 0 if there is only one value
  int shift = 0;                  // where the part starts in the packed key
  Int128 base = 0;                // kNumber, kWide: the smallest value; subtracted
  int dropped_bits = 0;           // kReal: low bits of the float64 that the type leaves zero
  int32_t text_bytes = 0;         // kText: of the longest
  std::vector<uint32_t> codes;    // kDictionary: index -> number of its value; kNullCode for a null
  std::vector<uint32_t> indices;  // kDictionary: number -> the first index of that value

  // A null is the bit above the value.
  int bits() const { return nullable ? value_bits + 1 : value_bits; }
  bool is_wide() const { return bits() > 64; }
};
constexpr uint32_t kNullCode = UINT32_MAX;

// What a scan of a key column says of it.
struct KeyColumnRange : ValueRange {
  bool known = false;
  int64_t text_bytes = 0;
};

struct GroupKeyPlan {
  GroupKeyMode mode = GroupKeyMode::kHashed;
  std::vector<GroupKeyPart> parts;
  int packed_bits = 0;
  uint64_t largest = UINT64_MAX;  // no packed key is above it
  WordMix mix;
  uint64_t seed = 0;

  int tail_count() const {
    return mode == GroupKeyMode::kImage ? 2 : mode == GroupKeyMode::kExact2 ? 1 : 0;
  }
  bool has_tail() const { return tail_count() > 0; }
  bool is_packed() const { return mode <= GroupKeyMode::kExact2; }
  bool needs_refs() const { return !is_packed(); }
};

// Whether the declared types alone make packed keys of 64 bits; if not, ranges are worth a scan.
bool packs_without_ranges(const std::vector<int>& keys, const RowStore& store);

// `ranges`: by key, known or not.
Result<GroupKeyPlan> plan_group_keys(const std::vector<int>& keys,
                                     const RowStore& store,
                                     const std::vector<KeyColumnRange>& ranges,
                                     uint64_t seed);

// Exact words of at most `kDenseBitsMax` bits can be dense.
constexpr int kDenseBitsMax = 34;
void make_dense(GroupKeyPlan& plan);

// Takes rows of a batch into the range of one column.
class KeyRangeScanner {
 public:
  KeyRangeScanner(const DataType& type, KeyColumnRange* range)
      : reader_(type), range_(range), encoded_(type.id == TypeId::kDictionary) {}
  void scan(const ColumnView& column, int64_t begin, int32_t count);

 private:
  ValueReader reader_;
  KeyColumnRange* range_;
  bool encoded_;  // dictionaries are numbered; their ranges say nothing
};
void merge_ranges(const KeyColumnRange& from, KeyColumnRange& into);

// The range of a column as far as it counts for keys, where that is known without a scan: imported strings
// know their longest, and of dictionaries and floats no range is used.
std::optional<KeyColumnRange> range_without_scan(const ChunkedColumn& column);

// Key words of a block of rows.
struct KeyBlock {
  int32_t rows = 0;
  const uint64_t* words = nullptr;
  const uint64_t* tails[2] = {nullptr, nullptr};  // kExact2: one, kImage: both
  const RowRef* refs = nullptr;                   // kImage, kHashed
};

// One per worker.
class GroupKeyEncoder {
 public:
  GroupKeyEncoder(const GroupKeyPlan& plan, const Schema& schema);

  // Writes words, and as many tails as the plan has. count <= kGroupRows.
  struct Words {
    uint64_t* words;
    uint64_t* tails[2];
  };
  void encode(const Batch& batch, int64_t begin, int32_t count, Words out);

  // Packed keys of at most 64 bits, before they are mixed.
  void pack(const Batch& batch, int64_t begin, int32_t count, uint64_t* packed);

 private:
  void pack_part(size_t part, const Batch& batch, int64_t begin, int32_t count);
  bool encode_number(const Batch& batch, int64_t begin, int32_t count, uint64_t* words);
  void encode_images(const Batch& batch, int64_t begin, int32_t count, Words out);
  void pack_wide(const Batch& batch, int64_t begin, int32_t count, uint64_t* low, uint64_t* high);

  const GroupKeyPlan* plan_;
  std::vector<ValueReader> readers_;
  std::vector<KeyHasher> hashers_;
  uint64_t low_[kGroupRows];   // of the part being packed
  uint64_t high_[kGroupRows];  // written only if the part has more than 64 bits
};

// Packed keys back from words and tails. In place: words become low halves, tails stay high ones.
void words_to_packed(const GroupKeyPlan& plan,
                     uint64_t* words,
                     const uint64_t* tails,
                     int32_t count);

// Numbers of one part in packed keys. `high` of the keys may be nullptr where they have 64 bits, and
// high of the numbers is written only if the part is wide. Nulls become 0.
struct PackedKeys {
  const uint64_t* low = nullptr;
  const uint64_t* high = nullptr;
};
struct PartNumbers {
  uint64_t* low = nullptr;
  uint64_t* high = nullptr;
  uint8_t* valid = nullptr;  // written only if the part is nullable
};
void unpack_part(const GroupKeyPart& part, const PackedKeys& keys, int32_t count, PartNumbers out);

}  // namespace crossdock::operators
