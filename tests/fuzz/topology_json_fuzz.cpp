// Topology files of random bytes, and topology files with a few bytes changed: reading answers a graph or an error of
// its kind, and a graph that was read is written and read again as the same graph.
//
// Core of libFuzzer's making: link it with -fsanitize=fuzzer, or with fuzz_main.cpp for random bytes.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "fuzz/text_changes.hpp"
#include "topology/catalogue.hpp"
#include "topology/graph_json.hpp"

namespace crossdock {
namespace {

const std::vector<std::string>& known_strings() {
  static const std::vector<std::string> strings = [] {
    std::vector<std::string> documents;
    for (const char* name : {"gh200", "figure-2a", "figure-2i", "dgx-1v"}) {
      documents.push_back(topology::graph_to_json(topology::make_machine(name).value()));
    }
    return documents;
  }();
  return strings;
}

// Pieces that a reader trips over more likely than over bytes.
constexpr std::string_view kPieces[] = {"null",
                                        "-1",
                                        "1e308",
                                        "1e-320",
                                        "0",
                                        "\"gpu0\"",
                                        "\"network\"",
                                        "[]",
                                        "{}",
                                        "true",
                                        "18446744073709551616",
                                        "\"\\ud800\"",
                                        ",",
                                        "\"name\":\"gpu0\",",
                                        "[[[[[[[[[[[[[[[[[[",
                                        "4294967296",
                                        "\"nvswitch\""};

void read(std::string_view text) {
  const Result<topology::InfrastructureGraph> graph = topology::graph_from_json(text);
  if (!graph.ok()) {
    CD_CHECK(graph.error().code == ErrorCode::kInvalidTopology, "{}", graph.error().message);
    CD_CHECK(!graph.error().message.empty(), "an error without words");
    return;
  }
  const std::string written = topology::graph_to_json(graph.value());
  const Result<topology::InfrastructureGraph> again = topology::graph_from_json(written);
  CD_CHECK(again.ok(), "{} of {}", again.error().message, written);
  CD_CHECK(topology::graph_to_json(again.value()) == written, "{}", written);
}

}  // namespace
}  // namespace crossdock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace crossdock;
  if (size == 0) return 0;
  if (data[0] % 8 == 0) {
    read({reinterpret_cast<const char*>(data), size});
  } else {
    read(changed(known_strings()[data[0] % known_strings().size()], {data + 1, size - 1}, kPieces));
  }
  return 0;
}
