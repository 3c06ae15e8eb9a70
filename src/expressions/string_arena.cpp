#include "expressions/string_arena.hpp"

#include <algorithm>

namespace crossdock::expressions::steps {

void StringArena::reset() {
  if (pieces_.size() > 1) pieces_.erase(pieces_.begin(), pieces_.end() - 1);
  used_ = 0;
  bytes_ = 0;
  status_ = {};
}

char* StringArena::room(int64_t bytes) {
  constexpr int64_t kFirstBytes = int64_t{1} << 14;
  if (!status_.ok()) return nullptr;
  if (bytes_ + bytes > kMaxBytes) {
    status_ = make_error(ErrorCode::kExpressionFailed,
                         "the strings that an expression makes of 1,024 rows have over {} bytes",
                         kMaxBytes);
    return nullptr;
  }
  if (pieces_.empty() || used_ + bytes > pieces_.back().bytes()) {
    const int64_t doubled = pieces_.empty() ? kFirstBytes : 2 * pieces_.back().bytes();
    Result<Block> piece = memory_->get(std::max(bytes, doubled), "the strings of expressions");
    if (!piece.ok()) {
      status_ = piece.error();
      return nullptr;
    }
    pieces_.push_back(std::move(piece.value()));
    used_ = 0;
  }
  return pieces_.back().as<char>() + used_;
}

}  // namespace crossdock::expressions::steps
