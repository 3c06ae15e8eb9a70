// Rows of a made workload as Arrow batches.
#include <algorithm>
#include <numeric>

#include <crossdock/workload.hpp>

#include "session/state.hpp"
#include "table/arrow_export.hpp"
#include "workload/join_workload.hpp"

namespace crossdock {
namespace {

constexpr int64_t kBatchRows = int64_t{1} << 16;

struct Columns {
  std::vector<int64_t> keys;
  std::vector<int64_t> rows;
};

ColumnView view_of(const std::vector<int64_t>& values) {
  ColumnView view;
  view.length = static_cast<int64_t>(values.size());
  view.values = reinterpret_cast<const uint8_t*>(values.data());
  return view;
}

}  // namespace

struct Workload::State {
  workload::JoinWorkload join;
};

Workload::Workload(const WorkloadOptions& options)
    : state_(std::make_shared<State>(
          State{value_or_throw(workload::JoinWorkload::make({options.inner_rows,
                                                             options.outer_rows,
                                                             options.selectivity,
                                                             options.zipf_theta,
                                                             options.is_sparse,
                                                             options.seed}))})) {}

int64_t Workload::result_rows() const { return state_->join.result_rows(); }

void Workload::read(bool outer, int64_t begin, int64_t rows, ArrowArrayStream* out) const {
  const workload::JoinWorkloadSpec& spec = state_->join.spec();
  const int64_t all = outer ? spec.outer_rows : spec.inner_rows;
  if (begin < 0 || rows < 0 || begin > all || rows > all - begin) {
    throw_error(make_error(ErrorCode::kInvalidArgument,
                           "rows {} to {} are not all of a side that has {}",
                           begin,
                           begin + rows,
                           all));
  }
  auto schema = std::make_shared<Schema>();
  const DataType number = value_or_throw(parse_arrow_format("l"));
  schema->fields = {{"key", number, false, ""}, {"row", number, false, ""}};
  const int64_t end = begin + rows;
  const auto next =
      [state = state_, schema, outer, begin, end]() mutable -> Result<std::optional<Batch>> {
    if (begin == end) return std::optional<Batch>();
    const int64_t count = std::min(kBatchRows, end - begin);
    auto columns = std::make_shared<Columns>();
    columns->keys.resize(static_cast<size_t>(count));
    columns->rows.resize(static_cast<size_t>(count));
    if (outer) {
      state->join.outer_keys(begin, count, columns->keys.data());
    } else {
      state->join.inner_keys(begin, count, columns->keys.data());
    }
    std::iota(columns->rows.begin(), columns->rows.end(), begin);
    begin += count;
    return std::optional<Batch>(
        Batch{schema, count, {view_of(columns->keys), view_of(columns->rows)}, columns});
  };
  export_stream(schema, next, out);
}

}  // namespace crossdock
