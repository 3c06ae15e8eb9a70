// The bytes of a Python object that has a buffer.
#pragma once

#include <span>

#include <nanobind/nanobind.h>

namespace crossdock::python {

namespace nb = nanobind;

// Bytes that a Python object keeps, for as long as this lives.
class HeldBuffer {
 public:
  explicit HeldBuffer(const nb::object& of) {
    if (!of.is_valid()) return;
    if (PyObject_GetBuffer(of.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~HeldBuffer() {
    if (view_.obj != nullptr) PyBuffer_Release(&view_);
  }
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;

  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(view_.buf), static_cast<size_t>(view_.len) / sizeof(T)};
  }

 private:
  Py_buffer view_{};
};

}  // namespace crossdock::python
