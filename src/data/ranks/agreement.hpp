// What all ranks of a group have to agree on before any of them goes on: each says that it can, or why not.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "data/ranks/rank_group.hpp"

namespace crossdock::ranks {

// What every rank passed, by rank, if all passed a value; else the error of the first one that did not, with its rank.
// All ranks call it, whether they can go on or not, so none is left waiting. Errors of RankGroup::gather.
Result<std::vector<std::string>> agree(RankGroup& group,
                                       const Result<std::string>& said,
                                       std::chrono::milliseconds at_most);
// What agree passes: who leaves while others agree passes an error.
std::string passed_text(const Result<std::string>& mine);

// CD-105 that names the first rank whose text is not that of rank 0, with both; `rule` says why they should be alike.
Status check_same(const std::vector<std::string>& by_rank, const std::string& rule);

// An error in a few bytes, and back; unknown codes become CD-613.
std::string error_text(const Error& error, size_t bytes_max);
Error error_of_text(const std::string& text);

}  // namespace crossdock::ranks
