// What one run of an operator shares among its phases and workers, and what it tells of itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "base/team.hpp"
#include "memory/budget.hpp"
#include "operators/run/morsel.hpp"
#include "operators/run/row_sink.hpp"

namespace crossdock::operators {

// A named value of a plan or a profile; facts together are an object of their own.
struct Fact {
  std::string name;
  std::variant<bool,
               int64_t,
               double,
               std::string,
               std::vector<int64_t>,
               std::vector<std::string>,
               std::vector<Fact>,
               std::vector<std::vector<Fact>>>
      value;
};
using Facts = std::vector<Fact>;

// Read by other threads while the operator runs.
struct RunProgress {
  std::atomic<const char*> phase{"waiting"};
  std::atomic<int64_t> rows_done{0};
  std::atomic<int64_t> rows_total{0};
};

struct PhaseTime {
  std::string name;
  int64_t rows = 0;
  double seconds = 0;
};

struct RunProfile {
  std::vector<PhaseTime> phases;
  int64_t result_rows = 0;
  double total_seconds = 0;
  Facts facts;  // what the run found out; they replace facts of the plan of the same name
};

struct OperatorRun {
  const char* what = "the operator";  // in errors: "the join was cancelled ..."
  Team* team = nullptr;
  Memory* memory = nullptr;
  RowSink* sink = nullptr;
  const CancelFlag* cancel = nullptr;
  RunProgress* progress = nullptr;
  RunProfile* profile = nullptr;

  Status check_cancelled() const;

  // Runs `task` on all workers, or on the first `at_most`, as a named phase and notes its time. Phases of one name add
  // up.
  Status phase(const char* name,
               int64_t rows,
               const std::function<Status(int worker)>& task,
               int64_t at_most = std::numeric_limits<int64_t>::max());

  // Lets workers take turns over morsels, no more of them than there are morsels.
  Status for_morsels(const char* name,
                     const std::vector<Morsel>& morsels,
                     const std::function<Status(int worker, const Morsel&)>& task);

  // Lets workers take turns over [0, count), in ascending order; `count` of them or fewer.
  Status for_indices(const char* name,
                     int64_t count,
                     int64_t rows_each,
                     const std::function<Status(int worker, int64_t index)>& task);
};

}  // namespace crossdock::operators
