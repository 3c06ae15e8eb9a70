#include "operators/hash_join/key_plan.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace crossdock::operators {
namespace {

// Bits in which the values of both sides differ, or 64 when in doubt.
int common_bits(const DataType& left, const DataType& right, const KeyKind& kind) {
  if (kind.form == KeyForm::kBool) return 1;
  if (left.id == TypeId::kDictionary || right.id == TypeId::kDictionary) return 64;
  if (kind.form != KeyForm::kInteger64 || layout(left) != Layout::kFixed) return 64;
  const int left_bits = fixed_bytes(left) * 8;
  const int right_bits = fixed_bytes(right) * 8;
  const bool same_sign = is_unsigned_integer(left.id) == is_unsigned_integer(right.id);
  return same_sign ? std::max(left_bits, right_bits) : 64;
}

constexpr int kNameBits = 32;

uint64_t low_bits(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// clear[i] where row begin + i is null; answers whether any was.
bool clear_null_rows(const ColumnView& column, int64_t begin, int32_t count, uint8_t* live) {
  if (column.validity == nullptr) return false;
  uint8_t all = 1;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t bit = column.offset + begin + i;
    const uint8_t valid = (column.validity[bit >> 3] >> (bit & 7)) & 1;
    live[i] &= valid;
    all &= valid;
  }
  return all == 0;
}

// A dictionary may itself hold a null: the row is null if its value is.
bool clear_null_values(
    const ColumnView& column, int32_t index_bytes, int64_t begin, int32_t count, uint8_t* live) {
  const ColumnView& values = *column.dictionary;
  if (values.validity == nullptr) return false;
  bool any = false;
  for (int32_t i = 0; i < count; ++i) {
    if (live[i] == 0) continue;
    uint64_t index = 0;
    std::memcpy(&index, column.values + (column.offset + begin + i) * index_bytes, index_bytes);
    if (!values.is_valid(static_cast<int64_t>(index))) {
      live[i] = 0;
      any = true;
    }
  }
  return any;
}

}  // namespace

const char* key_mode_name(KeyMode mode) {
  switch (mode) {
    case KeyMode::kDense:
      return "dense";
    case KeyMode::kExact:
      return "exact";
    case KeyMode::kOrdered:
      return "ordered";
    default:
      return "hashed";
  }
}

Result<KeyPlan> plan_keys(const JoinSpec& spec,
                          const Schema& left,
                          const Schema& right,
                          uint64_t seed) {
  if (spec.keys.empty()) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a join needs at least one pair of key columns, on= is empty");
  }
  KeyPlan plan;
  plan.null_equals_null = spec.null_equals_null;
  plan.seed = seed;
  plan.mix = WordMix::from_seed(seed);
  int used_bits = 0;
  int named_bits = 0;  // the same, with names instead of strings
  bool all_exact = true;
  bool all_nameable = true;
  bool any_nullable = false;
  for (const auto& [left_column, right_column] : spec.keys) {
    const Field& left_field = left.fields[left_column];
    const Field& right_field = right.fields[right_column];
    auto kind = common_key_kind(left_field.type, right_field.type);
    if (!kind.ok()) {
      return make_error(kind.error().code,
                        "cannot join left.{} with right.{}: {}",
                        left_field.name,
                        right_field.name,
                        kind.error().message);
    }
    KeyPart part{left_column, right_column, kind.value(), 64, used_bits, nullptr};
    part.bits = common_bits(left_field.type, right_field.type, part.kind);
    all_exact = all_exact && is_exact64(part.kind);
    any_nullable = any_nullable || left_field.nullable || right_field.nullable;
    all_nameable = all_nameable && (is_exact64(part.kind) || part.kind.form == KeyForm::kBytes);
    named_bits += part.kind.form == KeyForm::kBytes ? kNameBits : part.bits;
    used_bits += part.bits;
    plan.parts.push_back(std::move(part));
  }
  // A null that may match needs a word of its own, which only hashing leaves room for.
  const bool nulls_match = spec.null_equals_null && any_nullable;
  plan.packs_exactly = all_exact && used_bits <= 64 && !nulls_match;
  plan.can_name_strings = !all_exact && all_nameable && named_bits <= 64 && !nulls_match;
  plan.mode = plan.packs_exactly ? KeyMode::kExact : KeyMode::kHashed;
  return plan;
}

void KeyPlan::name_strings(std::vector<std::shared_ptr<const BytesInterner>> names) {
  CD_CHECK(can_name_strings && names.size() == parts.size(),
           "names {} parts {}",
           names.size(),
           parts.size());
  int used_bits = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    parts[i].names = std::move(names[i]);
    if (parts[i].names != nullptr) parts[i].bits = kNameBits;
    parts[i].shift = used_bits;
    used_bits += parts[i].bits;
  }
  packs_exactly = true;
  mode = KeyMode::kExact;
}

void KeyPlan::words_to_keys(uint64_t* words, int32_t count) const {
  CD_CHECK(mode == KeyMode::kExact || mode == KeyMode::kDense, "{} words hold no keys", count);
  if (mode == KeyMode::kExact) return unmix_words(mix, words, count);
  const int shift = 64 - range_bits;
  for (int32_t i = 0; i < count; ++i) {
    words[i] = (words[i] >> shift) + static_cast<uint64_t>(range_min);
  }
}

