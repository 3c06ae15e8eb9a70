// Random columns of any type, as foreign arrays, for tests that compare with a plain reference.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "table/arrow_builder.hpp"

namespace crossdock::arrow_test {

using Random = std::mt19937_64;

// Every non-dictionary format that tables hold.
const std::vector<std::string>& plain_formats();

// A plain array of `rows` random values, of which about `null_share` are null. Strings have 0 to 40
// bytes, mostly few, zero bytes among them.
Array random_array(const std::string& format, int64_t rows, double null_share, Random& random);

// Indices of format `index_format` into `values`.
Array random_encoded(const std::string& index_format,
                     const Array& values,
                     int64_t rows,
                     double null_share,
                     Random& random);

std::string random_text(Random& random);

}  // namespace crossdock::arrow_test
