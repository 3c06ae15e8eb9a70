// Messages that break a limit are refused with the field, the value and the limit.
#include "control/protocol/check.hpp"

#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/small_servers.hpp"

namespace crossdock::control {
namespace {

using testing::HasSubstr;

CreateChannel channel_request() { return {{1, 2}, {{1}, {2}}, {{3}}, {"schema", {0}}}; }

JoinRequest join_message() {
  JoinRequest join;
  join.name = "node0";
  join.instance = {1};
  join.shape = std::make_shared<const topology::ServerShape>(topology::two_sockets());
  join.endpoints = {{{1}, {1, 1}, "gpu0"}, {{2}, {1, 2}, "cpu1"}};
  join.channels = {{{7}, {2, 2}, {{1}}, {{2}, {3}}, {"node0", "node1"}, {}}};
  return join;
}

ServerPart part() {
  ChannelOutline outline;
  outline.channel = {7};
  outline.servers = {{"node0", 0}, {"node1", 0}};
  outline.sources = {{{1}, 0, 2}};
  outline.destinations = {{{2}, 1, 3}};
  topology::ForwardingTable table;
  table.add({0, 3}, {topology::Place::kThere, 3}, {{{topology::Place::kHere, 8}}, 1e9, 0, 1});
  return {std::make_shared<const ChannelOutline>(outline),
          0,
          std::make_shared<const std::vector<NamedTable>>(
              std::vector<NamedTable>{{"gpu0", std::move(table)}})};
}

std::string refusal(const Status& status, ErrorCode code = ErrorCode::kMalformedMessage) {
  EXPECT_FALSE(status.ok());
  if (status.ok()) return "";
  EXPECT_EQ(status.error().code, code) << status.error().message;
  return status.error().message;
}

std::string join_refusal(const std::function<void(JoinRequest&)>& change) {
  JoinRequest join = join_message();
  change(join);
  return refusal(check(AgentMessage(join)));
}

TEST(Check, TakesWhatIsWithinLimits) {
  EXPECT_TRUE(check(Request(CreateEndpoint{{1, 2}, "node0", "gpu0"})).ok());
  EXPECT_TRUE(check(Request(channel_request())).ok());
  EXPECT_TRUE(check(Request(AskStatus{})).ok());
  EXPECT_TRUE(check(AgentMessage(join_message())).ok());
  EXPECT_TRUE(check(AgentMessage(Heartbeat{})).ok());
  const auto shape = topology::two_sockets();
  const Apply apply{std::make_shared<const ServerPart>(part())};
  const Status status = check(ControllerMessage(apply), shape);
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(Check, RefusesIdsAndNamesThatAreNone) {
  EXPECT_THAT(refusal(check(Request(CreateEndpoint{{}, "node0", "gpu0"}))),
              HasSubstr("CreateEndpoint.request is all zero"));
  EXPECT_THAT(refusal(check(Request(CreateEndpoint{{1, 1}, "", "gpu0"}))),
              HasSubstr("CreateEndpoint.agent has 0 bytes; a name has 1 to 128"));
  EXPECT_THAT(refusal(check(Request(CreateEndpoint{{1, 1}, std::string(129, 'n'), "gpu0"}))),
              HasSubstr("has 129 bytes"));
  EXPECT_THAT(refusal(check(Request(DeleteChannel{}))), HasSubstr("DeleteChannel.channel is 0"));
  EXPECT_THAT(refusal(check(AgentMessage(Applied{}))), HasSubstr("Applied.channel is 0"));
  EXPECT_THAT(refusal(check(AgentMessage(Held{}))), HasSubstr("Held.endpoint is 0"));
}

TEST(Check, RefusesListsThatAreTooLongOrNameTwice) {
  CreateChannel request = channel_request();
  request.sources = {{1}, {2}, {1}};
  EXPECT_THAT(refusal(check(Request(request)), ErrorCode::kInvalidArgument),
              HasSubstr("CreateChannel.sources names 00000000-1 twice"));
  request.sources.clear();
  EXPECT_THAT(refusal(check(Request(request)), ErrorCode::kInvalidArgument),
              HasSubstr("from 0 sources"));
  request.sources.resize(kRequestEndpointsMax + 1);
  EXPECT_THAT(refusal(check(Request(request))),
              HasSubstr("CreateChannel.sources has 65537 elements; the limit is 65536"));
  request = channel_request();
  request.rows.schema.assign(kSchemaBytesMax + 1, 's');
  EXPECT_THAT(refusal(check(Request(request))),
              HasSubstr("rows.schema has 1048577 bytes; the limit is 1048576"));
  request.rows = {"", {0}};
  EXPECT_THAT(refusal(check(Request(request)), ErrorCode::kInvalidArgument),
              HasSubstr("no schema"));
}

TEST(Check, RefusesReportsThatDoNotFitTogether) {
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.shape.reset(); }), HasSubstr("Join.shape"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.instance = {}; }),
              HasSubstr("Join.instance"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.connection = 0; }),
              HasSubstr("Join.connection"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.name = "a/b"; }), HasSubstr("Join.name"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.endpoints[0].vertex = "nic0"; }),
              HasSubstr("'nic0', which is no CPU or GPU"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.endpoints[1].endpoint = {1}; }),
              HasSubstr("Join.endpoints names 00000000-1 twice"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.channels[0].servers = {"node1"}; }),
              HasSubstr("do not name the agent itself, 'node0'"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) {
                join.channels[0].servers = {"node1", "node0"};
              }),
              HasSubstr("ascending"));
  EXPECT_THAT(join_refusal([](JoinRequest& join) { join.channels[0].sources = {{0}}; }),
              HasSubstr("Join.channels.sources is 0"));
  JoinRequest other = join_message();
  other.protocol_version = 99;
  other.name = "";
  EXPECT_TRUE(check(AgentMessage(other)).ok()) << "to be refused for its version";
}

