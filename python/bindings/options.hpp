// Reads the keyword arguments of an operation into its options.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

namespace crossdock::python {

namespace nb = nanobind;

// Options that were not given keep their defaults; one that is not read is a TypeError.
class OptionReader {
 public:
  OptionReader(const char* owner, const nb::dict& given) : owner_(owner), left_(copy_of(given)) {}

  // What was given as `name`, which is asked for once; not valid if nothing was.
  nb::object take(const char* name) {
    if (!left_.contains(name)) return {};
    nb::object value = left_[name];
    nb::del(left_[name]);
    return value;
  }

  template <class Value>
  void read(const char* name, Value& option) {
    const nb::object value = take(name);
    if (!value.is_valid()) return;
    if (!nb::try_cast<Value>(value, option)) {
      const std::string given = nb::cast<std::string>(nb::repr(value));
      throw nb::type_error((std::string(owner_) + " takes no " + given + " as " + name).c_str());
    }
  }

  // After the last option.
  void finish() const {
    for (const auto& [name, value] : left_) {
      throw nb::type_error(
          (std::string(owner_) + " has no option " + nb::cast<std::string>(name)).c_str());
    }
  }

 private:
  static nb::dict copy_of(const nb::dict& given) {
    nb::dict copy;
    copy.update(given);
    return copy;
  }

  const char* owner_;
  nb::dict left_;
};

}  // namespace crossdock::python
