#include "operators/device/device_key_words.hpp"

#include <algorithm>
#include <bit>

namespace crossdock::operators {
namespace {

constexpr uint64_t kNumberedRowsMax = uint64_t{1} << 31;
constexpr uint64_t kSlotsPerNumber = 2;
// Between keys that were partitioned, joined or grouped by another mix before.
const WordMix kNumberMix = WordMix::from_seed(0xA24BAED4963EE407U);

enum class KeyClass : uint8_t { kBool, kSigned, kUnsigned, kFloat, kWide, kText };

KeyClass key_class_of(Stored stored) {
  switch (stored) {
    case Stored::kBit:
      return KeyClass::kBool;
    case Stored::kUInt64:
      return KeyClass::kUnsigned;
    case Stored::kFloat32:
    case Stored::kFloat64:
      return KeyClass::kFloat;
    case Stored::kInt128:
      return KeyClass::kWide;
    case Stored::kBytes32:
    case Stored::kBytes64:
      return KeyClass::kText;
    default:
      return KeyClass::kSigned;
  }
}

// Of values of up to 32 bits what the type bounds; others have all 64.
void bound_by_type(KeyField& field) {
  const auto set = [&](uint32_t bits, bool is_signed) {
    field.base = is_signed ? 0 - (uint64_t{1} << (bits - 1)) : 0;
    field.distance_max = (uint64_t{1} << bits) - 1;
  };
  switch (field.values.stored) {
    case Stored::kBit:
      return set(1, false);
    case Stored::kInt8:
      return set(8, true);
    case Stored::kInt16:
      return set(16, true);
    case Stored::kInt32:
      return set(32, true);
    case Stored::kUInt8:
      return set(8, false);
    case Stored::kUInt16:
      return set(16, false);
    case Stored::kUInt32:
      return set(32, false);
    default:
      field.base = 0;
      field.distance_max = UINT64_MAX;
  }
}

// The column's memory is the words.
bool is_word_itself(const DeviceValues& values) {
  return (values.stored == Stored::kInt64 || values.stored == Stored::kUInt64) &&
         values.validity == nullptr;
}

uint32_t grid_of_keys(const DeviceRunner& runner, uint64_t rows) {
  return grid_of(runner, tiles_of(rows, kKeyTileRows));
}

bool any_null(const KeyFields& keys) {
  return std::any_of(keys.fields, keys.fields + keys.count, [](const KeyField& field) {
    return field.values.validity != nullptr;
  });
}

Result<DeviceKeyWords> words_for(DeviceRunner& runner, uint64_t rows, bool has_valid) {
  DeviceKeyWords key_words;
  CD_ASSIGN(key_words.words, DeviceBuffer::words(runner, rows));
  if (has_valid) {
    CD_ASSIGN(key_words.valid, DeviceBuffer::make(runner, rows));
  }
  key_words.rows = {.keys = key_words.words.words(),
                    .count = rows,
                    .valid = has_valid ? key_words.valid.as<uint8_t>() : nullptr};
  return Result<DeviceKeyWords>(std::move(key_words));
}

}  // namespace

Result<std::vector<WordRange>> measure_keys(DeviceRunner& runner,
                                            const KeyFields& keys,
                                            uint64_t rows) {
  std::vector<DeviceRangeSource> fields;
  for (uint32_t at = 0; at < keys.count; ++at) fields.emplace_back(FieldRange{keys.fields[at]});
  return measure_ranges(runner, fields, rows);
}

Status check_device_values(const DeviceValues& values) {
  if (values.stored != Stored::kFloat16 && values.stored != Stored::kByteViews) return {};
  return make_error(ErrorCode::kInvalidArgument,
                    "a column of {}; cast it to {} before it goes to a device",
                    values.stored == Stored::kFloat16 ? "float16 values" : "views of strings",
                    values.stored == Stored::kFloat16 ? "float32" : "utf8 or binary");
}

Result<DeviceKeyWords> read_words_on_device(DeviceRunner& runner,
                                            const DeviceValues& values,
                                            uint64_t rows,
                                            KeyOrder order) {
  CD_TRY(check_device_values(values));
  if (key_class_of(values.stored) >= KeyClass::kWide) {
    return make_error(ErrorCode::kInvalidArgument,
                      "a column of strings or decimals has no words to compute with on a device; "
                      "count it, or take it as a key");
  }
  CD_ASSIGN(DeviceKeyWords key_words, words_for(runner, rows, values.validity != nullptr));
  KeyFields fields{.count = 1};
  fields.fields[0] = {.values = values, .order = order};
  CD_TRY(runner.launch(
      PackKeys{.keys = fields,
               .rows = rows,
               .words = key_words.words.words(),
               .valid = values.validity == nullptr ? nullptr : key_words.valid.as<uint8_t>()},
      grid_of_keys(runner, rows)));
  return Result<DeviceKeyWords>(std::move(key_words));
}

Status DeviceKeys::lay_out(const DeviceKeySpec& spec) {
  if (spec.columns.empty() || spec.columns.size() > kKeyColumnsMax) {
    return make_error(ErrorCode::kInvalidArgument,
                      "{} key columns; on a device a key has 1 to {}",
                      spec.columns.size(),
                      kKeyColumnsMax);
  }
  fields_.nulls_equal = spec.nulls_equal;
  for (const DeviceValues& values : spec.columns) {
    CD_TRY(check_device_values(values));
    KeyField& field = fields_.fields[fields_.count++];
    field.values = values;
    bound_by_type(field);
  }
  return {};
}

// Whether all fields find room beside each other.
bool DeviceKeys::place_fields() {
  uint32_t bits = 0;
  for (uint32_t at = 0; at < fields_.count; ++at) {
    KeyField& field = fields_.fields[at];
    const KeyClass kind = key_class_of(field.values.stored);
    if (kind == KeyClass::kWide || kind == KeyClass::kText) return false;
    const bool has_null_code = fields_.nulls_equal;
    if (has_null_code && field.distance_max == UINT64_MAX) return false;
    field.shift = bits;
    const uint64_t codes_max = field.distance_max + (has_null_code ? 1 : 0);
    bits += codes_max == 0 ? 1 : static_cast<uint32_t>(std::bit_width(codes_max));
    if (bits > 64) return false;
  }
  return true;
}

// Fields as wide as the values are.
Status DeviceKeys::measure() {
  CD_ASSIGN(const std::vector<WordRange> ranges,
            measure_keys(*runner_, fields_, local_.rows.count));
  for (uint32_t at = 0; at < fields_.count; ++at) {
    const WordRange range = ranges[at].is_empty() ? WordRange{0, 0} : ranges[at];
    fields_.fields[at].base = static_cast<uint64_t>(range.least);
    fields_.fields[at].distance_max =
        static_cast<uint64_t>(range.most) - static_cast<uint64_t>(range.least);
  }
  return {};
}

Result<DeviceKeys> DeviceKeys::make(DeviceRunner& runner, const DeviceKeySpec& spec) {
  DeviceKeys result;
  result.runner_ = &runner;
  result.local_.rows.count = spec.rows;
  CD_TRY(result.lay_out(spec));
  result.is_packed_ = result.place_fields();
  const KeyField& only = result.fields_.fields[0];
  if (result.is_packed_ && result.fields_.count == 1 && is_word_itself(only.values)) {
    result.local_.rows.keys = static_cast<const uint64_t*>(only.values.values) + only.values.first;
    return Result<DeviceKeys>(std::move(result));
  }
  const bool may_pack =
      std::none_of(spec.columns.begin(), spec.columns.end(), [](const DeviceValues& values) {
        return key_class_of(values.stored) >= KeyClass::kWide;
      });
  if (!result.is_packed_ && may_pack) {
    CD_TRY(result.measure());
    result.is_packed_ = result.place_fields();
  }
  if (result.is_packed_) {
    CD_ASSIGN(result.local_, result.pack(result.fields_, spec.rows, false));
    return Result<DeviceKeys>(std::move(result));
  }
  if (spec.rows > kNumberedRowsMax) {
    return make_error(ErrorCode::kTooManyRows,
                      "keys of {} rows are to be numbered on a device, which takes at most {}; "
                      "number the smaller side, or partition both",
                      spec.rows,
                      kNumberedRowsMax);
  }
  KeyNumbers& numbers = result.numbers_;
  numbers.count = kSlotsPerNumber * spec.rows + 1;
  numbers.mix = kNumberMix;
  CD_ASSIGN(result.slots_, DeviceBuffer::words(runner, numbers.count));
  numbers.slots = result.slots_.words();
  CD_TRY(runner.launch(FillWords{.words = numbers.slots, .count = numbers.count},
                       grid_of(runner, tiles_of(numbers.count, FillWords::kThreads))));
  CD_ASSIGN(result.local_, result.number(result.fields_, spec.rows, false));
  return Result<DeviceKeys>(std::move(result));
}

Result<DeviceKeyWords> DeviceKeys::pack(const KeyFields& keys, uint64_t rows, bool can_miss) const {
  const bool has_valid = can_miss || (!keys.nulls_equal && any_null(keys));
  CD_ASSIGN(DeviceKeyWords key_words, words_for(*runner_, rows, has_valid));
  CD_TRY(runner_->launch(PackKeys{.keys = keys,
                                  .rows = rows,
                                  .words = key_words.words.words(),
                                  .valid = has_valid ? key_words.valid.as<uint8_t>() : nullptr},
                         grid_of_keys(*runner_, rows)));
  return Result<DeviceKeyWords>(std::move(key_words));
}

Result<DeviceKeyWords> DeviceKeys::number(const KeyFields& keys,
                                          uint64_t rows,
                                          bool is_known) const {
  const bool has_valid = is_known || (!keys.nulls_equal && any_null(keys));
  CD_ASSIGN(DeviceKeyWords key_words, words_for(*runner_, rows, has_valid));
  CD_TRY(runner_->launch(NumberKeys{.keys = keys,
                                    .rows = rows,
                                    .numbers = numbers_,
                                    .is_known = is_known,
                                    .known = fields_,
                                    .words = key_words.words.words(),
                                    .valid = has_valid ? key_words.valid.as<uint8_t>() : nullptr},
                         grid_of_keys(*runner_, rows)));
  return Result<DeviceKeyWords>(std::move(key_words));
}

Result<DeviceKeyWords> DeviceKeys::match(const DeviceKeySpec& other) const {
  if (other.columns.size() != fields_.count) {
    return make_error(ErrorCode::kInvalidArgument,
                      "keys of {} and of {} columns are to be compared",
                      fields_.count,
                      other.columns.size());
  }
  KeyFields keys = fields_;
  for (uint32_t at = 0; at < fields_.count; ++at) {
    const DeviceValues& values = other.columns[at];
    CD_TRY(check_device_values(values));
    if (key_class_of(values.stored) != key_class_of(fields_.fields[at].values.stored)) {
      return make_error(
          ErrorCode::kKeyTypeMismatch,
          "key column {} of two sides has values of two kinds; on a device "
          "integers, uint64, floats, bools, decimals and strings are kinds of their own: "
          "cast one",
          at);
    }
    keys.fields[at].values = values;
  }
  if (!is_packed_) return number(keys, other.rows, true);
  if (fields_.count == 1 && fields_.fields[0].distance_max == UINT64_MAX &&
      is_word_itself(other.columns[0])) {
    DeviceKeyWords key_words;
    key_words.rows = {
        .keys = static_cast<const uint64_t*>(other.columns[0].values) + other.columns[0].first,
        .count = other.rows};
    return Result<DeviceKeyWords>(std::move(key_words));
  }
  return pack(keys, other.rows, true);
}

}  // namespace crossdock::operators
