#include "scan/string_codes.hpp"

namespace crossdock::scan {

void StringCodes::add(std::string_view text) {
  const auto next = static_cast<int32_t>(codes_.size());
  if (codes_.find(text) != codes_.end()) return;
  codes_.emplace(text, next);
  bytes_ += text;
  offsets_.push_back(static_cast<int32_t>(bytes_.size()));
}

void StringCodes::freeze() {
  bytes_.reserve(16);
  values_.length = static_cast<int64_t>(codes_.size());
  values_.values = reinterpret_cast<const uint8_t*>(bytes_.data());
  values_.offsets = offsets_.data();
}

int32_t StringCodes::code(std::string_view text) const {
  const auto at = codes_.find(text);
  return at == codes_.end() ? -1 : at->second;
}

}  // namespace crossdock::scan
