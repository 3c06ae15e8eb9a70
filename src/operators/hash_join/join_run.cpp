// Phases, morsels and turns.
#include "operators/hash_join/join_run.hpp"

#include <algorithm>

namespace crossdock {

const SchemaPtr& JoinRun::schema_of(Side side) const {
  return output->stores[static_cast<int>(side)]->schema();
}

Status JoinRun::check_cancelled() const {
  if (!cancel->is_set()) return {};
  return make_error(
      ErrorCode::kCancelled, "the join was cancelled while in phase '{}'", progress->phase.load());
}

Status JoinRun::phase(const char* name, int64_t row_count, const std::function<Status(int)>& task) {
  progress->phase.store(name);
  progress->rows_done.store(0);
  progress->rows_total.store(row_count);
  const auto start = std::chrono::steady_clock::now();
  const Status status = team->run(task);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  auto& phases = profile->phases;
  const auto known = std::find_if(
      phases.begin(), phases.end(), [&](const PhaseTime& phase) { return phase.name == name; });
  if (known == phases.end()) {
    phases.push_back({name, row_count, elapsed.count()});
  } else {
    known->seconds += elapsed.count();
  }
  return status;
}

Status JoinRun::for_morsels(const char* name,
                            Side side,
                            const std::function<Status(int, const Morsel&)>& task) {
  const std::vector<Morsel>& all = morsels[side_index(side)];
  std::atomic<size_t> next{0};
  return phase(name, rows[side_index(side)], [&](int worker) -> Status {
    for (size_t i = next++; i < all.size(); i = next++) {
      CD_TRY(check_cancelled());
      CD_TRY(task(worker, all[i]));
      progress->rows_done += all[i].rows;
    }
    return {};
  });
}

Status JoinRun::for_indices(const char* name,
                            int64_t count,
                            int64_t rows_each,
                            const std::function<Status(int, int64_t)>& task) {
  std::atomic<int64_t> next{0};
  return phase(name, count * rows_each, [&](int worker) -> Status {
    for (int64_t i = next++; i < count; i = next++) {
      CD_TRY(check_cancelled());
      CD_TRY(task(worker, i));
      progress->rows_done += rows_each;
    }
    return {};
  });
}

bool keeps_unmatchable(const JoinRun& run, Side side) {
  // NOT IN against any rows at all never lets a null key out; there is no other reason to set rows
  // aside, since such joins run without filter and dense words.
  if (run.spec->kind == JoinKind::kAntiNullAware && run.rows[1] > 0) return false;
  const JoinRoles& roles = run.probe->roles;
  return side == run.build() ? roles.emit_build_unmatched : roles.emit_probe_unmatched;
}

Status emit_unmatchable(JoinRun& run, Side side, const std::vector<const SegmentList*>& lists) {
  std::vector<const Segment*> segments;
  for (const SegmentList* list : lists) segments.insert(segments.end(), list->begin(), list->end());
  if (segments.empty()) return {};
  return run.for_indices("emit unmatchable rows",
                         static_cast<int64_t>(segments.size()),
                         segments[0]->capacity_rows,
                         [&](int worker, int64_t index) -> Status {
                           const Segment& segment = *segments[index];
                           for (int32_t at = 0; at < segment.rows; at += kSorterRows) {
                             const int32_t rows = std::min(kSorterRows, segment.rows - at);
                             CD_TRY(run.probers[worker]->emit_alone(
                                 side, rows, segment.words() + at, segment.carry() + at));
                           }
                           return {};
                         });
}

}  // namespace crossdock
