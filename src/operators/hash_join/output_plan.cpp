#include "operators/hash_join/output_plan.hpp"

#include <algorithm>
#include <set>

#include "base/integer_types.hpp"

namespace crossdock::operators {
namespace {

constexpr int kLaneBits = 64;
constexpr int kRefBits = 32;

bool side_can_be_missing(JoinKind kind, Side side) {
  if (kind == JoinKind::kFull) return true;
  if (kind == JoinKind::kLeft) return side == Side::kRight;
  return kind == JoinKind::kRight && side == Side::kLeft;
}

// The value bits of a column that can ride in a lane, or 0 if it cannot.
int packable_bits(const DataType& type) {
  if (layout(type) == Layout::kBits) return 1;
  if (layout(type) != Layout::kFixed || type.id == TypeId::kDictionary) return 0;
  return fixed_bytes(type) <= 8 ? fixed_bytes(type) * 8 : 0;
}

// The key word gives back the exact value of integers and instants; floats lose the sign of zero,
// bools and dictionaries do not lie as plain values.
bool word_gives_value(const DataType& type, const KeyPart& part) {
  return part.kind.form == KeyForm::kInteger64 && layout(type) == Layout::kFixed &&
         type.id != TypeId::kDictionary && fixed_bytes(type) <= 8;
}

const KeyPart* part_with(const KeyPlan& keys, Side side, int column) {
  for (const KeyPart& part : keys.parts) {
    if ((side == Side::kLeft ? part.left : part.right) == column) return &part;
  }
  return nullptr;
}

// A kept unmatched row may have a null key, which no word can say: unless the column has no nulls,
// such keys are not computed from words.
bool key_may_be_null(const JoinSpec& spec, const Field& column) {
  return spec.kind != JoinKind::kInner && spec.kind != JoinKind::kSemi && column.nullable;
}

class Planner {
 public:
  Planner(const OutputRequest& request, OutputPlan& plan) : request_(request), plan_(plan) {}

  void run() {
    for (size_t i = 0; i < request_.spec->output.size(); ++i) place_key_word(i);
    for (const Side side : {Side::kLeft, Side::kRight}) place_side(side);
    for (const OutputField& field : plan_.fields) {
      plan_.needs_keys |= field.source == OutputField::Source::kKeyWord;
    }
  }

 private:
  const Field& field(Side side, int index) const {
    return request_.schemas[index_of(side)].fields[static_cast<size_t>(index)];
  }

  bool words_give_keys(const JoinSpec& spec, const KeyPart& part) const {
    const KeyPlan& keys = *request_.keys;
    switch (keys.mode) {
      case KeyMode::kHashed:
        return false;
      case KeyMode::kDense:
        // Words of rows outside the range mean nothing, so only pairs have words that give keys.
        return spec.kind == JoinKind::kInner;
      case KeyMode::kExact:
        return true;
      case KeyMode::kOrdered:
        return keys.packs_exactly && ordered_word_gives(keys, part);
    }
    return false;
  }

  // Ordered words give back what the left side stores; and nulls that match each other are no values.
  bool ordered_word_gives(const KeyPlan& keys, const KeyPart& part) const {
    const Field& left = field(Side::kLeft, part.left);
    const Field& right = field(Side::kRight, part.right);
    const bool nulls_match = keys.null_equals_null && (left.nullable || right.nullable);
    return !nulls_match && left.type.id != TypeId::kDictionary &&
           fixed_bytes(left.type) == fixed_bytes(right.type);
  }

  void place_key_word(size_t i) {
    const JoinSpec& spec = *request_.spec;
    OutputField& out = plan_.fields[i];
    const Side side = out.side == OutputSide::kRight ? Side::kRight : Side::kLeft;
    const KeyPart* part = part_with(*request_.keys, side, out.column);
    if (part == nullptr) return;
    out.right_column = part->right;
    out.key_shift = part->shift;
    out.key_part = static_cast<int>(part - request_.keys->parts.data());
    if (request_.refs_only[0] || request_.refs_only[1]) return;
    if (!words_give_keys(spec, *part)) return;
    if (!word_gives_value(out.field.type, *part)) return;
    if (key_may_be_null(spec, field(side, out.column))) return;
    if (out.side == OutputSide::kKey && key_may_be_null(spec, field(Side::kRight, part->right))) {
      return;
    }
    out.source = OutputField::Source::kKeyWord;
  }

  static bool touches(const OutputField& field, Side side) {
    if (field.source == OutputField::Source::kKeyWord) return false;
    return field.side == OutputSide::kKey ||
           field.side == (side == Side::kLeft ? OutputSide::kLeft : OutputSide::kRight);
  }

  bool must_have_ref(Side side) const {
    const JoinSpec& spec = *request_.spec;
    if (request_.refs_only[index_of(side)]) return true;
    if (request_.keys->needs_verification() || spec.residual) return true;
    return std::ranges::any_of(plan_.fields, [&](const OutputField& field) {
      return field.side == OutputSide::kKey && touches(field, side);
    });
  }

  int bits_with_null(Side side, const OutputField& field) const {
    const int bits = packable_bits(field.field.type);
    return bits == 0 ? 0 : bits + (this->field(side, field.column).nullable ? 1 : 0);
  }

