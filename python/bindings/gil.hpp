// Letting go of the GIL and taking it back, in threads that may outlive the interpreter.
//
// Once the interpreter ends, Python ends each thread that wants the GIL (a daemon thread in a long call) by unwinding
// its stack. Frames that let no exception through, nanobind's and destructors among them, make std::terminate of that,
// and SIGABRT. Such a thread sleeps here until the process has ended.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace crossdock::python {

[[noreturn]] inline void sleep_until_exit() {
  while (true) pause();
}

// `take` asks for the GIL.
template <class Take>
auto take_gil(const Take& take) noexcept {
  try {
    return take();
  } catch (...) {  // the unwinding of the thread: it must neither go on nor be ended here
    sleep_until_exit();
  }
}

class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease() {
    take_gil([this] { return PyEval_RestoreThread(state_); });
  }
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;

 private:
  PyThreadState* state_;
};

class GilHold {
 public:
  GilHold() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
  ~GilHold() { PyGILState_Release(state_); }
  GilHold(const GilHold&) = delete;
  GilHold& operator=(const GilHold&) = delete;

 private:
  PyGILState_STATE state_;
};

}  // namespace crossdock::python
