// Numbers of parts, packed side by side.
#include "operators/group_by/group_keys.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/check.hpp"
#include "operators/group_by/word_scan.hpp"
#include "table/key_word.hpp"

namespace crossdock::operators {
namespace {

constexpr uint64_t kNullLength = uint64_t{0xFF} << 56;  // in the last word of an image
constexpr uint64_t kTailSalt = 0x9E3779B97F4A7C15U;  // keeps the mix of a zero tail from being zero

int bits_of(UInt128 span) {
  const auto high = static_cast<uint64_t>(span >> 64);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<uint64_t>(span)));
}

int dropped_bits(TypeId id) {
  constexpr int kFloat32Zeros = 52 - 23;
  constexpr int kFloat16Zeros = 52 - 10;
  return id == TypeId::kFloat32 ? kFloat32Zeros : id == TypeId::kFloat16 ? kFloat16Zeros : 0;
}

GroupKeyForm part_form(const DataType& type) {
  if (type.id == TypeId::kDictionary) return GroupKeyForm::kDictionary;
  switch (value_form(type)) {
    case ValueForm::kReal:
      return GroupKeyForm::kReal;
    case ValueForm::kWide:
      return GroupKeyForm::kWide;
    case ValueForm::kBytes:
      return GroupKeyForm::kText;
    default:
      return GroupKeyForm::kNumber;
  }
}

// Bits of any value of a type without a look at the data; -1 if unknown.
int declared_bits(const DataType& type) {
  switch (part_form(type)) {
    case GroupKeyForm::kNumber:
      return layout(type) == Layout::kBits ? 1 : fixed_bytes(type) * 8;
    case GroupKeyForm::kReal:
      return 64 - dropped_bits(type.id);
    case GroupKeyForm::kDictionary:
      return 0;  // by its size, which is known
    default:
      return -1;
  }
}

bool has_nulls(const ChunkedColumn& column) {
  return column.any_nulls ||
         (column.dictionary != nullptr && column.dictionary->validity != nullptr);
}

// Numbers the values of a dictionary, equal ones alike.
Status number_dictionary(const ChunkedColumn& column, uint64_t seed, GroupKeyPart& part) {
  part.codes.clear();
  part.indices.clear();
  part.value_bits = 0;
  if (column.dictionary == nullptr || column.dictionary->length == 0) return {};
  const ColumnView& dictionary = *column.dictionary;
  const DataType& type = *column.field->type.dictionary;
  auto schema = std::make_shared<Schema>();
  schema->fields.push_back({"value", type, true, ""});
  RowStore store(schema);
  CD_TRY(store.add(Batch{schema, dictionary.length, {dictionary}, nullptr}));
  store.freeze();
  CD_ASSIGN(const KeyKind kind, common_key_kind(type, type));
  CD_ASSIGN(const RowComparer comparer,
            RowComparer::create({{&store.column(0), &store.column(0), kind}}, false));
  KeyHasher hasher(type, kind, seed);
  std::unordered_multimap<uint64_t, uint32_t> known;  // hash -> index
  part.codes.assign(static_cast<size_t>(dictionary.length), kNullCode);
  for (int64_t i = 0; i < dictionary.length; ++i) {
    if (!dictionary.is_valid(i)) continue;
    uint64_t hash = 0;
    hasher.hash(dictionary, i, 1, false, &hash);
    const auto [first, last] = known.equal_range(hash);
    const auto same = std::find_if(first, last, [&](const auto& entry) {
      const RowRef left = entry.second;
      const auto right = static_cast<RowRef>(i);
      uint32_t selected = 0;
      return comparer.select_equal(&left, &right, 1, &selected) == 1;
    });
    if (same != last) {
      part.codes[i] = part.codes[same->second];
      continue;
    }
    part.codes[i] = static_cast<uint32_t>(part.indices.size());
    part.indices.push_back(static_cast<uint32_t>(i));
    known.emplace(hash, static_cast<uint32_t>(i));
  }
  if (part.indices.size() > 1) part.value_bits = bits_of(part.indices.size() - 1);
  return {};
}

