// crossdock._native: the public C++ classes for Python. Arrow crosses as PyCapsules, long calls run
// without the GIL, and Ctrl-C cancels them.
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <crossdock/arrow_c.hpp>
#include <crossdock/crossdock.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

constexpr const char* kStreamName = "arrow_array_stream";
constexpr const char* kSchemaName = "arrow_schema";
constexpr const char* kArrayName = "arrow_array";

// A capsule that owns a C struct: released when nobody took it over.
template <class Struct>
nb::object make_capsule(std::unique_ptr<Struct> owned, const char* name) {
  PyObject* capsule = PyCapsule_New(owned.get(), name, [](PyObject* object) {
    auto* inner = static_cast<Struct*>(PyCapsule_GetPointer(object, PyCapsule_GetName(object)));
    if (inner->release != nullptr) inner->release(inner);
    delete inner;
  });
  if (capsule == nullptr) throw nb::python_error();
  owned.release();
  return nb::steal(capsule);
}

// Lets go of the GIL, if this thread holds it: who reads or releases a stream may hold it, while a
// worker of the join needs it for a residual predicate.
class GilPause {
 public:
  GilPause() : state_(Py_IsInitialized() && PyGILState_Check() ? PyEval_SaveThread() : nullptr) {}
  ~GilPause() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  GilPause(const GilPause&) = delete;
  GilPause& operator=(const GilPause&) = delete;

 private:
  PyThreadState* state_;
};

// `inner` as a stream whose calls wait without the GIL.
std::unique_ptr<ArrowArrayStream> pausing_stream(std::unique_ptr<ArrowArrayStream> inner) {
  auto outer = std::make_unique<ArrowArrayStream>();
  outer->private_data = inner.release();
  outer->get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
    auto* stream = static_cast<ArrowArrayStream*>(self->private_data);
    return stream->get_schema(stream, out);
  };
  outer->get_next = [](ArrowArrayStream* self, ArrowArray* out) {
    const GilPause pause;
    auto* stream = static_cast<ArrowArrayStream*>(self->private_data);
    return stream->get_next(stream, out);
  };
  outer->get_last_error = [](ArrowArrayStream* self) {
    auto* stream = static_cast<ArrowArrayStream*>(self->private_data);
    return stream->get_last_error(stream);
  };
  outer->release = [](ArrowArrayStream* self) {
    const GilPause pause;
    auto* stream = static_cast<ArrowArrayStream*>(self->private_data);
    stream->release(stream);
    delete stream;
    self->release = nullptr;
  };
  return outer;
}

// What Python calls an Arrow stream: hands out its capsule once.
class StreamObject {
 public:
  explicit StreamObject(nb::object capsule) : capsule_(std::move(capsule)) {}
  nb::object take(const nb::object&) {
    if (!capsule_.is_valid()) throw nb::value_error("this Arrow stream was already consumed");
    return std::move(capsule_);
  }

 private:
  nb::object capsule_;
};

template <class Export>
StreamObject stream_of(const Export& export_to) {
  auto stream = std::make_unique<ArrowArrayStream>();
  export_to(stream.get());
  return StreamObject(make_capsule(pausing_stream(std::move(stream)), kStreamName));
}

// Runs `work` without the GIL. Work that may take long goes to a thread of its own, so that this one
// can look for signals: the first Ctrl-C cancels the join and raises KeyboardInterrupt.
template <class Work>
void run_interruptible(crossdock::Join& join, bool is_long, const Work& work) {
  if (!is_long) {
    nb::gil_scoped_release released;
    work();
    return;
  }
  constexpr auto kPollInterval = std::chrono::milliseconds(50);
  std::future<void> running;
  bool interrupted = false;
  {
    nb::gil_scoped_release released;
    running = std::async(std::launch::async, work);
    while (running.wait_for(kPollInterval) != std::future_status::ready) {
      nb::gil_scoped_acquire held;
      if (!interrupted && PyErr_CheckSignals() != 0) {
        interrupted = true;
        PyErr_Clear();
        join.cancel();
      }
    }
  }
  if (interrupted) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  running.get();
}

