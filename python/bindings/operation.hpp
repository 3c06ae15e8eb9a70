// What every operation looks like in Python: its methods are bound here once.
#pragma once

#include <chrono>
#include <future>
#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <crossdock/crossdock.hpp>

#include "bindings/arrow_capsule.hpp"
#include "bindings/gil.hpp"
#include "bindings/options.hpp"

namespace crossdock::python {

using namespace nb::literals;

// An operation and what its calls need to know of it.
template <class Operation>
struct OperationObject {
  Operation operation;
  bool is_long;  // worth a thread of its own and signal polling
};

// A thread costs some 50 microseconds, as much as one column of so many rows; forty aggregates of a
// million rows take seconds.
inline bool is_long_run(int64_t input_rows) { return input_rows > int64_t{1} << 14; }

// Runs `work` without the GIL. Work that may take long goes to a thread of its own, so that this one
// can look for signals: what the first one raises (KeyboardInterrupt for Ctrl-C) cancels the
// operation, and is raised once it has ended.
template <class Work>
void run_interruptible(crossdock::Operation& operation, bool is_long, const Work& work) {
  if (!is_long) {
    GilRelease released;
    work();
    return;
  }
  constexpr auto kPollInterval = std::chrono::milliseconds(50);
  std::future<void> running;
  std::optional<nb::python_error> interruption;
  {
    GilRelease released;
    running = std::async(std::launch::async, work);
    while (running.wait_for(kPollInterval) != std::future_status::ready) {
      if (!interruption.has_value()) {
        GilHold held;
        if (PyErr_CheckSignals() != 0) interruption.emplace();
      }
      // More than once: a cancel before the run has begun says nothing to it.
      if (interruption.has_value()) operation.cancel();
    }
  }
  if (interruption.has_value()) throw std::move(*interruption);
  running.get();
}

// The class `name` with the methods of crossdock::Operation; the caller adds __init__ and its own.
template <class Operation>
nb::class_<OperationObject<Operation>> bind_operation(nb::module_& module, const char* name) {
  using Object = OperationObject<Operation>;
  nb::class_<Object> bound(module, name);
  bound.def("plan", [](const Object& self) { return self.operation.plan(); })
      .def("profile", [](const Object& self) { return self.operation.profile(); })
      .def("count",
           [](Object& self) {
             int64_t rows = 0;
             run_interruptible(
                 self.operation, self.is_long, [&] { rows = self.operation.count(); });
             return rows;
           })
      .def(
          "collect",
          [](Object& self, bool compact) {
            return stream_of([&](ArrowArrayStream* out) {
              run_interruptible(
                  self.operation, self.is_long, [&] { self.operation.collect(out, compact); });
            });
          },
          "compact"_a = true)
      .def(
          "stream",
          [](Object& self, int queue_batches) {
            return stream_of(
                [&](ArrowArrayStream* out) { self.operation.stream(queue_batches, out); });
          },
          "queue_batches"_a = 8)
      .def("progress",
           [](const Object& self) {
             const crossdock::ProgressView progress = self.operation.progress();
             return nb::make_tuple(progress.phase, progress.rows_done, progress.rows_total);
           })
      .def("cancel", [](Object& self) { self.operation.cancel(); });
  return bound;
}

// What the keyword arguments of operations and of plans say; `owner` is named in errors. Each is in the file of its
// operation.
crossdock::JoinOptions join_options(const char* owner, const nb::kwargs& arguments);
crossdock::GroupByOptions group_options(const char* owner, const nb::kwargs& arguments);
crossdock::SortOptions sort_options(const char* owner, const nb::kwargs& arguments);
crossdock::WindowOptions window_options(const char* owner, const nb::kwargs& arguments);

// One per class, in the file of its name.
void bind_expressions(nb::module_& module);
void bind_join(nb::module_& module);
void bind_group_by(nb::module_& module);
void bind_partition(nb::module_& module);
void bind_query(nb::module_& module);
void bind_simulation(nb::module_& module);
void bind_sort(nb::module_& module);
void bind_topology(nb::module_& module);
void bind_transfers(nb::module_& module);
void bind_channels(nb::module_& module);
void bind_cost_rates(nb::module_& module);
void bind_csv_values(nb::module_& module);
void bind_list_values(nb::module_& module);
void bind_key_filters(nb::module_& module);
void bind_workload(nb::module_& module);

}  // namespace crossdock::python
