// Arrow C structs as PyCapsules.
#pragma once

#include <memory>

#include <nanobind/nanobind.h>

#include <crossdock/arrow_c.hpp>

namespace crossdock::python {

namespace nb = nanobind;

inline constexpr const char* kStreamName = "arrow_array_stream";
inline constexpr const char* kSchemaName = "arrow_schema";
inline constexpr const char* kArrayName = "arrow_array";

// What a capsule of that name points to; the caller's Python error if it is another one.
template <class Struct>
Struct* struct_of(const nb::handle& capsule, const char* name) {
  auto* structure = static_cast<Struct*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (structure == nullptr) throw nb::python_error();
  return structure;
}

// A capsule that owns a C struct: released when no consumer took it over.
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

// What Python calls an Arrow stream: hands out its capsule once. The stream's calls wait without the GIL.
class StreamObject {
 public:
  explicit StreamObject(std::unique_ptr<ArrowArrayStream> stream);
  nb::object take(const nb::object&) {
    if (!capsule_.is_valid()) throw nb::value_error("this Arrow stream was already consumed");
    return std::move(capsule_);
  }

 private:
  nb::object capsule_;
};

// What `export_to` has made is released if it throws all the same: a signal may come to a run that has
// its result already.
template <class Export>
StreamObject stream_of(const Export& export_to) {
  auto stream = std::make_unique<ArrowArrayStream>();
  try {
    export_to(stream.get());
  } catch (...) {
    if (stream->release != nullptr) stream->release(stream.get());
    throw;
  }
  return StreamObject(std::move(stream));
}

}  // namespace crossdock::python
