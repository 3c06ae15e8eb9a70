// Drops rows of a table in memory before any condition is computed of them.
#pragma once

#include "execution/pipeline.hpp"

namespace crossdock::execution {

// In front of all stages of a chain that reads a table: the test of its last stage, where that costs no more than a
// comparison. Sources of files apply such tests themselves.
void test_early(Chain& chain, int workers);

}  // namespace crossdock::execution
