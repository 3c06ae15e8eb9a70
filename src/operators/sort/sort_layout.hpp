// Where every output column of a sort comes from, and which lanes of values move with the key words.
//
// A key column that a word gives back is computed from the sorted words. Other columns of fixed width
// move as lanes of their own, partitioned and permuted like the words, so that no column is ever read
// at random from all over the input. What has no fixed width (text) is gathered at the end by the
// row's reference, which is then a lane, too.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/run/morsel.hpp"
#include "operators/sort/sort_spec.hpp"
#include "table/order_key.hpp"

namespace crossdock::operators {

struct SortLane {
  enum class Kind : uint8_t {
    kWords,   // normalised keys
    kValues,  // of a column of fixed width
    kBits,    // of a bool column, a byte each
    kValid,   // a byte each: 1 = not null
    kRefs,    // RowRef
  };
  Kind kind = Kind::kWords;
  int column = 0;
  int width = 8;  // bytes
};

struct SortColumn {
  enum class Source : uint8_t { kWord, kLane, kGathered, kRowIndex };
  Field field;
  Source source = Source::kGathered;
  int column = 0;       // of the input
  int part = 0;         // kWord: of the key
  int lane = -1;        // kLane
  int valid_lane = -1;  // kLane of a column with nulls
};

struct SortLayout {
  SchemaPtr schema;
  std::vector<SortColumn> columns;
  std::vector<SortLane> lanes;  // the words first
  int ref_lane = -1;

  bool needs_refs() const { return ref_lane >= 0; }
  int64_t row_bytes() const;  // of all lanes
};

struct LayoutRequest {
  const SortSpec* spec = nullptr;
  const RowStore* store = nullptr;
  const OrderKeyPlan* keys = nullptr;  // settled
  bool by_reference = false;           // no lanes but words and references
  bool has_words = true;  // words are sorted to the end, so that columns can come from them
};
SortLayout plan_layout(const LayoutRequest& request, SchemaPtr schema);

// The lane's values of `rows` rows of a morsel from `offset` on: where they lie in the input, or made
// in `scratch` (kLaneBlockRows values). Not for words.
constexpr int32_t kLaneBlockRows = 2048;
const uint8_t* lane_values(
    const SortLane& lane, const Morsel& morsel, int32_t offset, int32_t rows, uint8_t* scratch);

}  // namespace crossdock::operators
