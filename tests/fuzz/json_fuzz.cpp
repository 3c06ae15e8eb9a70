// JSON documents, most of them damaged somewhere. Reading one touches no byte beyond its end and says whether it is
// JSON in the same way whatever the path; what is written of it is JSON that is written in the same way again.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "expressions/json_finder.hpp"
#include "expressions/json_scanner.hpp"
#include "expressions/json_text.hpp"

namespace crossdock {
namespace {

using expressions::JsonScanner;

constexpr std::string_view kScalars[] = {"0",
                                         "-0",
                                         "17",
                                         "-1.50",
                                         "1e400",
                                         "1E-7",
                                         "12345678901234567890123",
                                         "0.1",
                                         "true",
                                         "null",
                                         "nan",
                                         "-inf",
                                         "\"a\"",
                                         "\"\"",
                                         "\"\\ud83d\\ude00\\n\\\"\"",
                                         "\"{[,]}\"",
                                         "false",
                                         "\"long plain letters\""};
constexpr std::string_view kKeys[] = {"\"a\"", "\"b\"", "\"\\u0061\"", "\"\"", "\"another key\""};
constexpr std::string_view kSpaces[] = {"", "", "", " ", "\n\t"};
constexpr std::string_view kPaths[] = {"$", "$.a", "$.b[0]", "$[#-1]", "/0/a", "$.a[-1].b"};

// A document by the choices that the bytes are.
class Author {
 public:
  explicit Author(std::span<const uint8_t> choices) : choices_(choices) {}

  size_t choose(size_t count) {
    if (choices_.empty()) return 0;
    const size_t choice = choices_[0] % count;
    choices_ = choices_.subspan(1);
    return choice;
  }

  void write(int levels) {
    space();
    const size_t kind = levels == 0 ? 0 : choose(3);
    if (kind == 0) {
      text += kScalars[choose(std::size(kScalars))];
    } else {
      text += kind == 1 ? '{' : '[';
      const size_t items = choose(4);
      for (size_t i = 0; i < items; ++i) {
        if (i > 0) text += ',';
        space();
        if (kind == 1) text += kKeys[choose(std::size(kKeys))];
        if (kind == 1) text += ':';
        write(levels - 1);
      }
      if (items > 0 && choose(8) == 0) text += ',';
      space();
      text += kind == 1 ? '}' : ']';
    }
    space();
  }

  void damage() {
    constexpr std::string_view kSigns = "{}[],:\"\\e-0 .\x01\xFF";
    if (text.empty()) return;
    text[choose(256) * choose(256) % text.size()] = kSigns[choose(kSigns.size())];
  }

  std::string text;

 private:
  void space() { text += kSpaces[choose(std::size(kSpaces))]; }

  std::span<const uint8_t> choices_;
};

// Memory that ends where the text does, so that the sanitizer sees reads beyond.
std::vector<char> exactly(std::string_view text) { return {text.begin(), text.end()}; }

std::string written_of(std::string_view value) {
  std::string written(expressions::most_json_bytes(value), '?');
  const size_t bytes = expressions::write_json(value, written.data());
  CD_CHECK(bytes <= written.size(), "{} bytes of '{}'", bytes, value);
  written.resize(bytes);
  CD_CHECK(!expressions::is_written(value) || written == value, "'{}' of '{}'", written, value);
  return written;
}

void check_written(std::string_view value) {
  const std::string written = written_of(value);
  CD_CHECK(written_of(written) == written, "'{}' of '{}'", written, value);
  JsonScanner scanner;
  CD_CHECK(scanner.find(written, {}).is_json, "'{}' of '{}'", written, value);
  const bool is_container = value[0] == '{' || value[0] == '[';
  if (!is_container) return;
  CD_CHECK(expressions::count_items(written) == expressions::count_items(value), "'{}'", value);
}

// Looks for each path in documents that follow each other.
class Reader {
 public:
  Reader() {
    for (const std::string_view path : kPaths)
      paths_.push_back(expressions::parse_json_path(path).value());
    for (const expressions::JsonPath& path : paths_) finders_.emplace_back(path);
  }

  void read(std::string_view text);

 private:
  std::vector<expressions::JsonPath> paths_;
  std::vector<expressions::JsonFinder> finders_;
};

void Reader::read(std::string_view text) {
  const std::vector<char> bytes = exactly(text);
  const std::string_view document(bytes.data(), bytes.size());
  JsonScanner scanner;
  const bool is_json = scanner.find(document, {}).is_json;
  for (size_t i = 0; i < paths_.size(); ++i) {
    const expressions::JsonPath& steps = paths_[i];
    const std::string_view path = kPaths[i];
    const expressions::JsonFinding finding = scanner.find(document, steps);
    CD_CHECK(finding.is_json == is_json, "'{}' at {}", document, path);
    for (const bool is_known : {false, is_json}) {
      const expressions::JsonFinding same = finders_[i].find(document, is_known);
      CD_CHECK(
          same.is_json == is_json && same.value == finding.value, "'{}' at {}", document, path);
    }
    if (!is_json) {
      CD_CHECK(
          scanner.fault() <= document.size(), "fault at {} of '{}'", scanner.fault(), document);
      scanner.find(document, steps, true);
      continue;
    }
    CD_CHECK(
        scanner.find(document, steps, true).value == finding.value, "'{}' at {}", document, path);
    if (!finding.value) continue;
    check_written(*finding.value);
    std::string keys(finding.value->size() + 2, '?');
    keys.resize(expressions::write_keys(*finding.value, keys.data()));
    CD_CHECK(scanner.find(keys, {}).is_json, "'{}' of '{}'", keys, *finding.value);
  }
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  crossdock::Author author(std::span(data, size));
  author.write(5);
  crossdock::Reader reader;
  reader.read(author.text);
  for (int i = 0; i < 8; ++i) {
    author.damage();
    reader.read(author.text);
  }
  reader.read(std::string_view(author.text).substr(0, author.text.size() / 2));
  return 0;
}
