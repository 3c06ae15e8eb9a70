// crossdock._native.Plan and Query.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/variant.h>

#include "bindings/operation.hpp"

namespace crossdock::python {
namespace {

using QueryObject = OperationObject<crossdock::Query>;

// measures, rules left out
using RunOptions = std::pair<bool, std::vector<std::string>>;

void init_query(QueryObject* self,
                const crossdock::Engine& engine,
                const crossdock::Plan& plan,
                const RunOptions& options,
                const crossdock::ArrowTable* like) {
  const crossdock::QueryOptions all{options.first, options.second, like};
  new (self) QueryObject{crossdock::Query(engine, plan, all), !plan.is_short()};
}

// A function of Python, which whatever thread drops it last lets go of.
std::shared_ptr<nb::object> shared_object(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* last) {
            GilHold held;
            delete last;
          }};
}

// `ask`(number of the file, request)
crossdock::ParquetFiles open_remote(
    const std::vector<std::tuple<std::string, int64_t, nb::bytes>>& files, nb::object ask) {
  const auto shared = shared_object(std::move(ask));
  std::vector<crossdock::RemoteFile> described;
  for (const auto& [name, bytes, tail] : files) {
    const auto number = static_cast<int64_t>(described.size());
    const auto begin = [shared, number](std::shared_ptr<crossdock::RangeRequest> request) {
      GilHold held;
      try {
        (*shared)(number, request);
      } catch (const nb::python_error& error) {
        request->fail(error.what());
      }
    };
    described.push_back({name, bytes, std::string(tail.c_str(), tail.size()), begin});
  }
  GilRelease released;
  return crossdock::ParquetFiles::open(std::move(described));
}

void bind_requests(nb::module_& module) {
  using crossdock::RangeRequest;
  nb::class_<RangeRequest>(module, "RangeRequest")
      .def_prop_ro("offset", &RangeRequest::offset)
      .def_prop_ro("bytes", &RangeRequest::bytes)
      .def_prop_ro("is_wanted", &RangeRequest::is_wanted)
      .def(
          "deliver",
          [](RangeRequest& self, const nb::bytes& data) {
            self.deliver(data.c_str(), static_cast<int64_t>(data.size()));
          },
          "data"_a)
      .def("fail", &RangeRequest::fail, "why"_a);
}

void bind_files(nb::module_& module) {
  nb::class_<crossdock::ParquetFiles>(module, "ParquetFiles")
      .def_static(
          "open",
          nb::overload_cast<const std::vector<std::string>&>(&crossdock::ParquetFiles::open),
          "paths"_a,
          nb::call_guard<nb::gil_scoped_release>())
      .def_static("open_remote", &open_remote, "files"_a, "ask"_a)
      .def("with_values", &crossdock::ParquetFiles::with_values, "values"_a)
      .def("with_paths", &crossdock::ParquetFiles::with_paths, "paths"_a)
      .def("schema_numbers", &crossdock::ParquetFiles::schema_numbers)
      .def(
          "schema_file",
          [](const crossdock::ParquetFiles& files, int file) {
            const std::string bytes = files.schema_file(file);
            return nb::bytes(bytes.data(), bytes.size());
          },
          "file"_a)
      .def("stated_range", &crossdock::ParquetFiles::stated_range, "like"_a)
      .def_prop_ro("num_rows", &crossdock::ParquetFiles::rows);
}

crossdock::Plan rank_filter(const crossdock::Plan& self,
                            const std::vector<std::string>& keys,
                            const nb::bytes& blocks,
                            std::optional<int64_t> first_key) {
  std::vector<uint64_t> words(blocks.size() / sizeof(uint64_t));
  std::memcpy(words.data(), blocks.c_str(), words.size() * sizeof(uint64_t));
  return self.rank_filter(keys, std::move(words), first_key);
}

// path, lines to skip, header, values of a line, places of the columns
using CsvFileArguments = std::tuple<std::string, int64_t, bool, int32_t, std::vector<int32_t>>;

crossdock::Plan scan_csv(
    const std::vector<CsvFileArguments>& files,
    const std::tuple<std::string, std::string, std::vector<std::string>>& format,
    const crossdock::ArrowTable& like,
    const std::string& name) {
  const auto& [delimiter, quote, nulls] = format;
  crossdock::CsvFormat read;
  read.delimiter = delimiter.empty() ? ',' : delimiter[0];
  read.quote = quote.empty() ? std::nullopt : std::optional<char>(quote[0]);
  read.null_strings = nulls;
  std::vector<crossdock::CsvFile> all;
  for (const auto& [path, lines, header, values, places] : files) {
    all.push_back({path, lines, header, values, places});
  }
  return crossdock::Plan::scan_csv(std::move(all), std::move(read), like, name);
}

void bind_plan(nb::module_& module) {
  nb::class_<crossdock::Plan>(module, "Plan")
      .def_static("scan", &crossdock::Plan::scan, "table"_a, "columns"_a, "name"_a)
      .def_static("scan_parquet",
                  &crossdock::Plan::scan_parquet,
                  "files"_a,
                  "like"_a,
                  "name"_a,
                  "with_codes"_a = true,
                  "keys"_a = std::vector<std::string>())
      .def_static("scan_csv", &scan_csv, "files"_a, "format"_a, "like"_a, "name"_a)
      .def("column", &crossdock::Plan::column, "name"_a)
      .def("filter", &crossdock::Plan::filter, "conditions"_a)
      .def("project", &crossdock::Plan::project, "items"_a)
      .def(
          "pair_column",
          [](const crossdock::Plan& self,
             const crossdock::Plan& right,
             const std::string& name,
             const nb::kwargs& arguments) {
            return self.pair_column(right, join_options("pair_column", arguments), name);
          },
          "right"_a,
          "name"_a,
          "options"_a)
      .def(
          "join",
          [](const crossdock::Plan& self,
             const crossdock::Plan& right,
             const std::optional<crossdock::Expr>& condition,
             const nb::kwargs& arguments) {
            return self.join(right, join_options("join", arguments), condition);
          },
          "right"_a,
          "condition"_a.none(),
          "options"_a)
      .def(
          "group_by",
          [](const crossdock::Plan& self, const nb::kwargs& arguments) {
            return self.group_by(group_options("group_by", arguments));
          },
          "options"_a)
      .def(
          "sort",
          [](const crossdock::Plan& self, const nb::kwargs& arguments) {
            return self.sort(sort_options("sort", arguments));
          },
          "options"_a)
      .def(
          "window",
          [](const crossdock::Plan& self, const nb::kwargs& arguments) {
            return self.window(window_options("window", arguments));
          },
          "options"_a)
      .def("rank_filter", &rank_filter, "keys"_a, "blocks"_a, "first_key"_a.none())
      .def("limit", &crossdock::Plan::limit, "rows"_a, "offset"_a)
      .def("union_all", &crossdock::Plan::union_all, "others"_a)
      .def("__arrow_c_schema__",
           [](const crossdock::Plan& self) {
             auto schema = std::make_unique<ArrowSchema>();
             self.export_schema(schema.get());
             return make_capsule(std::move(schema), kSchemaName);
           })
      .def("text", &crossdock::Plan::text);
}

}  // namespace

void bind_query(nb::module_& module) {
  bind_requests(module);
  bind_files(module);
  bind_plan(module);
  bind_operation<crossdock::Query>(module, "Query")
      .def("__init__",
           &init_query,
           "engine"_a,
           "plan"_a,
           "options"_a = RunOptions(),
           "like"_a.none() = nb::none())
      .def_static("rules", &crossdock::QueryOptions::rules);
}

}  // namespace crossdock::python
