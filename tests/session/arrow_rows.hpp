// Rows for tests of the public interface, made and read without it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "session/state.hpp"
#include "table/arrow_builder.hpp"

namespace crossdock {

// Columns "k" (begin, begin + 1, …) and "v" (ten times that), int64.
arrow_test::Columns key_columns(int64_t begin, int64_t count);
ArrowArray key_rows(int64_t begin, int64_t count);

ArrowTable table_of(const Engine& engine, std::vector<arrow_test::Columns> batches);
// A line per row, sorted.
std::vector<std::string> lines_of(const ArrowTable& table);
std::vector<int64_t> integers_of(const ReceivedRows& rows, int column);

// The act throws an Exception of this code, whose text has this in it.
void expect_thrown(const std::function<void()>& act, const char* code, const char* text);

}  // namespace crossdock