// Value bits and base of a part; -1 bits if it cannot be a number.
void set_bits(const DataType& type, const KeyColumnRange& range, GroupKeyPart& part) {
  if (part.form == GroupKeyForm::kReal) {
    part.dropped_bits = dropped_bits(type.id);
    part.value_bits = 64 - part.dropped_bits;
  } else if (part.form == GroupKeyForm::kText) {
    part.text_bytes =
        static_cast<int32_t>(std::clamp<int64_t>(range.text_bytes, 1, kMaxTextImageBytes + 1));
    const bool fits = range.known && part.text_bytes <= kMaxTextKeyBytes;
    part.value_bits = fits ? 8 * part.text_bytes + 4 : -1;
  } else if (range.known) {
    part.base = range.empty ? Int128{0} : range.min;
    part.value_bits =
        range.empty ? 0
                    : bits_of(static_cast<UInt128>(range.max) - static_cast<UInt128>(range.min));
  } else if (part.form == GroupKeyForm::kWide) {
    part.value_bits = -1;
  } else {
    part.value_bits = declared_bits(type);
    const bool is_signed = value_form(type) == ValueForm::kSigned && part.value_bits > 1;
    part.base = is_signed ? -(Int128{1} << (part.value_bits - 1)) : Int128{0};
  }
}

}  // namespace

const char* group_key_mode_name(GroupKeyMode mode) {
  constexpr const char* kNames[] = {"dense", "exact", "exact2", "image", "hashed"};
  return kNames[static_cast<int>(mode)];
}

bool packs_without_ranges(const std::vector<int>& keys, const RowStore& store) {
  int bits = 0;
  for (const int key : keys) {
    const ChunkedColumn& column = store.column(key);
    const int column_bits = declared_bits(column.field->type);
    if (column_bits < 0) return false;
    bits += column_bits + (has_nulls(column) ? 1 : 0);
    if (column.dictionary != nullptr) {
      bits += bits_of(static_cast<UInt128>(column.dictionary->length));
    }
  }
  return bits <= 64;
}

Result<GroupKeyPlan> plan_group_keys(const std::vector<int>& keys,
                                     const RowStore& store,
                                     const std::vector<KeyColumnRange>& ranges,
                                     uint64_t seed) {
  GroupKeyPlan plan;
  plan.seed = seed;
  plan.mix = WordMix::from_seed(seed);
  bool all_numbers = true;
  for (size_t i = 0; i < keys.size(); ++i) {
    const ChunkedColumn& column = store.column(keys[i]);
    GroupKeyPart part;
    part.column = keys[i];
    part.form = part_form(column.field->type);
    part.nullable = has_nulls(column);
    if (part.form == GroupKeyForm::kDictionary) {
      CD_TRY(number_dictionary(column, seed, part));
    } else {
      set_bits(column.field->type, ranges[i], part);
    }
    all_numbers = all_numbers && part.value_bits >= 0;
    plan.parts.push_back(std::move(part));
  }
  if (!all_numbers) {
    const GroupKeyPart& first = plan.parts[0];
    const bool is_image = plan.parts.size() == 1 && first.form == GroupKeyForm::kText &&
                          ranges[0].known && first.text_bytes <= kMaxTextImageBytes;
    if (is_image) plan.mode = GroupKeyMode::kImage;
    return plan;
  }
  for (size_t i = plan.parts.size(); i-- > 0;) {
    plan.parts[i].shift = plan.packed_bits;
    plan.packed_bits += plan.parts[i].bits();
  }
  const bool is_range = plan.parts.size() == 1 && ranges[0].known && !ranges[0].empty;
  if (is_range && plan.parts[0].form == GroupKeyForm::kNumber && !plan.parts[0].nullable) {
    plan.largest = static_cast<uint64_t>(ranges[0].max - ranges[0].min);
  }
  if (plan.packed_bits <= 64) plan.mode = GroupKeyMode::kExact;
  if (plan.packed_bits > 64 && plan.packed_bits <= 128) plan.mode = GroupKeyMode::kExact2;
  return plan;
}

