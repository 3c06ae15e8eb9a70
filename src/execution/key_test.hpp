// Tells a source which rows a join will drop, by their keys alone.
#pragma once

#include <memory>
#include <vector>

#include "execution/join_table.hpp"
#include "execution/stage.hpp"

namespace crossdock::execution {

// `input`: of the probe side, whose columns the table's keys name. Both outlive the test. nullptr where keys are
// hashes, or not all of them columns of origin 0.
std::unique_ptr<RowTest> make_key_test(const BlockSchema& input, const JoinTable& table);

// What is known of rows with a partner, as Stage::known_bounds says it: the range of one integer key, or all keys
// where they are few.
std::vector<expressions::ExpressionPtr> key_bounds(const BlockSchema& input,
                                                   const JoinTable& table);

}  // namespace crossdock::execution
