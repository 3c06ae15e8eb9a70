// What a join is asked to do: kind, keys, output and the choices a caller may force.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "table/column.hpp"

namespace crossdock::operators {

enum class JoinKind : uint8_t { kInner, kLeft, kRight, kFull, kSemi, kAnti, kAntiNullAware };
enum class Side : uint8_t { kLeft, kRight };
constexpr int index_of(Side side) { return static_cast<int>(side); }  // where arrays go "by Side"
constexpr Side opposite(Side side) { return side == Side::kLeft ? Side::kRight : Side::kLeft; }

enum class Strategy : uint8_t {
  kAuto,
  kRadix,   // both sides partitioned into cache-sized parts, then joined part by part
  kDirect,  // one table over the whole build side, probed in the order of the probe side
  kDense,   // as direct, but an array indexed by the key itself: unique keys of a narrow range
  kMerge,  // both sides brought into key order, then matched in one pass; the result is in key order
};
// What the caller knows of the order of a side. Only the merge join makes use of it.
enum class Sortedness : uint8_t {
  kDetect,    // a sorted side is found out
  kDeclared,  // ascending by the key, nulls at either end; an error if it is not
  kUnsorted,  // not looked at
};
enum class Materialize : uint8_t {
  kAuto,
  kEarly,  // narrow columns ride along with their key word
  kLate,   // rows carry a reference; columns are gathered for the rows that match
};
enum class Filter : uint8_t { kAuto, kBloom, kOff };

// One output column. kKey is the left key column `column` where left is there, else its partner.
enum class OutputSide : uint8_t { kLeft, kRight, kKey };
struct OutputColumn {
  OutputSide side = OutputSide::kLeft;
  int column = 0;  // in the side's schema
  std::string name;
};

// Decides candidate pairs: gets a batch of `residual_columns`, one row per pair, and writes keep[i].
// Called from all workers at once.
using ResidualFilter = std::function<Status(const Batch& pairs, uint8_t* keep)>;

struct JoinSpec {
  JoinKind kind = JoinKind::kInner;
  std::vector<std::pair<int, int>> keys;  // left column, right column
  std::vector<OutputColumn> output;
  bool null_equals_null = false;
  ResidualFilter residual;  // empty = none
  std::vector<OutputColumn> residual_columns;

  // Choices; kAuto leaves them to the planner (model/join_cost.hpp).
  Strategy strategy = Strategy::kAuto;
  Materialize materialize = Materialize::kAuto;
  Filter filter = Filter::kAuto;
  Sortedness sorted[2] = {Sortedness::kDetect, Sortedness::kDetect};  // by Side
  bool build_is_forced = false;
  Side forced_build = Side::kRight;
  int partition_bits = -1;  // -1 = by the planner
  int64_t batch_rows = 0;   // rows of an output batch; 0 = default
};

const char* join_kind_name(JoinKind kind);
const char* strategy_name(Strategy strategy);
Result<JoinKind> parse_join_kind(std::string_view text);
Result<Strategy> parse_strategy(std::string_view text);
Result<Materialize> parse_materialize(std::string_view text);
Result<Filter> parse_filter(std::string_view text);
// `option` is the name of the option in errors.
Result<Sortedness> parse_sortedness(std::string_view option, std::string_view text);

// Which rows a kind lets out.
struct SideRoles {
  bool pairs = false;
  bool left_alone = false;
  bool right_alone = false;
  bool left_matched = false;  // once per left row (semi)
};
SideRoles side_roles(JoinKind kind);

// The same, seen from the build and the probe side.
struct JoinRoles {
  bool pairs = false;            // each pair of rows with equal keys
  bool probe_unmatched = false;  // each probe row without a partner; beside nulls, if pairs leave
  bool probe_matched = false;    // each probe row with one, once
  bool build_unmatched = false;  // the same of build rows; after the last probe row
  bool build_matched = false;
  // NOT IN: no row leaves if a build row has a null key; else, if there are build rows, none whose key is null.
  bool null_aware = false;

  bool tracks_probe() const { return probe_unmatched || probe_matched; }
  bool tracks_build() const { return build_unmatched || build_matched; }
};
JoinRoles join_roles(JoinKind kind, Side build);

}  // namespace crossdock::operators
