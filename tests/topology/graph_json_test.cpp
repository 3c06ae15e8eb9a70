// Graphs survive JSON, and what is no graph is refused with its place.
#include "topology/graph_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/catalogue.hpp"
#include "topology/small_servers.hpp"

namespace crossdock::topology {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string json_refusal(std::string_view text) {
  const Result<InfrastructureGraph> graph = graph_from_json(text);
  if (graph.ok()) return "";
  EXPECT_EQ(graph.error().code, ErrorCode::kInvalidTopology);
  return graph.error().message;
}

// A whole graph with one part of it replaced.
std::string with(std::string_view part, std::string_view replacement) {
  std::string text =
      R"({"format":"crossdock-topology","schema_version":1,"shapes":[{"vertices":[)"
      R"({"name":"cpu0","kind":"cpu"},{"name":"gpu0","kind":"gpu","memory_bytes":1024}],)"
      R"("edges":[{"from":"cpu0","to":"gpu0","kind":"pcie","bytes_per_s":16e9,"both_ways":true}]}],)"
      R"("servers":[{"name":"a","shape":0}]})";
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), replacement);
}

TEST(GraphJson, EveryMachineSurvives) {
  for (const CatalogueEntry& entry : catalogue()) {
    SCOPED_TRACE(entry.name);
    const Result<InfrastructureGraph> graph = make_machine(entry.name);
    const std::string text = graph_to_json(graph.value());
    const Result<InfrastructureGraph> back = graph_from_json(text);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back.value().server_count(), graph.value().server_count());
    EXPECT_EQ(back.value().shape(0), graph.value().shape(0));
    EXPECT_EQ(graph_to_json(back.value()), text);
    EXPECT_EQ(graph_to_json(graph_from_json(graph_to_json(graph.value(), 2)).value()), text);
  }
}

TEST(GraphJson, DirectionsMayDiffer) {
  ServerParts parts = two_socket_parts();
  parts.edges[0].bytes_per_s = 1;
  parts.edges[1].latency_s = 3e-7;
  parts.edges[2].is_assumed = true;
  parts.edges.pop_back();  // from the network back to nic1
  InfrastructureGraph graph;
  add(graph, "one", shape_of(std::move(parts)));
  EXPECT_EQ(graph_from_json(graph_to_json(graph)).value().shape(0), graph.shape(0));
}

TEST(GraphJson, ManyServersAreManyNames) {
  const std::string one = graph_to_json(make_machine("dgx-a100").value());
  const std::string many = graph_to_json(make_machine("dgx-a100:1000").value());
  EXPECT_LT(many.size(), one.size() + 1000 * 40);
  EXPECT_EQ(graph_from_json(many).value().server_count(), 1000);
}

TEST(GraphJson, FilesAreSimplified) {
  const std::string text =
      with(R"({"name":"gpu0")",
           R"({"name":"s1","kind":"nvswitch"},{"name":"s0","kind":"nvswitch"},{"name":"gpu0")");
  const InfrastructureGraph graph = graph_from_json(text).value();
  EXPECT_EQ(graph.shape(0).of_kind(VertexKind::kNvswitch).count, 1);
}

TEST(GraphJson, RefusesWhatIsNoJson) {
  EXPECT_THAT(json_refusal(""), HasSubstr("the topology is not JSON"));
  EXPECT_THAT(json_refusal("{"), HasSubstr("not JSON"));
  EXPECT_THAT(json_refusal("[1]"), HasSubstr("the whole is a list; it must be an object"));
  EXPECT_THAT(json_refusal(std::string(100, '[')), HasSubstr("more than 16 deep"));
  EXPECT_THAT(json_refusal(std::string(1'000'000, '[')), HasSubstr("more than 16 deep"));
  EXPECT_THAT(json_refusal(with(R"("name":"cpu0")", R"("name":"cpu0","name":"cpu1")")),
              HasSubstr("the field \"name\" twice"));
  EXPECT_THAT(json_refusal(std::string(kGraphTextBytesMax + 1, ' ')), HasSubstr("67108865 bytes"));
}

TEST(GraphJson, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(json_refusal(with("", "")), "");
  EXPECT_THAT(json_refusal(with("crossdock-topology", "nccl")), HasSubstr("format is \"nccl\""));
  EXPECT_THAT(json_refusal(with(R"("schema_version":1)", R"("schema_version":2)")),
              HasSubstr("schema_version is 2; this Crossdock reads 1"));
  EXPECT_THAT(json_refusal(with("memory_bytes", "memory_byte")),
              AllOf(HasSubstr("shapes[0].vertices[1].\"memory_byte\""),
                    HasSubstr("did you mean 'memory_bytes'?")));
  EXPECT_THAT(json_refusal(with(R"("kind":"gpu")", R"("kind":"tpu")")),
              AllOf(HasSubstr("shapes[0].vertices[1].kind is \"tpu\""), HasSubstr("gpu, nic")));
  EXPECT_THAT(json_refusal(with(R"("kind":"pcie")", R"("kind":"wire")")),
              HasSubstr("shapes[0].edges[0].kind is \"wire\""));
  EXPECT_THAT(json_refusal(with(R"("to":"gpu0")", R"("to":"gpu1")")),
              HasSubstr("did you mean 'gpu0'?"));
}

TEST(GraphJson, RefusesValuesThatCannotBe) {
  EXPECT_THAT(json_refusal(with("16e9", "\"16e9\"")),
              HasSubstr("shapes[0].edges[0].bytes_per_s is \"16e9\"; it must be a number"));
  EXPECT_THAT(json_refusal(with("16e9", "-1")),
              HasSubstr("shapes[0]: the edge from 'cpu0' to 'gpu0'"));
  EXPECT_THAT(json_refusal(with("16e9", "1e400")), HasSubstr("not JSON"));
  EXPECT_THAT(json_refusal(with("1024", "18446744073709551615")),
              HasSubstr("memory_bytes is 18446744"));
  EXPECT_THAT(json_refusal(with("1024", "1.5")), HasSubstr("a whole number"));
  EXPECT_THAT(json_refusal(with(R"("both_ways":true)", R"("both_ways":1)")),
              HasSubstr("true or false"));
  EXPECT_THAT(json_refusal(with(R"("shape":0)", R"("shape":1)")),
              HasSubstr("servers[0].shape is 1; it must be a whole number from 0 to 0"));
  EXPECT_THAT(json_refusal(with(R"({"name":"a","shape":0})", "")),
              HasSubstr("shapes[0] has no server"));
  EXPECT_THAT(json_refusal(with(R"({"name":"a","shape":0})",
                                R"({"name":"a","shape":0},{"name":"b","shape":0})")),
              HasSubstr("servers[1]: server 'b' has no link to the network"));
  EXPECT_THAT(json_refusal(with(R"("edges":[)", R"("edges":{},"x":[)")),
              HasSubstr("is not a field"));
  EXPECT_THAT(json_refusal(with(R"("name":"a",)", "")), HasSubstr("servers[0].name is missing"));
}

}  // namespace
}  // namespace crossdock::topology