TEST(Check, RefusesPartsThatPointNowhere) {
  const auto shape = topology::two_sockets();
  const auto refused = [&](const std::function<void(ServerPart&, ChannelOutline&)>& change) {
    ServerPart changed = part();
    ChannelOutline outline = *changed.outline;
    change(changed, outline);
    changed.outline = std::make_shared<const ChannelOutline>(outline);
    return refusal(
        check(ControllerMessage(Apply{std::make_shared<const ServerPart>(changed)}), shape));
  };
  EXPECT_THAT(refused([](ServerPart& one, ChannelOutline&) { one.server = 2; }),
              HasSubstr("Apply.server is 2; there are 2 servers"));
  EXPECT_THAT(refused([](ServerPart&, ChannelOutline& outline) { outline.sources[0].server = 2; }),
              HasSubstr("Apply.sources is vertex 2 of server 2"));
  EXPECT_THAT(refused([](ServerPart&, ChannelOutline& outline) { outline.sources[0].vertex = 9; }),
              HasSubstr("Apply.sources is vertex 9 of this server"));
  EXPECT_THAT(refused([](ServerPart& one, ChannelOutline& outline) {
                one.server = 1;
                outline.destinations[0].vertex = 8;
              }),
              HasSubstr("Apply.destinations is vertex 8 of this server, which is no CPU or GPU"));
  EXPECT_THAT(refused([](ServerPart&, ChannelOutline& outline) { outline.servers[1].name = "a"; }),
              HasSubstr("ascending"));
  EXPECT_THAT(refused([](ServerPart& one, ChannelOutline&) { one.tables.reset(); }),
              HasSubstr("missing"));
  const auto with_table = [](ServerPart& one, std::string vertex, topology::PlacedVertex next) {
    topology::ForwardingTable table;
    table.add({0, 3}, next, {{}, 1e9, 0, 1});
    one.tables = std::make_shared<const std::vector<NamedTable>>(
        std::vector<NamedTable>{{std::move(vertex), std::move(table)}});
  };
  EXPECT_THAT(refused([&](ServerPart& one, ChannelOutline&) {
                with_table(one, "nic0", {topology::Place::kHere, 1});
              }),
              HasSubstr("Apply.tables.vertex is 'nic0'"));
  EXPECT_THAT(refused([&](ServerPart& one, ChannelOutline&) {
                with_table(one, "gpu0", {topology::Place::kHere, 99});
              }),
              HasSubstr("Apply.tables name vertex 99 of 9"));
}

TEST(Check, RefusesErrorsOfNoCode) {
  Refused refused{{1}, {static_cast<ErrorCode>(9999), "?"}};
  EXPECT_THAT(refusal(check(AgentMessage(refused))), HasSubstr("Refused.error.code is 9999"));
  refused.error = {ErrorCode::kInternal, std::string(kErrorTextBytesMax + 1, 'x')};
  EXPECT_THAT(refusal(check(AgentMessage(refused))), HasSubstr("8193 bytes; the limit is 8192"));
}

TEST(Check, CutsStringsBetweenCharacters) {
  std::string umlauts;
  while (umlauts.size() <= kErrorTextBytesMax) umlauts += "x\xc3\xa4";
  const Error error = sendable({ErrorCode::kInternal, umlauts});
  EXPECT_LE(error.message.size(), kErrorTextBytesMax);
  const std::string kept = error.message.substr(0, error.message.find(" ..."));
  EXPECT_TRUE(kept.ends_with("x") || kept.ends_with("\xc3\xa4"));
  EXPECT_EQ(sendable({ErrorCode::kInternal, "short"}).message, "short");
}

TEST(Ids, AreSpeltByEpochAndNumber) {
  EXPECT_EQ(text_of(EndpointId{0xe7f3a1c20000000c}), "e7f3a1c2-12");
  EXPECT_EQ(text_of(RequestId{1, 0xab}), "000000000000000100000000000000ab");
  EXPECT_EQ(epoch_of(ChannelId{0xe7f3a1c20000000c}), 0xe7f3a1c2);
}

}  // namespace
}  // namespace crossdock::control
