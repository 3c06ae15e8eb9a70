// crossdock._native: the public C++ classes for Python. Arrow crosses as PyCapsules, long calls run
// without the GIL, and Ctrl-C cancels them.
#include <memory>
#include <string>
#include <system_error>

#include <nanobind/stl/optional.h>

#include "bindings/device.hpp"
#include "bindings/operation.hpp"
#include "model/memory_limit.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace crossdock::python;

namespace {

crossdock::ArrowTable table_from(const crossdock::Engine& engine, const nb::object& source) {
  if (!nb::hasattr(source, "__arrow_c_stream__")) {
    throw nb::type_error("the source has no __arrow_c_stream__ method");
  }
  const nb::object capsule = source.attr("__arrow_c_stream__")();
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), kStreamName));
  if (stream == nullptr) throw nb::python_error();
  GilRelease released;
  return crossdock::ArrowTable::from_stream(engine, stream);
}

void bind_engine(nb::module_& module) {
  nb::class_<crossdock::Engine>(module, "Engine")
      .def(
          "__init__",
          [](crossdock::Engine* self, int threads, int64_t memory_bytes) {
            new (self) crossdock::Engine(crossdock::EngineOptions{threads, memory_bytes});
          },
          "threads"_a = 0,
          "memory_bytes"_a = 0)
      .def_prop_ro("threads", &crossdock::Engine::threads)
      .def_prop_ro("memory_limit_bytes", &crossdock::Engine::memory_limit_bytes)
      .def_prop_ro("memory_used_bytes", &crossdock::Engine::memory_used_bytes)
      .def_prop_ro("memory_peak_bytes", &crossdock::Engine::memory_peak_bytes)
      .def("trim", &crossdock::Engine::trim);
}

void bind_tables(nb::module_& module) {
  nb::class_<StreamObject>(module, "ArrowStream")
      .def("__arrow_c_stream__", &StreamObject::take, "requested_schema"_a = nb::none());
  nb::class_<crossdock::ArrowTable>(module, "Table")
      .def_static("from_stream", &table_from, "engine"_a, "source"_a)
      .def("column", &crossdock::ArrowTable::column, "name"_a)
      .def("with_columns_of", &crossdock::ArrowTable::with_columns_of, "other"_a)
      .def("with_changing_values", &crossdock::ArrowTable::with_changing_values)
      .def_prop_ro("num_rows", &crossdock::ArrowTable::rows)
      .def_prop_ro("num_batches", &crossdock::ArrowTable::batches)
      .def_prop_ro("num_bytes", &crossdock::ArrowTable::bytes)
      .def_prop_ro("column_names", &crossdock::ArrowTable::column_names)
      .def(
          "__arrow_c_stream__",
          [](const crossdock::ArrowTable& self, const nb::object&) {
            auto stream = std::make_unique<ArrowArrayStream>();
            self.export_stream(stream.get());
            return make_capsule(std::move(stream), kStreamName);
          },
          "requested_schema"_a = nb::none())
      .def("__arrow_c_schema__", [](const crossdock::ArrowTable& self) {
        auto schema = std::make_unique<ArrowSchema>();
        self.export_schema(schema.get());
        return make_capsule(std::move(schema), kSchemaName);
      });
}

void bind_descriptions(nb::module_& module) {
  module.def("error_table", [] {
    nb::list rows;
    for (const auto& error : crossdock::error_descriptions()) {
      rows.append(nb::make_tuple(error.code, error.kind, error.summary));
    }
    return rows;
  });
  module.def("settings_table", [] {
    nb::list rows;
    for (const auto& setting : crossdock::setting_descriptions()) {
      rows.append(nb::make_tuple(setting.name, setting.default_value, setting.doc));
    }
    return rows;
  });
  module.def("build_info", [] {
    nb::dict info;
    for (const auto& [name, value] : crossdock::build_info()) info[name.c_str()] = value;
    return info;
  });
  module.def("machine_info", [] {
    const crossdock::MachineDescription machine = crossdock::machine_description();
    nb::dict info;
    info["cores"] = machine.cores;
    info["l1d_bytes"] = machine.l1d_bytes;
    info["l2_bytes"] = machine.l2_bytes;
    info["l3_bytes"] = machine.l3_bytes;
    info["memory_bytes"] = machine.memory_bytes;
    info["huge_pages"] = machine.huge_pages;
    info["simd"] = machine.simd;
    return info;
  });
  module.def(
      "cgroup_memory_limit",
      [](const std::string& root) -> std::optional<std::pair<int64_t, std::string>> {
        const auto limit = crossdock::model::cgroup_memory_limit(root);
        if (!limit) return std::nullopt;
        return std::pair(limit->bytes, limit->file.string());
      },
      "root"_a);
}

}  // namespace

NB_MODULE(_native, module) {
  // A traceback that a user keeps may keep our objects past the interpreter's end; that is no fault.
  nb::set_leak_warnings(false);
  static PyObject* native_error =
      PyErr_NewException("crossdock._native.NativeError", PyExc_Exception, nullptr);
  module.attr("NativeError") = nb::borrow(native_error);
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    // No exception of C++: Python called from here has ended the thread, as gil.hpp says.
    if (raised == nullptr) sleep_until_exit();
    try {
      std::rethrow_exception(raised);
    } catch (const crossdock::Exception& error) {
      // A message may quote bytes of a file that are no UTF-8; it is raised nevertheless.
      const std::string_view words = error.what();
      const auto size = static_cast<Py_ssize_t>(words.size());
      const nb::object message = nb::steal(PyUnicode_DecodeUTF8(words.data(), size, "replace"));
      const nb::object arguments = nb::make_tuple(error.code(), error.kind(), message);
      PyErr_SetObject(native_error, arguments.ptr());
    } catch (const std::system_error& refusal) {
      if (refusal.code() != std::errc::resource_unavailable_try_again) throw;
      // Of a run in the background, or of one beside which this thread looks for signals.
      const std::string text = std::string("the system refused to start a thread: ") +
                               refusal.what() +
                               "\n  try      a higher limit of memory or processes (ulimit -a)";
      const nb::object arguments = nb::make_tuple("CD-201", "CapacityError", text);
      PyErr_SetObject(native_error, arguments.ptr());
    }
  });
  bind_engine(module);
  bind_tables(module);
  bind_expressions(module);
  bind_join(module);
  bind_group_by(module);
  bind_partition(module);
  bind_sort(module);
  bind_query(module);
  bind_topology(module);
  bind_transfers(module);
  bind_simulation(module);
  bind_channels(module);
  bind_csv_values(module);
  bind_list_values(module);
  bind_key_filters(module);
  bind_cost_rates(module);
  bind_workload(module);
  bind_device(module);
  bind_descriptions(module);
}
