#include "operators/run/operator.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace crossdock::operators {
namespace {

constexpr int64_t kRowsPerWorker = 1 << 16;  // fewer rows than this do not pay for a thread

}  // namespace

Status Operator::run(RowSink& sink,
                     const CancelFlag& cancel,
                     RunProgress& progress,
                     RunProfile& profile) const {
  const auto start = std::chrono::steady_clock::now();
  const CancelScope scope(&cancel);
  Team team(team_size(sink), Team::Start::kWhenNeeded);
  OperatorRun run{what(), &team, environment_.memory.get(), &sink, &cancel, &progress, &profile};
  CD_TRY(run_phases(run));
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  profile.total_seconds = elapsed.count();
  progress.phase.store("done");
  return {};
}

Status start_team(int worker_count, std::optional<Team>& team) {
  try {
    team.emplace(worker_count);
  } catch (const std::system_error& refusal) {
    return refusal_of(worker_count, refusal);
  }
  return {};
}

int workers_for(int64_t rows, int threads) {
  return static_cast<int>(std::clamp<int64_t>(rows / kRowsPerWorker, 1, threads));
}

}  // namespace crossdock::operators
