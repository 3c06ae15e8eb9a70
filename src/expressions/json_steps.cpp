// Functions of JSON documents. What is a part of its document stays where that lies; what has to be written in another
// way goes to the arena of the block.
#include <algorithm>

#include "expressions/json_finder.hpp"
#include "expressions/json_text.hpp"
#include "expressions/string_arena.hpp"
#include "expressions/string_rows.hpp"

namespace crossdock::expressions::steps {
namespace {

// What a function gives for a document: a string, or a number or bool.
struct JsonResult {
  enum class Kind : uint8_t { kNull, kValue, kMalformed };
  Kind kind = Kind::kNull;
  std::string_view string;
  int64_t number = 0;
};

// A function with its path, for the documents of a block.
class JsonFunction {
 public:
  JsonFunction(const ProgramStep& step, bool is_known, StringArena& strings)
      : op_(step.expression->op),
        finder_(*step.json_path),
        is_known_(is_known),
        strings_(strings) {}

  JsonResult of(std::string_view document) {
    const JsonFinding finding = finder_.find(document, is_known_);
    if (op_ == ExpressionOp::kJsonValid) return number(finding.is_json ? 1 : 0);
    if (!finding.is_json) return {JsonResult::Kind::kMalformed, {}, 0};
    if (op_ == ExpressionOp::kJsonExists) return number(finding.value ? 1 : 0);
    return finding.value ? of_value(*finding.value) : JsonResult{};
  }

 private:
  static JsonResult string(std::string_view string) {
    return {JsonResult::Kind::kValue, string, 0};
  }
  static JsonResult number(int64_t number) { return {JsonResult::Kind::kValue, {}, number}; }

  JsonResult of_value(std::string_view value) {
    switch (op_) {
      case ExpressionOp::kJsonExtract:
        return string(written(value));
      case ExpressionOp::kJsonExtractString:
        if (value == "null") return {};
        return string(value[0] == '"' ? unescaped(value.substr(1, value.size() - 2))
                                      : written(value));
      case ExpressionOp::kJsonType:
        return string(json_type_name(value));
      case ExpressionOp::kJsonKeys:
        return string(
            strings_.put(value.size() + 2, [&](char* to) { return write_keys(value, to); }));
      default:  // kJsonArrayLength
        return number(value[0] == '[' ? count_items(value) : 0);
    }
  }

  std::string_view written(std::string_view value) {
    if (is_written(value)) return value;
    return strings_.put(most_json_bytes(value), [&](char* to) { return write_json(value, to); });
  }

  std::string_view unescaped(std::string_view string) {
    if (string.find('\\') == std::string_view::npos) return string;
    return strings_.put(string.size(), [&](char* to) { return write_unescaped(string, to); });
  }

  const ExpressionOp op_;
  JsonFinder finder_;
  const bool is_known_;
  StringArena& strings_;
};

// NULL where a path leads nowhere, and an error of the row where there is no document. Answers whether there is one on
// each row that has a string.
bool mark_rows(const Frame& frame, int32_t index, const JsonResult* results) {
  Value& out = frame.values[index];
  const Slot slot = frame.slot(index);
  bool are_json = true;
  for (int32_t i = 0; i < frame.count; ++i) {
    if (results[i].kind == JsonResult::Kind::kValue) continue;
    if (results[i].kind == JsonResult::Kind::kMalformed) {
      are_json = false;
      frame.poison(index, out, i);
      continue;
    }
    if (out.valid == nullptr) {
      std::fill_n(slot.valid, frame.count, uint8_t{1});
      out.valid = slot.valid;
    }
    slot.valid[i] = 0;
  }
  return are_json;
}

void store_results(const Frame& frame, int32_t index, const JsonResult* results) {
  Value& out = frame.values[index];
  const Slot slot = frame.slot(index);
  switch (frame.step(index).expression->domain()) {
    case ValueDomain::kText:
      for (int32_t i = 0; i < frame.count; ++i) slot.strings()[i] = results[i].string;
      out.strings = slot.strings();
      return;
    case ValueDomain::kBool:
      for (int32_t i = 0; i < frame.count; ++i) slot.bytes()[i] = results[i].number != 0 ? 1 : 0;
      out.bytes = slot.bytes();
      return;
    default:
      for (int32_t i = 0; i < frame.count; ++i)
        slot.low[i] = static_cast<uint64_t>(results[i].number);
      out.low = slot.low;
      out.bits_known = false;
  }
}

}  // namespace

void run_json(const Frame& frame, int32_t index) {
  const ProgramStep& step = frame.step(index);
  frame.open_value(index);
  Value& documents = frame.argument(index, 0);
  JsonFunction function(step, documents.is_json, *frame.strings);
  JsonResult results[kBlockRows];
  map_rows(
      frame, index, [&](std::string_view document) { return function.of(document); }, results);
  store_results(frame, index, results);
  const bool are_json = mark_rows(frame, index, results);
  if (step.expression->op != ExpressionOp::kJsonValid) documents.is_json |= are_json;
}

}  // namespace crossdock::expressions::steps