crossdock::ArrowTable table_from(const crossdock::Engine& engine, const nb::object& source) {
  if (!nb::hasattr(source, "__arrow_c_stream__")) {
    throw nb::type_error("the source has no __arrow_c_stream__ method");
  }
  const nb::object capsule = source.attr("__arrow_c_stream__")();
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), kStreamName));
  if (stream == nullptr) throw nb::python_error();
  nb::gil_scoped_release released;
  return crossdock::ArrowTable::from_stream(engine, stream);
}

// The candidate pairs as an object with __arrow_c_array__, for one call.
class PairsObject {
 public:
  PairsObject(ArrowSchema* schema, ArrowArray* array)
      : schema_(std::make_unique<ArrowSchema>(*schema)),
        array_(std::make_unique<ArrowArray>(*array)) {
    schema->release = nullptr;
    array->release = nullptr;
  }
  PairsObject(PairsObject&&) = default;
  ~PairsObject() {
    if (schema_ != nullptr) schema_->release(schema_.get());
    if (array_ != nullptr) array_->release(array_.get());
  }

  nb::object take(const nb::object&) {
    if (schema_ == nullptr) throw nb::value_error("these pairs were already consumed");
    nb::object schema = make_capsule(std::move(schema_), kSchemaName);
    return nb::make_tuple(schema, make_capsule(std::move(array_), kArrayName));
  }

 private:
  std::unique_ptr<ArrowSchema> schema_;
  std::unique_ptr<ArrowArray> array_;
};

// Reads an Arrow boolean array into bytes; null counts as false.
void read_booleans(const nb::object& result, int64_t rows, uint8_t* keep) {
  const nb::object capsules = result.attr("__arrow_c_array__")();
  const nb::tuple pair = nb::cast<nb::tuple>(capsules);
  auto* schema =
      static_cast<ArrowSchema*>(PyCapsule_GetPointer(nb::object(pair[0]).ptr(), kSchemaName));
  auto* array =
      static_cast<ArrowArray*>(PyCapsule_GetPointer(nb::object(pair[1]).ptr(), kArrayName));
  if (schema == nullptr || array == nullptr) throw nb::python_error();
  if (std::string(schema->format) != "b" || array->length != rows || array->n_buffers != 2) {
    throw nb::value_error("a residual predicate must give one boolean per pair");
  }
  const auto* valid = static_cast<const uint8_t*>(array->buffers[0]);
  const auto* values = static_cast<const uint8_t*>(array->buffers[1]);
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t bit = array->offset + i;
    const int value = values[bit >> 3] >> (bit & 7) & 1;
    const int known = valid == nullptr ? 1 : valid[bit >> 3] >> (bit & 7) & 1;
    keep[i] = static_cast<uint8_t>(value & known);
  }
}

crossdock::Residual residual_of(nb::object callable) {
  // The callable is shared by copies of the function, and dropped under the GIL whoever drops it last.
  std::shared_ptr<nb::object> shared(new nb::object(std::move(callable)), [](nb::object* object) {
    nb::gil_scoped_acquire held;
    delete object;
  });
  return [shared](ArrowSchema* schema, ArrowArray* pairs, uint8_t* keep) {
    nb::gil_scoped_acquire held;
    const int64_t rows = pairs->length;
    const nb::object argument = nb::cast(PairsObject(schema, pairs));
    read_booleans((*shared)(argument), rows, keep);
  };
}

using Items = std::vector<std::tuple<std::string, std::string, std::string>>;

std::vector<crossdock::OutputItem> items_of(const nb::handle& items) {
  std::vector<crossdock::OutputItem> out;
  for (const nb::handle item : items) {
    const auto triple = nb::cast<nb::tuple>(item);
    out.push_back({nb::cast<std::string>(triple[0]),
                   nb::cast<std::string>(triple[1]),
                   nb::cast<std::string>(triple[2])});
  }
  return out;
}

// A join and what its calls need to know of it.
struct JoinObject {
  crossdock::Join join;
  bool is_long;  // worth a thread of its own and signal polling
};

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
  nb::class_<PairsObject>(module, "ArrowPairs")
      .def("__arrow_c_array__", &PairsObject::take, "requested_schema"_a = nb::none());
  nb::class_<crossdock::ArrowTable>(module, "Table")
      .def_static("from_stream", &table_from, "engine"_a, "source"_a)
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

