#include "operators/hash_join/join_run.hpp"

#include <algorithm>

namespace crossdock::operators {

const SchemaPtr& JoinRun::schema_of(Side side) const {
  return output->stores[index_of(side)]->schema();
}

bool keeps_unmatchable(const JoinRun& run, Side side) {
  // NOT IN against any rows at all never lets a null key out; there is no other reason to set rows
  // aside, since such joins run without filter and dense words.
  if (run.spec->kind == JoinKind::kAntiNullAware && run.rows[1] > 0) return false;
  const JoinRoles& roles = run.probe->roles;
  return side == run.build() ? roles.build_unmatched : roles.probe_unmatched;
}

Status emit_unmatchable(JoinRun& run,
                        Side side,
                        const std::vector<const sorters::SegmentList*>& lists) {
  std::vector<const sorters::Segment*> segments;
  for (const sorters::SegmentList* list : lists)
    segments.insert(segments.end(), list->begin(), list->end());
  if (segments.empty()) return {};
  return run.for_indices("emit unmatchable rows",
                         static_cast<int64_t>(segments.size()),
                         segments[0]->capacity_rows,
                         [&](int worker, int64_t index) -> Status {
                           const sorters::Segment& segment = *segments[index];
                           for (int32_t at = 0; at < segment.rows; at += kSorterRows) {
                             const int32_t rows = std::min(kSorterRows, segment.rows - at);
                             CD_TRY(run.probers[worker]->emit_alone(
                                 side, rows, segment.words() + at, segment.carry() + at));
                           }
                           return {};
                         });
}

}  // namespace crossdock::operators
