// Rows of Parquet files by number: what a sort with a limit keeps reads its payload by them.
#pragma once

#include <memory>
#include <vector>

#include "execution/file_source.hpp"
#include "execution/pipeline.hpp"
#include "scan/string_codes.hpp"

namespace crossdock::execution {

// `codes`: by column, of those that have them. Errors of read(): kSourceFailed, kOutOfMemoryBudget.
std::shared_ptr<const RowsByNumber> rows_of_files(
    FileSourceOptions options, std::vector<std::shared_ptr<const scan::StringCodes>> codes);

// Adds origin 1, whose rows have the numbers in column `numbers` of origin 0: the batches that `rows` reads of them,
// with these columns. The places of the schema are the caller's.
void read_by_number(Chain& chain,
                    std::shared_ptr<const RowsByNumber> rows,
                    int numbers,
                    std::vector<int> columns,
                    int workers);

}  // namespace crossdock::execution
