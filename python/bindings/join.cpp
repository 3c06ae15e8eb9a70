// crossdock._native.Join, and the residual predicates that Python writes for it.
#include <crossdock/crossdock.hpp>

#include "bindings/channels.hpp"
#include "bindings/operation.hpp"
#include "bindings/results.hpp"
#include "session/rank_join.hpp"

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
  // The callable is shared by copies of the function, and dropped under the GIL by the thread that drops it last.
  std::shared_ptr<nb::object> shared(new nb::object(std::move(callable)), [](nb::object* object) {
    GilHold held;
    delete object;
  });
  return [shared](ArrowSchema* schema, ArrowArray* pairs, uint8_t* keep) {
    GilHold held;
    const int64_t rows = pairs->length;
    const nb::object argument = nb::cast(PairsObject(schema, pairs));
    read_booleans((*shared)(argument), rows, keep);
  };
}

std::vector<crossdock::OutputItem> items_of(const nb::object& items) {
  std::vector<crossdock::OutputItem> out;
  if (!items.is_valid()) return out;
  for (const nb::handle item : items) {
    const auto triple = nb::cast<nb::tuple>(item);
    out.push_back({nb::cast<std::string>(triple[0]),
                   nb::cast<std::string>(triple[1]),
                   nb::cast<std::string>(triple[2])});
  }
  return out;
}

// Few rows with equal keys have many pairs.
bool is_long_join(int64_t left_rows, int64_t right_rows) {
  constexpr double kManyPairs = 1 << 28;
  return is_long_run(left_rows + right_rows) ||
         static_cast<double>(left_rows) * static_cast<double>(right_rows) > kManyPairs;
}

using JoinObject = OperationObject<crossdock::Join>;

}  // namespace

crossdock::JoinOptions join_options(const char* owner, const nb::kwargs& arguments) {
  crossdock::JoinOptions options;
  OptionReader given(owner, arguments);
  given.read("on", options.on);
  given.read("how", options.how);
  options.output = items_of(given.take("output"));
  given.read("null_equals_null", options.null_equals_null);
  given.read("strategy", options.strategy);
  given.read("build", options.build);
  given.read("materialize", options.materialize);
  given.read("sorted_left", options.sorted_left);
  given.read("sorted_right", options.sorted_right);
  given.read("filter", options.filter);
  given.read("partition_bits", options.partition_bits);
  given.read("batch_rows", options.batch_rows);
  options.residual_columns = items_of(given.take("residual_columns"));
  const nb::object residual = given.take("residual");
  if (residual.is_valid() && !residual.is_none()) options.residual = residual_of(residual);
  given.finish();
  return options;
}

namespace {

void init_join(JoinObject* self,
               const crossdock::Engine& engine,
               const crossdock::ArrowTable& left,
               const crossdock::ArrowTable& right,
               const nb::kwargs& arguments) {
  const crossdock::JoinOptions options = join_options("Join", arguments);
  const bool is_long = is_long_join(left.rows(), right.rows());
  GilRelease released;
  new (self) JoinObject{crossdock::Join(engine, left, right, options), is_long};
}

// What all ranks of a group have partitioned into this one's memory.
struct RankSidesObject {
  std::shared_ptr<const operators::RankSides> sides;  // or null:
  std::string reason;                                 // why rows have to go another way
  std::string facts;                                  // JSON
};

// Only where the group goes in bulk.
RankSidesObject partition_sides(GroupObject& group,
                                const crossdock::Engine& engine,
                                const crossdock::ArrowTable& left,
                                const crossdock::ArrowTable& right,
                                const nb::kwargs& arguments) {
  const crossdock::JoinOptions options = join_options("partition_join", arguments);
  RankSidesObject sides;
  {
    const GilRelease released;
    ranks::Communicator& ranks = bulk_ranks(group);
    operators::RankPartition partition =
        value_or_raise(partition_join(ranks, engine, left, right, options));
    if (partition.sides != nullptr) sides.facts = bulk_json(partition.sides->facts, ranks.rank());
    sides.sides = std::move(partition.sides);
    sides.reason = std::move(partition.reason);
  }
  keep_interruption(group);
  return sides;
}

std::string refusal_of(int ranks,
                       const crossdock::Engine& engine,
                       const crossdock::ArrowTable& left,
                       const crossdock::ArrowTable& right,
                       const nb::kwargs& arguments) {
  const crossdock::JoinOptions options = join_options("partition_refusal", arguments);
  const GilRelease released;
  return value_or_raise(partition_refusal(ranks, engine, left, right, options));
}

}  // namespace

void bind_join(nb::module_& module) {
  nb::class_<PairsObject>(module, "ArrowPairs")
      .def("__arrow_c_array__", &PairsObject::take, "requested_schema"_a = nb::none());
  bind_operation<crossdock::Join>(module, "Join")
      .def("__init__", &init_join, "engine"_a, "left"_a, "right"_a, "options"_a);
  nb::class_<RankSidesObject>(module, "RankSides")
      .def_prop_ro("is_there", [](const RankSidesObject& self) { return self.sides != nullptr; })
      .def_prop_ro("rows",
                   [](const RankSidesObject& self) {
                     return self.sides == nullptr
                              ? 0
                              : self.sides->sides.rows[0] + self.sides->sides.rows[1];
                   })
      .def_ro("reason", &RankSidesObject::reason)
      .def_ro("facts", &RankSidesObject::facts)
      .def("plan",
           [](const RankSidesObject& self) { return crossdock::Plan::arrived_join(self.sides); });
  module.def(
      "partition_join", &partition_sides, "group"_a, "engine"_a, "left"_a, "right"_a, "options"_a);
  module.def(
      "partition_refusal", &refusal_of, "ranks"_a, "engine"_a, "left"_a, "right"_a, "options"_a);
}

}  // namespace crossdock::python