void make_dense(GroupKeyPlan& plan) {
  CD_CHECK(plan.mode == GroupKeyMode::kExact && plan.packed_bits <= kDenseBitsMax,
           "mode {} bits {}",
           group_key_mode_name(plan.mode),
           plan.packed_bits);
  plan.mode = GroupKeyMode::kDense;
}

void KeyRangeScanner::scan(const ColumnView& column, int64_t begin, int32_t count) {
  if (encoded_) return;
  if (reader_.form() == ValueForm::kBytes) {
    range_->text_bytes = std::max(range_->text_bytes, reader_.longest_text(column, begin, count));
    return;
  }
  if (reader_.form() == ValueForm::kReal) return;
  CD_CHECK(count <= kGroupRows, "rows {}", count);
  range_->add(reader_, column, begin, count);
}

void merge_ranges(const KeyColumnRange& from, KeyColumnRange& into) {
  into.text_bytes = std::max(into.text_bytes, from.text_bytes);
  into.add(from);
}

std::optional<KeyColumnRange> range_without_scan(const ChunkedColumn& column) {
  KeyColumnRange range;
  range.known = true;
  switch (part_form(column.field->type)) {
    case GroupKeyForm::kText:
      for (const ColumnView& chunk : column.chunks) {
        if (chunk.longest_text < 0) return std::nullopt;
        range.text_bytes = std::max(range.text_bytes, chunk.longest_text);
      }
      return range;
    case GroupKeyForm::kDictionary:
    case GroupKeyForm::kReal:
      return range;
    default:
      return std::nullopt;
  }
}

GroupKeyEncoder::GroupKeyEncoder(const GroupKeyPlan& plan, const Schema& schema) : plan_(&plan) {
  for (const GroupKeyPart& part : plan.parts) {
    const DataType& type = schema.fields[part.column].type;
    readers_.emplace_back(type);
    if (plan.mode != GroupKeyMode::kHashed) continue;
    const auto kind = common_key_kind(type, type);
    CD_CHECK(kind.ok(), "column {}", part.column);
    hashers_.emplace_back(type, kind.value(), plan.seed);
  }
}

// The part's numbers into low_ and, if it is wide, high_.
void GroupKeyEncoder::pack_part(size_t p, const Batch& batch, int64_t begin, int32_t count) {
  const GroupKeyPart& part = plan_->parts[p];
  const ColumnView& column = batch.columns[part.column];
  ValueReader& reader = readers_[p];
  uint8_t valid[kGroupRows];
  const bool any_null = part.nullable && reader.valid(column, begin, count, valid);
  if (part.is_wide()) std::fill_n(high_, count, uint64_t{0});
  if (part.form == GroupKeyForm::kText) {
    uint64_t* high = part.value_bits > 64 ? high_ : nullptr;
    reader.strings(column, begin, count, {part.text_bytes, low_, high});
  } else if (part.form == GroupKeyForm::kWide) {
    reader.wide(column, begin, count, low_, high_);
    const auto base = static_cast<UInt128>(part.base);
    for (int32_t i = 0; i < count; ++i) {
      const UInt128 number = (static_cast<UInt128>(high_[i]) << 64 | low_[i]) - base;
      low_[i] = static_cast<uint64_t>(number);
      high_[i] = static_cast<uint64_t>(number >> 64);
    }
  } else if (part.form == GroupKeyForm::kDictionary) {
    reader.indices(column, begin, count, low_);
    for (int32_t i = 0; i < count; ++i) low_[i] = part.codes.empty() ? 0 : part.codes[low_[i]];
  } else {
    const uint64_t* words = reader.words(column, begin, count, low_);
    const auto base = static_cast<uint64_t>(part.base);
    if (part.form == GroupKeyForm::kReal) {
      for (int32_t i = 0; i < count; ++i) low_[i] = order_of_float(words[i]) >> part.dropped_bits;
    } else {
      for (int32_t i = 0; i < count; ++i) low_[i] = words[i] - base;
    }
  }
  if (!any_null) return;
  const UInt128 null_number = static_cast<UInt128>(1) << part.value_bits;
  for (int32_t i = 0; i < count; ++i) {
    low_[i] = valid[i] != 0 ? low_[i] : static_cast<uint64_t>(null_number);
    if (part.is_wide())
      high_[i] = valid[i] != 0 ? high_[i] : static_cast<uint64_t>(null_number >> 64);
  }
}

