// Where every output column comes from: computed back from the key word, carried along in the row, or
// gathered by reference for the rows that match.
//
// Carrying (early materialization) costs nothing extra while the columns of a side fit the 8-byte
// lane that would otherwise hold the row's reference, and saves a random access per output row.
// Wider sides carry a 4-byte reference and, in the other half, what still fits.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/hash_join/join_spec.hpp"
#include "operators/hash_join/key_plan.hpp"
#include "table/row_store.hpp"

namespace crossdock::operators {

// A fixed-width value inside a carried 64-bit lane.
struct PackedField {
  int column = 0;
  int shift = 0;
  int bits = 0;         // 1 (bool), 8, 16, 32 or 64
  int null_shift = -1;  // bit that says "not null"; -1 = the column has no nulls
};

// What a side's rows carry beside their key word.
struct CarryPlan {
  bool has_ref = false;  // bits 0..31 are the RowRef
  std::vector<PackedField> fields;

  bool is_empty() const { return !has_ref && fields.empty(); }

  // lane[i] = carried value of row begin + i, whose ref is first_ref + i.
  void pack(
      const Batch& batch, int64_t begin, int32_t count, RowRef first_ref, uint64_t* lane) const;
};

struct OutputField {
  enum class Source : uint8_t { kKeyWord, kPacked, kGathered };
  Field field;
  OutputSide side = OutputSide::kLeft;
  Source source = Source::kGathered;
  int column = 0;        // in the schema of its side (kKey: of the left side)
  int right_column = 0;  // kKey: the partner
  int key_shift = 0;     // kKeyWord: where the value starts in the packed key
  int key_part = 0;      // kKeyWord: which part of the key it is
  PackedField packed;    // kPacked
};

struct OutputPlan {
  SchemaPtr schema;
  std::vector<OutputField> fields;
  CarryPlan carry[2];       // by Side
  bool needs_keys = false;  // some field is kKeyWord

  const CarryPlan& carry_of(Side side) const { return carry[index_of(side)]; }
};

struct OutputRequest {
  const JoinSpec* spec = nullptr;
  const KeyPlan* keys = nullptr;
  Schema schemas[2];                   // by Side; nullable where a column may hold nulls
  bool refs_only[2] = {false, false};  // the strategy wants bare references on that side
};

// Fields of the result: names and types. Errors: kDuplicateColumn; kKeyTypeMismatch for a kKey
// output whose two columns differ in type. Needs no data, so it runs when a relation is made.
Result<SchemaPtr> output_schema(const JoinSpec& spec, const Schema& left, const Schema& right);

// Chooses the source of every field, and what the sides carry for it.
OutputPlan plan_output(const OutputRequest& request, SchemaPtr schema);

}  // namespace crossdock::operators
