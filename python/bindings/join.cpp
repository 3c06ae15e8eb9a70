// crossdock._native.Join, and the residual predicates that Python writes for it.
#include <crossdock/crossdock.hpp>

#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

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

using JoinObject = OperationObject<crossdock::Join>;

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
    else if (name == "sorted_left")
      options.sorted_left = nb::cast<std::string>(value);
    else if (name == "sorted_right")
      options.sorted_right = nb::cast<std::string>(value);
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
  const bool is_long = is_long_run(left.rows() + right.rows());
  nb::gil_scoped_release released;
  new (self) JoinObject{crossdock::Join(engine, left, right, options), is_long};
}

}  // namespace

void bind_join(nb::module_& module) {
  nb::class_<PairsObject>(module, "ArrowPairs")
      .def("__arrow_c_array__", &PairsObject::take, "requested_schema"_a = nb::none());
  bind_operation<crossdock::Join>(module, "Join")
      .def("__init__", &init_join, "engine"_a, "left"_a, "right"_a, "options"_a)
      .def(
          "aggregate",
          [](JoinObject& self, const std::vector<std::pair<std::string, std::string>>& items) {
            return stream_of([&](ArrowArrayStream* out) {
              run_interruptible(
                  self.operation, self.is_long, [&] { self.operation.aggregate(items, out); });
            });
          },
          "items"_a);
}

}  // namespace crossdock::python
