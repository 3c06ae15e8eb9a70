// The key words of a block's rows, and which rows may have a partner.
#pragma once

#include <cstdint>

#include "execution/column_gather.hpp"
#include "execution/join_table.hpp"

namespace crossdock::execution {

// One worker's own.
class ProbeWords {
 public:
  // `input`: of the probe side, whose columns the table's keys name.
  ProbeWords(const BlockSchema& input, const JoinTable& table);

  // Answers how many rows may have a partner: rows()[i] is one of the block's, words()[i] its word.
  int32_t load(const RowBlock& block);
  uint64_t* words() { return words_; }
  uint16_t* rows() { return rows_; }

 private:
  const JoinTable& table_;
  FlatColumns keys_;
  JoinKeyEncoder encoder_;
  uint64_t words_[kBlockRows];
  uint16_t rows_[kBlockRows];
};

}  // namespace crossdock::execution
