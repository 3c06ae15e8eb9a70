// What expressions over lists in Python ask of the engine's kernels.
#include <nanobind/stl/string.h>

#include "bindings/gil.hpp"
#include "bindings/held_buffer.hpp"
#include "bindings/operation.hpp"
#include "expressions/list_kernels.hpp"

namespace crossdock::python {
namespace {

using expressions::ListColumn;

// The buffers of a column: ends, words, and a byte of each word, or None.
class HeldLists {
 public:
  explicit HeldLists(const nb::tuple& parts)
      : ends_(parts[0]), words_(parts[1]), valid_(parts[2].is_none() ? nb::object() : parts[2]) {
    if (!is_well_formed(lists())) throw nb::value_error("these are no ends of lists");
  }
  ListColumn lists() const {
    return {ends_.as<int64_t>(), words_.as<uint64_t>(), valid_.as<uint8_t>()};
  }

 private:
  HeldBuffer ends_;
  HeldBuffer words_;
  HeldBuffer valid_;
};

// Bytes that are written before anyone sees them.
template <class T>
class NewBytes {
 public:
  explicit NewBytes(size_t count)
      : bytes_(nb::steal<nb::bytes>(
            PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count * sizeof(T))))) {
    if (!bytes_.is_valid()) throw nb::python_error();
    data_ = reinterpret_cast<T*>(PyBytes_AsString(bytes_.ptr()));
  }
  T* data() { return data_; }
  nb::bytes take() { return std::move(bytes_); }

 private:
  nb::bytes bytes_;
  T* data_ = nullptr;
};

nb::tuple folded(const std::string& function, const std::string& type, const nb::tuple& parts) {
  const auto fold = expressions::parse_list_fold(function);
  if (!fold.has_value()) throw nb::value_error("there is no such function of lists");
  const HeldLists held(parts);
  const ListColumn lists = held.lists();
  const auto rows = static_cast<size_t>(lists.rows());
  NewBytes<uint64_t> values(rows);
  NewBytes<uint8_t> valid(rows);
  bool fits = true;
  {
    const GilRelease released;
    if (type == "g") {
      fold_reals(*fold, lists, reinterpret_cast<double*>(values.data()), valid.data());
    } else if (type == "l") {
      fits = fold_signed(*fold, lists, values.data(), valid.data());
    } else {
      fits = fold_unsigned(*fold, lists, values.data(), valid.data());
    }
  }
  if (!fits) throw std::overflow_error("the sum of a list does not fit 64 bits");
  return nb::make_tuple(values.take(), valid.take());
}

nb::bytes first_places(const nb::tuple& parts, const nb::object& words) {
  const HeldLists held(parts);
  const HeldBuffer sought(words);
  const ListColumn lists = held.lists();
  const auto of_rows = sought.as<uint64_t>();
  if (of_rows.size() != 1 && static_cast<int64_t>(of_rows.size()) != lists.rows()) {
    throw nb::value_error("there are other words than rows");
  }
  NewBytes<int64_t> places(static_cast<size_t>(lists.rows()));
  {
    const GilRelease released;
    find_first(lists, of_rows, places.data());
  }
  return places.take();
}

nb::bytes members(const nb::tuple& parts, const nb::tuple& others) {
  const HeldLists held(parts);
  const HeldLists among(others);
  const ListColumn lists = held.lists();
  if (among.lists().rows() != 1 && among.lists().rows() != lists.rows()) {
    throw nb::value_error("there are other lists than rows");
  }
  NewBytes<uint8_t> hits(lists.words.size());
  {
    const GilRelease released;
    find_members(lists, among.lists(), hits.data());
  }
  return hits.take();
}

nb::bytes distinct(const nb::tuple& parts) {
  const HeldLists held(parts);
  const ListColumn lists = held.lists();
  NewBytes<uint8_t> firsts(lists.words.size());
  {
    const GilRelease released;
    find_distinct(lists, firsts.data());
  }
  return firsts.take();
}

}  // namespace

void bind_list_values(nb::module_& module) {
  module.def("fold_lists", &folded, "function"_a, "type"_a, "lists"_a);
  module.def("find_in_lists", &first_places, "lists"_a, "words"_a);
  module.def("members_of_lists", &members, "lists"_a, "among"_a);
  module.def("distinct_of_lists", &distinct, "lists"_a);
}

}  // namespace crossdock::python
