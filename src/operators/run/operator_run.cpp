#include "operators/run/operator_run.hpp"

#include <algorithm>
#include <chrono>

namespace crossdock::operators {

Status OperatorRun::check_cancelled() const {
  if (!cancel->is_set()) return {};
  return make_error(
      ErrorCode::kCancelled, "{} was cancelled while in phase '{}'", what, progress->phase.load());
}

Status OperatorRun::phase(const char* name,
                          int64_t row_count,
                          const std::function<Status(int)>& task,
                          int64_t at_most) {
  progress->phase.store(name);
  progress->rows_done.store(0);
  progress->rows_total.store(row_count);
  const auto start = std::chrono::steady_clock::now();
  const auto within_run = [&](int worker) {
    const CancelScope scope(cancel);
    return task(worker);
  };
  const Status status = team->run(within_run, at_most);
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

Status OperatorRun::for_morsels(const char* name,
                                const std::vector<Morsel>& morsels,
                                const std::function<Status(int, const Morsel&)>& task) {
  int64_t rows = 0;
  for (const Morsel& morsel : morsels) rows += morsel.rows;
  std::atomic<size_t> next{0};
  const auto take_turns = [&](int worker) -> Status {
    for (size_t i = next++; i < morsels.size(); i = next++) {
      CD_TRY(check_cancelled());
      CD_TRY(task(worker, morsels[i]));
      progress->rows_done += morsels[i].rows;
    }
    return {};
  };
  return phase(name, rows, take_turns, std::ssize(morsels));
}

Status OperatorRun::for_indices(const char* name,
                                int64_t count,
                                int64_t rows_each,
                                const std::function<Status(int, int64_t)>& task) {
  std::atomic<int64_t> next{0};
  const auto take_turns = [&](int worker) -> Status {
    for (int64_t i = next++; i < count; i = next++) {
      CD_TRY(check_cancelled());
      CD_TRY(task(worker, i));
      progress->rows_done += rows_each;
    }
    return {};
  };
  return phase(name, count * rows_each, take_turns, count);
}

}  // namespace crossdock::operators
