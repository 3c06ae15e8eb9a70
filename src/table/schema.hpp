// Names and types of a table's columns.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "table/type.hpp"

namespace crossdock {

struct Field {
  std::string name;
  DataType type;
  bool nullable = true;
  std::string metadata;  // Arrow's encoded key-value block, passed through; may be empty
};

struct Schema {
  std::vector<Field> fields;

  int column_count() const { return static_cast<int>(fields.size()); }

  // Position of `name`. Error kUnknownColumn proposes the nearest name and lists what is there;
  // kDuplicateColumn if the name stands twice. `where` says whose schema this is ("left table").
  Result<int> find(std::string_view name, std::string_view where) const;
};

using SchemaPtr = std::shared_ptr<const Schema>;

}  // namespace crossdock