  void place_side(Side side) {
    CarryPlan& carry = plan_.carry[index_of(side)];
    std::vector<OutputField*> late_fields;
    int total_bits = 0;
    bool all_fit = true;
    for (OutputField& field : plan_.fields) {
      if (!touches(field, side) || field.side == OutputSide::kKey) continue;
      late_fields.push_back(&field);
      const int bits = bits_with_null(side, field);
      all_fit = all_fit && bits > 0;
      total_bits += bits;
    }
    const bool late = request_.spec->materialize == Materialize::kLate && !late_fields.empty();
    carry.has_ref = must_have_ref(side) || late || !all_fit || total_bits > kLaneBits;
    if (late || request_.refs_only[index_of(side)]) return;
    int used = carry.has_ref ? kRefBits : 0;
    for (OutputField* field : late_fields) {
      const int bits = bits_with_null(side, *field);
      if (bits > 0 && used + bits <= kLaneBits) pack_field(side, *field, used);
    }
  }

  void pack_field(Side side, OutputField& field, int& used) {
    PackedField packed{field.column, used, packable_bits(field.field.type), -1};
    used += packed.bits;
    if (this->field(side, field.column).nullable) packed.null_shift = used++;
    field.source = OutputField::Source::kPacked;
    field.packed = packed;
    plan_.carry[index_of(side)].fields.push_back(packed);
  }

  const OutputRequest& request_;
  OutputPlan& plan_;
};

void or_bits(const uint8_t* bits, int64_t first_bit, int32_t count, int shift, uint64_t* lane) {
  for (int32_t i = 0; i < count; ++i) {
    const int64_t bit = first_bit + i;
    lane[i] |= static_cast<uint64_t>((bits[bit >> 3] >> (bit & 7)) & 1) << shift;
  }
}

void or_field(const ColumnView& column,
              const PackedField& field,
              int64_t begin,
              int32_t count,
              uint64_t* lane) {
  if (field.bits == 1) {
    return or_bits(column.values, column.offset + begin, count, field.shift, lane);
  }
  with_unsigned(field.bits / 8, [&, shift = field.shift](auto zero) {
    const auto* values = column.data<decltype(zero)>() + begin;
    for (int32_t i = 0; i < count; ++i) lane[i] |= static_cast<uint64_t>(values[i]) << shift;
  });
}

}  // namespace

void CarryPlan::pack(
    const Batch& batch, int64_t begin, int32_t count, RowRef first_ref, uint64_t* lane) const {
  if (has_ref) {
    for (int32_t i = 0; i < count; ++i) lane[i] = first_ref + static_cast<RowRef>(i);
  } else {
    std::fill_n(lane, count, uint64_t{0});
  }
  for (const PackedField& field : fields) {
    const ColumnView& column = batch.columns[field.column];
    or_field(column, field, begin, count, lane);
    if (field.null_shift < 0) continue;
    if (column.validity == nullptr) {
      for (int32_t i = 0; i < count; ++i) lane[i] |= uint64_t{1} << field.null_shift;
    } else {
      or_bits(column.validity, column.offset + begin, count, field.null_shift, lane);
    }
  }
}

namespace {

// The one column that stands for both sides' key.
Result<Field> key_field(const OutputColumn& column,
                        const JoinSpec& spec,
                        const Schema& left,
                        const Schema& right) {
  Field field = left.fields[column.column];
  bool is_key = false;
  for (const auto& [left_key, right_key] : spec.keys) {
    if (left_key != column.column) continue;
    is_key = true;
    const Field& partner = right.fields[right_key];
    if (!(partner.type == field.type)) {
      return make_error(ErrorCode::kKeyTypeMismatch,
                        "key '{}' is {} on the left and {} on the right, so a {} join cannot "
                        "give one column of both\n  try      cast one side, or keep both columns",
                        column.name,
                        type_name(field.type),
                        type_name(partner.type),
                        join_kind_name(spec.kind));
    }
    field.nullable = field.nullable || partner.nullable;
  }
  if (!is_key) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "output column '{}' asks for the key of both sides, but left column '{}' is no "
        "key of this join\n  try      side left",
        column.name,
        field.name);
  }
  return field;
}

bool gives_left_only(JoinKind kind) {
  return kind == JoinKind::kSemi || kind == JoinKind::kAnti || kind == JoinKind::kAntiNullAware;
}

}  // namespace

Result<SchemaPtr> output_schema(const JoinSpec& spec, const Schema& left, const Schema& right) {
  auto schema = std::make_shared<Schema>();
  std::set<std::string> names;
  for (const OutputColumn& column : spec.output) {
    if (!names.insert(column.name).second) {
      return make_error(
          ErrorCode::kDuplicateColumn,
          "two output columns are named '{}'\n  try      rename one of them, or another "
          "suffix=",
          column.name);
    }
    const bool from_right = column.side == OutputSide::kRight;
    Field field = (from_right ? right : left).fields[column.column];
    if (from_right && gives_left_only(spec.kind)) {
      return make_error(ErrorCode::kInvalidArgument,
                        "output column '{}' is of the right side, but the {} join gives left rows "
                        "only\n  try      how='inner' or 'left'",
                        column.name,
                        join_kind_name(spec.kind));
    }
    if (column.side == OutputSide::kKey) {
      CD_ASSIGN(field, key_field(column, spec, left, right));
    } else if (side_can_be_missing(spec.kind, from_right ? Side::kRight : Side::kLeft)) {
      field.nullable = true;
    }
    field.name = column.name;
    schema->fields.push_back(std::move(field));
  }
  return SchemaPtr(std::move(schema));
}

OutputPlan plan_output(const OutputRequest& request, SchemaPtr schema) {
  OutputPlan plan;
  plan.schema = std::move(schema);
  for (size_t i = 0; i < request.spec->output.size(); ++i) {
    const OutputColumn& column = request.spec->output[i];
    OutputField field;
    field.field = plan.schema->fields[i];
    field.side = column.side;
    field.column = column.column;
    plan.fields.push_back(std::move(field));
  }
  Planner(request, plan).run();
  return plan;
}

}  // namespace crossdock::operators