void init_join(JoinObject* self,
               const crossdock::Engine& engine,
               const crossdock::ArrowTable& left,
               const crossdock::ArrowTable& right,
               const nb::kwargs& arguments) {
  crossdock::JoinOptions options;
  for (const auto& [key, value] : arguments) {
    const auto name = nb::cast<std::string>(key);
    if (name == "on")
      options.on = nb::cast<std::vector<std::pair<std::string, std::string>>>(value);
    else if (name == "how")
      options.how = nb::cast<std::string>(value);
    else if (name == "output")
      options.output = items_of(value);
    else if (name == "null_equals_null")
      options.null_equals_null = nb::cast<bool>(value);
    else if (name == "strategy")
      options.strategy = nb::cast<std::string>(value);
    else if (name == "build")
      options.build = nb::cast<std::string>(value);
    else if (name == "materialize")
      options.materialize = nb::cast<std::string>(value);
    else if (name == "filter")
      options.filter = nb::cast<std::string>(value);
    else if (name == "partition_bits")
      options.partition_bits = nb::cast<int>(value);
    else if (name == "batch_rows")
      options.batch_rows = nb::cast<int64_t>(value);
    else if (name == "residual_columns")
      options.residual_columns = items_of(value);
    else if (name != "residual")
      throw nb::type_error(("Join has no option " + name).c_str());
    else if (!value.is_none())
      options.residual = residual_of(nb::borrow(value));
  }
  constexpr int64_t kLongRows = 1 << 20;
  const bool is_long = left.rows() + right.rows() > kLongRows;
  nb::gil_scoped_release released;
  new (self) JoinObject{crossdock::Join(engine, left, right, options), is_long};
}

void bind_join(nb::module_& module) {
  nb::class_<JoinObject>(module, "Join")
      .def("__init__", &init_join, "engine"_a, "left"_a, "right"_a, "options"_a)
      .def("plan", [](const JoinObject& self) { return self.join.plan(); })
      .def("profile", [](const JoinObject& self) { return self.join.profile(); })
      .def("count",
           [](JoinObject& self) {
             int64_t rows = 0;
             run_interruptible(self.join, self.is_long, [&] { rows = self.join.count(); });
             return rows;
           })
      .def(
          "aggregate",
          [](JoinObject& self, const std::vector<std::pair<std::string, std::string>>& items) {
            return stream_of([&](ArrowArrayStream* out) {
              run_interruptible(self.join, self.is_long, [&] { self.join.aggregate(items, out); });
            });
          },
          "items"_a)
      .def("collect",
           [](JoinObject& self) {
             return stream_of([&](ArrowArrayStream* out) {
               run_interruptible(self.join, self.is_long, [&] { self.join.collect(out); });
             });
           })
      .def(
          "stream",
          [](JoinObject& self, int queue_batches) {
            return stream_of([&](ArrowArrayStream* out) { self.join.stream(queue_batches, out); });
          },
          "queue_batches"_a = 8)
      .def("progress",
           [](const JoinObject& self) {
             const crossdock::JoinProgressView progress = self.join.progress();
             return nb::make_tuple(progress.phase, progress.rows_done, progress.rows_total);
           })
      .def("cancel", [](JoinObject& self) { self.join.cancel(); });
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
}

}  // namespace

NB_MODULE(_native, module) {
  // A traceback that a user keeps may keep our objects past the interpreter's end; that is no fault.
  nb::set_leak_warnings(false);
  static PyObject* native_error =
      PyErr_NewException("crossdock._native.NativeError", PyExc_Exception, nullptr);
  module.attr("NativeError") = nb::borrow(native_error);
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    try {
      std::rethrow_exception(raised);
    } catch (const crossdock::Exception& error) {
      const nb::object arguments = nb::make_tuple(error.code(), error.kind(), error.what());
      PyErr_SetObject(native_error, arguments.ptr());
    }
  });
  bind_engine(module);
  bind_tables(module);
  bind_join(module);
  bind_descriptions(module);
}
