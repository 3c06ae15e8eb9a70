#include "expressions/json_scanner.hpp"

#include "expressions/json_text.hpp"
#include "expressions/number_text.hpp"

namespace crossdock::expressions {
JsonFinding JsonScanner::find(std::string_view document, const JsonPath& path, bool is_known) {
  begin_ = at_ = document.data();
  end_ = begin_ + document.size();
  depth_ = 0;
  outer_.clear();
  Descent descent = Descent::kDown;
  for (size_t i = 0; i < path.size() && descent == Descent::kDown; ++i) descent = descend(path[i]);
  if (descent == Descent::kMalformed) return {};
  JsonFinding finding{true, std::nullopt};
  if (descent == Descent::kDown) {
    const char* const begin = pass_spaces(at_);
    at_ = pass_value(begin);
    if (at_ == nullptr) return {};
    finding.value = {begin, static_cast<size_t>(at_ - begin)};
  }
  if (is_known) return finding;
  at_ = pass_to(at_, 0);
  if (at_ == nullptr) return {};
  at_ = pass_spaces(at_);
  if (at_ == end_) return finding;
  refuse(at_);
  return {};
}

const char* JsonScanner::scalar_end(const char* at, const char* end) {
  end_ = end;
  return *at == '"' ? pass_string(at) : pass_name(at);
}

// Goes to the value to which a step leads. kNowhere: there is none, and what could have it is behind.
JsonScanner::Descent JsonScanner::descend(const JsonStep& step) {
  at_ = pass_spaces(at_);
  if (step.key && is_at(at_, '{')) return find_key(*step.key);
  if (step.place && is_at(at_, '[')) return find_place(*step.place);
  at_ = pass_value(at_);
  return at_ == nullptr ? Descent::kMalformed : Descent::kNowhere;
}

JsonScanner::Descent JsonScanner::find_key(std::string_view key) {
  at_ = open(at_);
  for (bool is_first = true; at_ != nullptr; is_first = false) {
    const Item item = next_item(at_, is_first);
    at_ = item.at;
    if (at_ == nullptr) break;
    if (item.is_end) return Descent::kNowhere;
    at_ = pass_key(at_);
    if (at_ == nullptr) break;
    if (is_key(key, {item.at + 1, static_cast<size_t>(key_end_ - item.at) - 1}))
      return Descent::kDown;
    at_ = pass_value(at_);
  }
  return Descent::kMalformed;
}

JsonScanner::Descent JsonScanner::find_place(int64_t place) {
  if (place < 0) {
    const char* const end = pass_value(at_);
    if (end == nullptr) return Descent::kMalformed;
    place += count_items({at_, static_cast<size_t>(end - at_)});
    if (place < 0) {
      at_ = end;
      return Descent::kNowhere;
    }
  }
  at_ = open(at_);
  for (int64_t i = 0; at_ != nullptr; ++i) {
    const Item item = next_item(at_, i == 0);
    if (item.at == nullptr) break;
    at_ = item.at;
    if (item.is_end) return Descent::kNowhere;
    if (i == place) return Descent::kDown;
    at_ = pass_value(at_);
  }
  return Descent::kMalformed;
}

bool JsonScanner::is_key(std::string_view key, std::string_view written) {
  if (!has_escapes_) return written == key;
  key_.resize(written.size());
  key_.resize(write_unescaped(written, key_.data()));
  return key_ == key;
}

const char* JsonScanner::pass_value(const char* at) {
  const size_t depth = depth_;
  at = pass_begin(at);
  return at == nullptr ? nullptr : pass_to(at, depth);
}

// Behind a value, unless it is an array or object that is not empty: then behind the first value in it, which may be
// one, too.
const char* JsonScanner::pass_begin(const char* at) {
  while (true) {
    at = pass_spaces(at);
    if (at == end_) return refuse(at);
    const char first = *at;
    if (first == '"') return pass_string(at);
    if (first != '{' && first != '[') return pass_name(at);
    at = open(at);
    if (at == nullptr) return nullptr;
    const Item item = next_item(at, true);
    if (item.at == nullptr || item.is_end) return item.at;
    at = is_in_object() ? pass_key(item.at) : item.at;
    if (at == nullptr) return nullptr;
  }
}

// From behind a value on, until only `depth` arrays and objects are open.
const char* JsonScanner::pass_to(const char* at, size_t depth) {
  while (at != nullptr && depth_ > depth) {
    const Item item = next_item(at, false);
    at = item.at;
    if (at == nullptr || item.is_end) continue;
    if (is_in_object()) at = pass_key(at);
    if (at != nullptr) at = pass_begin(at);
  }
  return at;
}

// From behind an opening sign, or an item.
JsonScanner::Item JsonScanner::next_item(const char* at, bool is_first) {
  const char closing = is_in_object() ? '}' : ']';
  at = pass_spaces(at);
  if (at == end_) return {refuse(at), false};
  if (!is_first && *at == ',') {
    at = pass_spaces(at + 1);
    if (!is_at(at, closing)) return {at, false};
  } else if (*at != closing) {
    return {is_first ? at : refuse(at), false};
  }
  close();
  return {at + 1, true};
}

// A key and the colon behind it.
const char* JsonScanner::pass_key(const char* at) {
  if (!is_at(at, '"')) return refuse(at);
  has_escapes_ = false;
  at = pass_string(at);
  if (at == nullptr) return nullptr;
  key_end_ = at - 1;
  at = pass_spaces(at);
  return is_at(at, ':') ? at + 1 : refuse(at);
}

const char* JsonScanner::pass_string(const char* at) {
  for (++at;;) {
    at = run_end(at, end_);
    if (at == end_) return refuse(at);
    if (*at == '"') return at + 1;
    if (*at != '\\') return refuse(at);
    has_escapes_ = true;
    at = pass_escape(at);
    if (at == nullptr) return nullptr;
  }
}

const char* JsonScanner::pass_escape(const char* at) {
  const std::optional<Escape> escape = read_escape({at, static_cast<size_t>(end_ - at)});
  return escape ? at + escape->bytes : refuse(at);
}

// What is no string, array or object.
const char* JsonScanner::pass_name(const char* at) {
  const char* const number = *at == '-' ? at + 1 : at;
  if (number < end_ && is_digit(*number)) return pass_number(number);
  if (is_word(at, "true") || is_word(at, "null")) return at + 4;
  if (is_word(at, "false")) return at + 5;
  const size_t bytes = bytes_not_finite({number, static_cast<size_t>(end_ - number)});
  return bytes == 0 ? refuse(number) : number + bytes;
}

// From its first digit on.
const char* JsonScanner::pass_number(const char* at) {
  if (*at == '0' && at + 1 < end_ && is_digit(at[1])) return refuse(at);
  at = pass_digits(at);
  if (is_at(at, '.')) {
    at = pass_digits(at + 1);
    if (at == nullptr) return nullptr;
  }
  if (!is_at(at, 'e') && !is_at(at, 'E')) return at;
  ++at;
  return pass_digits(is_at(at, '+') || is_at(at, '-') ? at + 1 : at);
}

// One and more.
const char* JsonScanner::pass_digits(const char* at) {
  const char* const begin = at;
  while (at < end_ && is_digit(*at)) ++at;
  return at == begin ? refuse(at) : at;
}

// Mostly there is one or none.
const char* JsonScanner::pass_spaces(const char* at) {
  if (is_at(at, ' ')) ++at;
  return at<end_&& static_cast<uint8_t>(*at)> ' ' ? at : pass_some_spaces(at);
}

const char* JsonScanner::pass_some_spaces(const char* at) {
  while (at < end_ && is_json_space(*at)) ++at;
  return at;
}

const char* JsonScanner::open(const char* at) {
  if (depth_ == kMostLevels) return refuse(at);
  if (depth_ != 0 && depth_ % 64 == 0) outer_.push_back(kinds_);
  kinds_ = kinds_ << 1 | (*at == '{' ? 1 : 0);
  ++depth_;
  return at + 1;
}

void JsonScanner::close() {
  kinds_ >>= 1;
  --depth_;
  if (depth_ == 0 || depth_ % 64 != 0) return;
  kinds_ = outer_.back();
  outer_.pop_back();
}

const char* JsonScanner::refuse(const char* at) {
  fault_ = at;
  return nullptr;
}

}  // namespace crossdock::expressions
