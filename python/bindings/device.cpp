// crossdock._native.Device and DeviceTable: Arrow and DLPack cross as capsules. Operators wait without the GIL; what
// they must release of other libraries takes it itself.
#include "session/device/device.hpp"

#include <memory>
#include <optional>

#include <nanobind/stl/optional.h>

#include "bindings/device.hpp"
#include "bindings/operation.hpp"
#include "bindings/results.hpp"
#include "session/device/device_export.hpp"
#include "session/device/device_import.hpp"
#include "session/device/table_operations.hpp"

namespace crossdock::python {
namespace {

constexpr const char* kDeviceArrayName = "arrow_device_array";

struct DeviceObject {
  crossdock::session::DevicePtr device;
};

struct TableObject {
  crossdock::session::DeviceTable table;
};

// The result of `work`, which runs without the GIL.
template <class Work>
auto without_gil(const Work& work) {
  const auto run = [&] {
    GilRelease released;
    return work();
  };
  return value_or_raise(run());
}

// A column that a capsule of DLPack has; the capsule counts as used only once the table is made.
template <class Managed>
session::TensorColumn tensor_column(const std::string& name, Managed* managed) {
  return {name, managed->tensor, [managed] {
            if (managed->deleter != nullptr) managed->deleter(managed);
          }};
}

session::TensorColumn tensor_of_capsule(const std::string& name, const nb::object& capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), session::dlpack::ManagedVersioned::kName) != 0) {
    auto* const managed = struct_of<session::dlpack::ManagedVersioned>(
        capsule, session::dlpack::ManagedVersioned::kName);
    if (managed->version.major == 1) return tensor_column(name, managed);
    throw nb::buffer_error("a tensor of a later version of DLPack than 1");
  }
  return tensor_column(
      name, struct_of<session::dlpack::Managed>(capsule, session::dlpack::Managed::kName));
}

void mark_used(const nb::object& capsule) {
  const bool is_versioned =
      PyCapsule_IsValid(capsule.ptr(), session::dlpack::ManagedVersioned::kName) != 0;
  PyCapsule_SetName(capsule.ptr(),
                    is_versioned ? session::dlpack::ManagedVersioned::kUsedName
                                 : session::dlpack::Managed::kUsedName);
}

TableObject table_of_tensor(const DeviceObject& device,
                            const std::string& name,
                            const nb::object& capsule) {
  std::vector<session::TensorColumn> tensors{tensor_of_capsule(name, capsule)};
  session::DeviceTable table =
      without_gil([&] { return session::import_tensors(device.device, std::move(tensors)); });
  mark_used(capsule);
  return {std::move(table)};
}

// Columns of one row number each, as one table.
TableObject table_of_parts(const DeviceObject& device,
                           const std::vector<std::pair<std::string, TableObject*>>& parts) {
  TableObject whole{{.device = device.device}};
  for (const auto& [name, part] : parts) {
    const session::DeviceTable& from = part->table;
    if (!whole.table.columns.empty() && from.rows != whole.table.rows) {
      raise_error(make_error(ErrorCode::kInvalidArgument,
                             "column \"{}\" has {} rows, and \"{}\" {}",
                             name,
                             from.rows,
                             whole.table.columns[0].name,
                             whole.table.rows));
    }
    whole.table.rows = from.rows;
    whole.table.columns.push_back(from.columns.at(0));
    whole.table.columns.back().name = name;
  }
  return whole;
}

TableObject table_of_arrow(const DeviceObject& device,
                           const nb::object& schema,
                           const nb::object& array) {
  const auto* const described = struct_of<ArrowSchema>(schema, kSchemaName);
  if (PyCapsule_IsValid(array.ptr(), kDeviceArrayName) != 0) {
    auto* const given = struct_of<ArrowDeviceArray>(array, kDeviceArrayName);
    return {without_gil(
        [&] { return session::import_device_array(device.device, *described, given); })};
  }
  // An array of the host, without a device's frame.
  auto* const plain = struct_of<ArrowArray>(array, kArrayName);
  ArrowDeviceArray framed{};
  framed.array = *plain;
  framed.device_id = -1;
  framed.device_type = static_cast<ArrowDeviceType>(session::MemoryPlace::kHost);
  session::DeviceTable table =
      without_gil([&] { return session::import_device_array(device.device, *described, &framed); });
  plain->release = nullptr;
  return {std::move(table)};
}

std::pair<int, int64_t> place_of_array(const nb::object& array) {
  if (PyCapsule_IsValid(array.ptr(), kDeviceArrayName) == 0)
    return {static_cast<int>(session::MemoryPlace::kHost), 0};
  const auto* const given = struct_of<ArrowDeviceArray>(array, kDeviceArrayName);
  return {given->device_type, given->device_id};
}

