// Streams that wait without the GIL.
#include "bindings/arrow_capsule.hpp"

#include <optional>

#include "bindings/gil.hpp"

// Every CPython since 3.4 has it, and headers for the stable interface leave it out.
extern "C" int PyGILState_Check(void);

namespace crossdock::python {
namespace {

// Lets go of the GIL, if this thread holds it: who reads or releases a stream may hold it, while a
// worker of the join needs it for a residual predicate.
class GilPause {
 public:
  GilPause() {
    if (Py_IsInitialized() && PyGILState_Check()) release_.emplace();
  }

 private:
  std::optional<GilRelease> release_;
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

}  // namespace

StreamObject::StreamObject(std::unique_ptr<ArrowArrayStream> stream)
    : capsule_(make_capsule(pausing_stream(std::move(stream)), kStreamName)) {}

}  // namespace crossdock::python