KeyEncoder::KeyEncoder(const KeyPlan& plan, const Schema& schema, Side side)
    : plan_(&plan), side_(side) {
  for (const KeyPart& part : plan.parts) {
    const DataType& type = schema.fields[column_of(part)].type;
    name_scratch_.emplace_back();
    if (part.names != nullptr) name_scratch_.back().emplace(type);
    if (plan.packs_exactly) {
      loaders_.emplace_back(type, part.kind);
    } else {
      hashers_.emplace_back(type, part.kind, plan.seed);
    }
  }
}

void KeyEncoder::load_part(
    size_t part, const Batch& batch, int64_t begin, int32_t count, uint64_t* values) {
  const KeyPart& key = plan_->parts[part];
  const int index = column_of(key);
  if (key.names == nullptr) return loaders_[part].load(batch.columns[index], begin, count, values);
  uint32_t names[kMaxKeyRows];
  key.names->find(batch.columns[index], begin, count, names, *name_scratch_[part]);
  for (int32_t i = 0; i < count; ++i) values[i] = names[i];
}

void KeyEncoder::load_keys(const Batch& batch, int64_t begin, int32_t count, uint64_t* keys) {
  CD_CHECK(count <= kMaxKeyRows, "count {} limit {}", count, kMaxKeyRows);
  load_part(0, batch, begin, count, keys);
  if (plan_->parts.size() == 1) return;
  const uint64_t first_mask = low_bits(plan_->parts[0].bits);
  for (int32_t i = 0; i < count; ++i) keys[i] &= first_mask;
  uint64_t values[kMaxKeyRows];
  for (size_t p = 1; p < plan_->parts.size(); ++p) {
    const KeyPart& part = plan_->parts[p];
    load_part(p, batch, begin, count, values);
    const uint64_t mask = low_bits(part.bits);
    for (int32_t i = 0; i < count; ++i) keys[i] |= (values[i] & mask) << part.shift;
  }
}

void KeyEncoder::widen(const Batch& batch, int64_t begin, int32_t count, KeyRange& range) {
  uint64_t loaded[kMaxKeyRows];
  uint8_t live[kMaxKeyRows];
  KeyRange widened = range;
  for (int32_t offset = 0; offset < count; offset += kMaxKeyRows) {
    const int32_t rows = std::min<int32_t>(kMaxKeyRows, count - offset);
    load_keys(batch, begin + offset, rows, loaded);
    std::fill_n(live, rows, uint8_t{1});
    const bool any_null = clear_nulls(batch, begin + offset, rows, live);
    for (int32_t i = 0; i < rows; ++i) {
      if (any_null && live[i] == 0) continue;
      widened.min = std::min(widened.min, static_cast<int64_t>(loaded[i]));
      widened.max = std::max(widened.max, static_cast<int64_t>(loaded[i]));
    }
  }
  range = widened;
}

bool KeyEncoder::clear_nulls(const Batch& batch,
                             int64_t begin,
                             int32_t count,
                             uint8_t* live) const {
  bool any = false;
  for (const KeyPart& part : plan_->parts) {
    const int index = column_of(part);
    const ColumnView& column = batch.columns[index];
    any |= clear_null_rows(column, begin, count, live);
    if (column.dictionary != nullptr) {
      any |= clear_null_values(
          column, fixed_bytes(batch.schema->fields[index].type), begin, count, live);
    }
  }
  return any;
}

bool KeyEncoder::clear_outside(const uint64_t* keys, int32_t count, uint8_t* live) const {
  const KeyLimits& limits = plan_->limits;
  if (!limits.known) return false;
  if (limits.empty) {
    std::memset(live, 0, count);
    return true;
  }
  const auto min = static_cast<uint64_t>(limits.min);
  const uint64_t span = static_cast<uint64_t>(limits.max) - min;
  uint8_t all = 1;
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t inside = keys[i] - min <= span ? 1 : 0;
    live[i] &= inside;
    all &= inside;
  }
  return all == 0;
}

void KeyEncoder::keys_to_words(uint64_t* keys, int32_t count) const {
  if (plan_->mode == KeyMode::kExact) return mix_words(plan_->mix, keys, count);
  const auto range_min = static_cast<uint64_t>(plan_->range_min);
  const int shift = 64 - plan_->range_bits;
  for (int32_t i = 0; i < count; ++i) keys[i] = (keys[i] - range_min) << shift;
}

int32_t KeyEncoder::encode(
    const Batch& batch, int64_t begin, int32_t count, uint64_t* words, uint8_t* live) {
  std::memset(live, 1, count);
  bool any_dead = !plan_->null_equals_null && clear_nulls(batch, begin, count, live);
  if (plan_->mode == KeyMode::kHashed) {
    for (size_t p = 0; p < plan_->parts.size(); ++p) {
      hashers_[p].hash(batch.columns[column_of(plan_->parts[p])], begin, count, p > 0, words);
    }
  } else if (plan_->only_key[static_cast<int>(side_)].has_value()) {
    uint64_t word = static_cast<uint64_t>(*plan_->only_key[static_cast<int>(side_)]);
    uint8_t is_live = 1;
    const bool is_outside = clear_outside(&word, 1, &is_live);
    keys_to_words(&word, 1);
    std::fill_n(words, count, word);  // of dead rows too: unmatched rows get their key back from it
    if (is_outside) {
      std::memset(live, 0, count);
      return 0;
    }
  } else {
    load_keys(batch, begin, count, words);
    any_dead |= clear_outside(words, count, live);
    keys_to_words(words, count);
  }
  return any_dead ? static_cast<int32_t>(std::count(live, live + count, uint8_t{1})) : count;
}

}  // namespace crossdock::operators
