#include "execution/probe_words.hpp"

namespace crossdock::execution {

ProbeWords::ProbeWords(const BlockSchema& input, const JoinTable& table)
    : table_(table),
      keys_(input, table.keys().columns(operators::Side::kLeft)),
      encoder_(table.keys(), *input.schema, operators::Side::kLeft) {}

int32_t ProbeWords::load(const RowBlock& block) {
  uint8_t live[kBlockRows];
  int32_t count = block.rows;
  const bool any_dead = encoder_.encode(keys_.load(block), count, words_, live) < count;
  for (int32_t i = 0; i < count; ++i) rows_[i] = static_cast<uint16_t>(i);
  if (any_dead) {
    int32_t kept = 0;
    for (int32_t i = 0; i < count; ++i) {
      words_[kept] = words_[i];
      rows_[kept] = rows_[i];
      kept += live[i];
    }
    count = kept;
  }
  return table_.select(words_, rows_, count);
}

}  // namespace crossdock::execution
