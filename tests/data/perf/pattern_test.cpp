// Patterns: their ends, their names, and what they are multiplied by.
#include "data/perf/pattern.hpp"

#include <gtest/gtest.h>

#include "data/perf/copy_rates.hpp"

namespace crossdock::perf {
namespace {

using Numbers = std::vector<int>;

TEST(Pattern, NamesAreUnderstood) {
  for (const Pattern pattern : {Pattern::kExchange,
                                Pattern::kGather,
                                Pattern::kScatter,
                                Pattern::kP2p,
                                Pattern::kBisection,
                                Pattern::kBroadcast,
                                Pattern::kLoopback}) {
    EXPECT_EQ(parse_pattern(pattern_name(pattern)).value(), pattern);
  }
  const auto refused = parse_pattern("exchagne");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(refused.error().message.find("did you mean 'exchange'?"), std::string::npos);
}

TEST(Pattern, EndsAreThoseOfTheirName) {
  EXPECT_EQ(ends_of(Pattern::kExchange, 3).sources, (Numbers{0, 1, 2}));
  EXPECT_EQ(ends_of(Pattern::kGather, 3).sources, (Numbers{1, 2}));
  EXPECT_EQ(ends_of(Pattern::kGather, 3).destinations, (Numbers{0}));
  EXPECT_EQ(ends_of(Pattern::kScatter, 3).destinations, (Numbers{1, 2}));
  EXPECT_EQ(ends_of(Pattern::kP2p, 3).destinations, (Numbers{2}));
  EXPECT_EQ(ends_of(Pattern::kBisection, 5).sources, (Numbers{0, 1}));
  EXPECT_EQ(ends_of(Pattern::kBisection, 5).destinations, (Numbers{2, 3, 4}));
  EXPECT_EQ(ends_of(Pattern::kBisection, 1).destinations, (Numbers{0}));
  EXPECT_EQ(ends_of(Pattern::kBroadcast, 1).destinations, (Numbers{0}));
  EXPECT_EQ(ends_of(Pattern::kBroadcast, 2).sends, channels::ChannelSpec::Sends::kBroadcast);
}

TEST(Pattern, FactorsCountWhatTheBusiestEndpointMoves) {
  EXPECT_EQ(factors_of(Pattern::kExchange, 4).bus, 0.75);
  EXPECT_EQ(factors_of(Pattern::kGather, 4).algorithm, 3);
  EXPECT_EQ(factors_of(Pattern::kScatter, 4).algorithm, 1);
  EXPECT_EQ(factors_of(Pattern::kLoopback, 4).bus, 0);
  EXPECT_EQ(factors_of(Pattern::kP2p, 1).bus, 0);
}

TEST(Prediction, IsTheSumWhereThreadsTakeTurnsAndElseTheLonger) {
  const CopyRates rates{100, 200};
  EXPECT_EQ(predict(rates, {100, 100, 0, true}).seconds, 1.5);
  EXPECT_EQ(predict(rates, {100, 100, 0, false}).seconds, 1);
  EXPECT_STREQ(predict(rates, {100, 100, 0, true}).bound, "copying");
  EXPECT_STREQ(predict(rates, {100, 400, 0, false}).bound, "reading");
}

TEST(Prediction, IsThatOfLinksWhereTheyAreKnownToTakeLonger) {
  const PredictedWork work{100, 100, 50, false};
  EXPECT_STREQ(predict({100, 200, 0}, work).bound, "copying");
  EXPECT_STREQ(predict({100, 200, 100}, work).bound, "copying");
  EXPECT_STREQ(predict({100, 200, 10}, work).bound, "links");
  EXPECT_EQ(predict({100, 200, 10}, work).seconds, 5);
}

}  // namespace
}  // namespace crossdock::perf