nb::object table_schema(const TableObject& self) {
  auto schema = std::make_unique<ArrowSchema>();
  session::export_device_schema(self.table, schema.get());
  return make_capsule(std::move(schema), kSchemaName);
}

nb::object device_array_of(const TableObject& self) {
  auto array = std::make_unique<ArrowDeviceArray>();
  const auto exported = [&] {
    GilRelease released;
    return session::export_device_array(self.table, array.get());
  }();
  if (!exported.ok()) raise_error(exported.error());
  PyObject* capsule = PyCapsule_New(array.get(), kDeviceArrayName, [](PyObject* object) {
    auto* inner = static_cast<ArrowDeviceArray*>(PyCapsule_GetPointer(object, kDeviceArrayName));
    if (inner->array.release != nullptr) inner->array.release(&inner->array);
    delete inner;
  });
  if (capsule == nullptr) throw nb::python_error();
  array.release();
  return nb::make_tuple(table_schema(self), nb::steal(capsule));
}

nb::object host_array_of(const TableObject& self) {
  auto array = std::make_unique<ArrowArray>();
  const auto exported = [&] {
    GilRelease released;
    return session::export_host_array(self.table, array.get());
  }();
  if (!exported.ok()) raise_error(exported.error());
  return nb::make_tuple(table_schema(self), make_capsule(std::move(array), kArrayName));
}