void GroupKeyEncoder::pack(const Batch& batch, int64_t begin, int32_t count, uint64_t* packed) {
  if (plan_->parts.empty()) std::fill_n(packed, count, uint64_t{0});
  for (size_t p = 0; p < plan_->parts.size(); ++p) {
    pack_part(p, batch, begin, count);
    const GroupKeyPart& part = plan_->parts[p];
    const int shift = part.shift & 63;  // a part of no bits may stand at 64
    if (p == 0) {
      for (int32_t i = 0; i < count; ++i) packed[i] = low_[i] << shift;
    } else {
      for (int32_t i = 0; i < count; ++i) packed[i] |= low_[i] << shift;
    }
  }
}

void GroupKeyEncoder::pack_wide(
    const Batch& batch, int64_t begin, int32_t count, uint64_t* low, uint64_t* high) {
  std::fill_n(low, count, uint64_t{0});
  std::fill_n(high, count, uint64_t{0});
  for (size_t p = 0; p < plan_->parts.size(); ++p) {
    pack_part(p, batch, begin, count);
    const GroupKeyPart& part = plan_->parts[p];
    if (part.bits() == 0) continue;
    for (int32_t i = 0; i < count; ++i) {
      const UInt128 number = static_cast<UInt128>(part.is_wide() ? high_[i] : 0) << 64 | low_[i];
      const UInt128 shifted = number << part.shift;
      low[i] |= static_cast<uint64_t>(shifted);
      high[i] |= static_cast<uint64_t>(shifted >> 64);
    }
  }
}

// Nulls have a length that no text has.
void GroupKeyEncoder::encode_images(const Batch& batch, int64_t begin, int32_t count, Words out) {
  const GroupKeyPart& part = plan_->parts[0];
  const ColumnView& column = batch.columns[part.column];
  uint64_t* const images[3] = {out.words, out.tails[0], out.tails[1]};
  readers_[0].text_images(column, begin, count, images);
  uint8_t valid[kGroupRows];
  if (part.nullable && readers_[0].valid(column, begin, count, valid)) {
    for (int32_t i = 0; i < count; ++i) out.tails[1][i] |= valid[i] != 0 ? 0 : kNullLength;
  }
  for (int32_t i = 0; i < count; ++i) low_[i] = out.tails[1][i] ^ kTailSalt;
  mix_words(plan_->mix, low_, count);
  for (int32_t i = 0; i < count; ++i) low_[i] ^= out.tails[0][i];
  mix_words(plan_->mix, low_, count);
  for (int32_t i = 0; i < count; ++i) out.words[i] ^= low_[i];
  mix_words(plan_->mix, out.words, count);
}

// One number without nulls is a distance, and is read, subtracted and mixed or shifted in one pass.
bool GroupKeyEncoder::encode_number(const Batch& batch,
                                    int64_t begin,
                                    int32_t count,
                                    uint64_t* words) {
  if (plan_->parts.size() != 1) return false;
  const GroupKeyPart& part = plan_->parts[0];
  if (part.form != GroupKeyForm::kNumber || part.nullable || plan_->packed_bits == 0) return false;
  const uint64_t* values = readers_[0].words(batch.columns[part.column], begin, count, low_);
  if (values != low_) fetch_words(values + count, count);
  const auto base = static_cast<uint64_t>(part.base);
  if (plan_->mode == GroupKeyMode::kDense) {
    shift_distances(values, base, 64 - plan_->packed_bits, count, words);
  } else {
    mix_distances(plan_->mix, values, base, count, words);
  }
  return true;
}

