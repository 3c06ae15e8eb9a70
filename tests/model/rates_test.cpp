// Every rate has one name, and the set in force is the one put there last.
#include "model/rates.hpp"

#include <set>

#include <gtest/gtest.h>

namespace crossdock::model {
namespace {

TEST(Rates, EachHasANameOfItsOwn) {
  const auto all = named_rates(Rates());
  std::set<std::string> names;
  for (const auto& [name, value] : all) {
    names.insert(name);
    EXPECT_GT(value, 0) << name;
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(all.size() * sizeof(double), sizeof(Rates));
  EXPECT_TRUE(names.contains("join.scatter"));
  EXPECT_TRUE(names.contains("exchange.put_byte"));
}

TEST(Rates, EachIsSetByItsName) {
  const auto before = named_rates(Rates());
  for (const auto& [name, value] : before) {
    Rates changed;
    ASSERT_TRUE(set_rate(changed, name, value + 1)) << name;
    const auto after = named_rates(changed);
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_NEAR(after[i].second - before[i].second, after[i].first == name ? 1 : 0, 1e-6);
    }
  }
}

TEST(Rates, AnUnknownNameChangesNothing) {
  Rates rates;
  for (const char* name : {"", "join", "join.", "join.nothing", "joinscatter", "sorts.gather"}) {
    EXPECT_FALSE(set_rate(rates, name, 1)) << name;
  }
  EXPECT_EQ(named_rates(rates), named_rates(Rates()));
}

TEST(Rates, AShareOfTheThirdLevelIsSeen) {
  Rates rates;
  Machine machine;
  machine.l2_bytes = 1 << 20;
  machine.l3_bytes = 32 << 20;
  EXPECT_EQ(seen_by(rates, machine).l3_bytes, 32 << 20);
  rates.machine.l3_share = 0.25;
  EXPECT_EQ(seen_by(rates, machine).l3_bytes, 8 << 20);
  rates.machine.l3_share = 1e-3;
  EXPECT_EQ(seen_by(rates, machine).l3_bytes, 1 << 20);
}

TEST(Rates, InForceAreThosePutThereLast) {
  const auto before = rates_in_force();
  Rates rates = *before;
  rates.join.scatter = 123;
  put_in_force(rates);
  EXPECT_DOUBLE_EQ(rates_in_force()->join.scatter, 123);
  EXPECT_NE(before->join.scatter, 123);
  put_in_force(*before);
}

}  // namespace
}  // namespace crossdock::model