template <class Managed>
nb::object tensor_capsule(Managed* managed) {
  PyObject* capsule = PyCapsule_New(managed, Managed::kName, [](PyObject* object) {
    // The consumer that has taken it has renamed it.
    if (PyCapsule_IsValid(object, Managed::kName) == 0) return;
    auto* inner = static_cast<Managed*>(PyCapsule_GetPointer(object, Managed::kName));
    inner->deleter(inner);
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

nb::object tensor_of_table(const TableObject& self,
                           const std::string& column,
                           uint64_t stream,
                           bool is_versioned) {
  if (is_versioned)
    return tensor_capsule(
        without_gil([&] { return session::export_versioned_tensor(self.table, column, stream); }));
  return tensor_capsule(
      without_gil([&] { return session::export_tensor(self.table, column, stream); }));
}

template <class Value>
Value choice_of(const std::string& word,
                std::initializer_list<std::pair<const char*, Value>> choices) {
  for (const auto& [name, value] : choices)
    if (word == name) return value;
  throw nb::value_error(("no such choice: " + word).c_str());
}

TableObject join_tables(const TableObject& self,
                        const TableObject& other,
                        const std::vector<std::pair<std::string, std::string>>& keys,
                        const std::string& how,
                        const std::string& suffix) {
  using enum operators::DeviceJoinKind;
  const session::TableJoin join{.keys = keys,
                                .kind = choice_of<operators::DeviceJoinKind>(how,
                                                                             {{"inner", kInner},
                                                                              {"left", kLeft},
                                                                              {"right", kRight},
                                                                              {"full", kFull},
                                                                              {"semi", kSemi},
                                                                              {"anti", kAnti}}),
                                .suffix = suffix};
  return {without_gil([&] { return join_tables(self.table, other.table, join); })};
}

// (column, comparison, number)
using GivenConditions = std::vector<std::tuple<std::string, std::string, nb::object>>;

std::vector<session::TableCondition> conditions_of(const GivenConditions& given) {
  using enum session::TableComparison;
  std::vector<session::TableCondition> conditions;
  for (const auto& [column, comparison, value] : given) {
    session::TableCondition condition;
    condition.column = column;
    condition.comparison = choice_of<session::TableComparison>(comparison,
                                                               {{"==", kEqual},
                                                                {"<", kLess},
                                                                {"<=", kLessEqual},
                                                                {">", kGreater},
                                                                {">=", kGreaterEqual},
                                                                {"is_null", kIsNull},
                                                                {"is_not_null", kIsNotNull}});
    condition.is_real = PyFloat_Check(value.ptr()) != 0;
    if (condition.is_real) {
      condition.real = nb::cast<double>(value);
    } else if (!value.is_none()) {
      condition.whole = nb::cast<int64_t>(value);
    }
    conditions.push_back(condition);
  }
  return conditions;
}

// (name of the result, function, column or nothing, conditions)
using GivenAggregate = std::tuple<std::string, std::string, std::string, GivenConditions>;

TableObject group_by(const TableObject& self,
                     const std::vector<std::string>& keys,
                     const std::vector<GivenAggregate>& given) {
  using enum session::TableFunction;
  std::vector<session::TableAggregate> aggregates;
  for (const auto& [name, function, column, conditions] : given) {
    const auto known = choice_of<session::TableFunction>(
        function,
        {{"count", kCount}, {"sum", kSum}, {"mean", kMean}, {"min", kMin}, {"max", kMax}});
    aggregates.push_back({name, known, column, conditions_of(conditions)});
  }
  return {without_gil([&] { return session::group_table(self.table, keys, aggregates); })};
}

TableObject sort(const TableObject& self,
                 const std::vector<std::tuple<std::string, bool, bool>>& given,
                 std::optional<uint64_t> limit,
                 uint64_t offset) {
  std::vector<session::TableOrder> orders;
  for (const auto& [column, descending, nulls_first] : given)
    orders.push_back({column, descending, nulls_first});
  return {without_gil(
      [&] { return session::sort_table(self.table, orders, limit.value_or(UINT64_MAX), offset); })};
}

TableObject filter(const TableObject& self, const GivenConditions& given) {
  const std::vector<session::TableCondition> conditions = conditions_of(given);
  return {without_gil([&] { return session::filter_table(self.table, conditions); })};
}

TableObject select(const TableObject& self,
                   const std::vector<std::pair<std::string, std::string>>& columns) {
  TableObject selected{{.device = self.table.device, .rows = self.table.rows}};
  for (const auto& [name, from] : columns) {
    session::TableColumn column = *value_or_raise(self.table.find(from));
    column.name = name;
    selected.table.columns.push_back(std::move(column));
  }
  return selected;
}

}  // namespace

void bind_device(nb::module_& module) {
  module.def("place_of_array", &place_of_array, "array"_a);
  module.def("place_text", &session::place_text, "type"_a, "id"_a);
  nb::class_<DeviceObject>(module, "Device")
      .def(
          "__init__",
          [](DeviceObject* self, const std::string& name, uint64_t memory_bytes) {
            new (self)
                DeviceObject{without_gil([&] { return session::open_device(name, memory_bytes); })};
          },
          "name"_a,
          "memory_bytes"_a = 0)
      .def_prop_ro("name", [](const DeviceObject& self) { return self.device->name(); })
      .def_prop_ro("label", [](const DeviceObject& self) { return self.device->facts().label; })
      .def_prop_ro("stream", [](const DeviceObject& self) { return self.device->facts().stream; })
      .def_prop_ro("dlpack_device",
                   [](const DeviceObject& self) {
                     const session::DeviceFacts& facts = self.device->facts();
                     return std::pair(static_cast<int>(facts.place), facts.id);
                   })
      .def_prop_ro("memory_limit_bytes",
                   [](const DeviceObject& self) { return self.device->pool().limit_bytes(); })
      .def_prop_ro("memory_used_bytes",
                   [](const DeviceObject& self) { return self.device->pool().used_bytes(); })
      .def_prop_ro("memory_held_bytes",
                   [](const DeviceObject& self) { return self.device->pool().held_bytes(); })
      .def("trim",
           [](const DeviceObject& self) {
             GilRelease released;
             self.device->trim();
           })
      .def("table_of_arrow", &table_of_arrow, "schema"_a, "array"_a)
      .def("table_of_tensor", &table_of_tensor, "name"_a, "capsule"_a)
      .def("table_of_parts", &table_of_parts, "parts"_a)
      .def(
          "reaches",
          [](const DeviceObject& self, int type, int64_t id) {
            return session::device_reaches(*self.device, type, id);
          },
          "type"_a,
          "id"_a);
  nb::class_<TableObject>(module, "DeviceTable")
      .def_prop_ro("num_rows", [](const TableObject& self) { return self.table.rows; })
      .def_prop_ro("column_names",
                   [](const TableObject& self) {
                     std::vector<std::string> names;
                     for (const session::TableColumn& column : self.table.columns)
                       names.push_back(column.name);
                     return names;
                   })
      .def("join", &join_tables, "other"_a, "keys"_a, "how"_a, "suffix"_a)
      .def("group_by", &group_by, "keys"_a, "aggregates"_a)
      .def("sort", &sort, "orders"_a, "limit"_a, "offset"_a)
      .def("filter", &filter, "conditions"_a)
      .def("select", &select, "columns"_a)
      .def(
          "column",
          [](const TableObject& self, size_t at) {
            TableObject selected{{.device = self.table.device, .rows = self.table.rows}};
            selected.table.columns.push_back(self.table.columns.at(at));
            return selected;
          },
          "at"_a)
      .def("schema", &table_schema)
      .def("device_array", &device_array_of)
      .def("host_array", &host_array_of)
      .def("tensor", &tensor_of_table, "column"_a, "stream"_a, "versioned"_a);
}

}  // namespace crossdock::python