void GroupKeyEncoder::encode(const Batch& batch, int64_t begin, int32_t count, Words out) {
  CD_CHECK(count <= kGroupRows, "rows {}", count);
  uint64_t* const words = out.words;
  uint64_t* const tails = out.tails[0];
  switch (plan_->mode) {
    case GroupKeyMode::kDense: {
      if (encode_number(batch, begin, count, words)) return;
      pack(batch, begin, count, words);
      const int shift = 64 - plan_->packed_bits;
      if (shift == 64) return std::fill_n(words, count, uint64_t{0}), void();
      for (int32_t i = 0; i < count; ++i) words[i] <<= shift;
      return;
    }
    case GroupKeyMode::kExact:
      if (encode_number(batch, begin, count, words)) return;
      pack(batch, begin, count, words);
      return mix_words(plan_->mix, words, count);
    case GroupKeyMode::kExact2: {
      pack_wide(batch, begin, count, words, tails);
      for (int32_t i = 0; i < count; ++i) low_[i] = tails[i] ^ kTailSalt;
      mix_words(plan_->mix, low_, count);
      for (int32_t i = 0; i < count; ++i) words[i] ^= low_[i];
      return mix_words(plan_->mix, words, count);
    }
    case GroupKeyMode::kImage:
      return encode_images(batch, begin, count, out);
    case GroupKeyMode::kHashed:
      for (size_t p = 0; p < hashers_.size(); ++p) {
        hashers_[p].hash(batch.columns[plan_->parts[p].column], begin, count, p > 0, words);
      }
      // The table keeps word 0 for places without a group.
      for (int32_t i = 0; i < count; ++i) words[i] += words[i] == 0;
  }
}

void words_to_packed(const GroupKeyPlan& plan,
                     uint64_t* words,
                     const uint64_t* tails,
                     int32_t count) {
  CD_CHECK(plan.is_packed(), "{} words hold no packed keys", count);
  if (plan.mode == GroupKeyMode::kDense) {
    const int shift = 64 - plan.packed_bits;
    for (int32_t i = 0; i < count; ++i) words[i] = shift == 64 ? 0 : words[i] >> shift;
    return;
  }
  unmix_words(plan.mix, words, count);
  if (plan.mode == GroupKeyMode::kExact) return;
  for (int32_t i = 0; i < count; ++i) words[i] ^= plan.mix.mix(tails[i] ^ kTailSalt);
}

void unpack_part(const GroupKeyPart& part, const PackedKeys& keys, int32_t count, PartNumbers out) {
  if (part.bits() == 0) {
    std::fill_n(out.low, count, uint64_t{0});
  } else if (keys.high == nullptr) {
    const uint64_t mask = part.bits() == 64 ? ~uint64_t{0} : (uint64_t{1} << part.bits()) - 1;
    for (int32_t i = 0; i < count; ++i) out.low[i] = (keys.low[i] >> part.shift) & mask;
  } else {
    const UInt128 mask =
        part.bits() == 128 ? ~UInt128{0} : (static_cast<UInt128>(1) << part.bits()) - 1;
    for (int32_t i = 0; i < count; ++i) {
      const UInt128 key = static_cast<UInt128>(keys.high[i]) << 64 | keys.low[i];
      const UInt128 number = (key >> part.shift) & mask;
      out.low[i] = static_cast<uint64_t>(number);
      if (part.is_wide()) out.high[i] = static_cast<uint64_t>(number >> 64);
    }
  }
  if (part.nullable) {
    const bool beyond = part.value_bits >= 64;
    const int shift = part.value_bits & 63;
    for (int32_t i = 0; i < count; ++i) {
      const uint64_t null = ((beyond ? out.high[i] : out.low[i]) >> shift) & 1;
      out.valid[i] = static_cast<uint8_t>(1 - null);
      out.low[i] = null != 0 ? 0 : out.low[i];
      if (part.is_wide()) out.high[i] = null != 0 ? 0 : out.high[i];
    }
  }
  if (part.form != GroupKeyForm::kReal) return;
  for (int32_t i = 0; i < count; ++i) {
    uint64_t ordered = out.low[i] << part.dropped_bits;
    const bool negative = (ordered & kSignBit) == 0;
    if (negative) ordered |= (uint64_t{1} << part.dropped_bits) - 1;
    out.low[i] = float_of_order(ordered);
  }
}

}  // namespace crossdock::operators
