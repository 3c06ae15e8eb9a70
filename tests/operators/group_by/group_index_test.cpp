// Every row finds the group of its key, however few or many groups there are and however they lie.
#include "operators/group_by/group_index.hpp"

#include <random>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

namespace crossdock::operators {
namespace {

constexpr int64_t kIndexRows = int64_t{1} << 15;

GroupKeyPlan exact_plan() {
  GroupKeyPlan plan;
  plan.mode = GroupKeyMode::kExact;
  plan.packed_bits = 64;
  return plan;
}

// Words whose top bits are the partition's; every third set holds 0, which empty places compare with.
std::vector<uint64_t> random_words(int64_t count, int skip_bits, uint64_t partition) {
  std::mt19937_64 random(static_cast<uint64_t>(count) * 64 + static_cast<uint64_t>(skip_bits));
  std::vector<uint64_t> words;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t below = skip_bits == 0 ? random() : random() >> skip_bits;
    words.push_back(skip_bits == 0 ? below : below | partition << (64 - skip_bits));
  }
  if (count % 3 == 1 && partition == 0) words[0] = 0;
  return words;
}

class Lookup {
 public:
  explicit Lookup(GroupIndex& index) : index_(&index) {}

  // New keys of the block get the numbers that the index gave them; known ones must keep theirs.
  void put(const std::vector<uint64_t>& rows, MissedRows* missed = nullptr) {
    std::vector<uint32_t> groups(rows.size());
    const auto count = static_cast<int32_t>(rows.size());
    ASSERT_TRUE(
        index_->assign({count, rows.data(), {nullptr, nullptr}, nullptr}, groups.data(), missed)
            .ok());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (missed != nullptr && groups[i] == HashIndex::kOverflowGroup) continue;
      const auto [known, is_new] = groups_.emplace(rows[i], groups[i]);
      if (is_new) {
        ASSERT_TRUE(words_.emplace(groups[i], rows[i]).second) << "two keys in group " << groups[i];
      }
      ASSERT_EQ(known->second, groups[i]) << "row " << i << " word " << rows[i];
    }
  }

  void check_list() const {
    std::vector<uint32_t> listed(static_cast<size_t>(index_->bound()));
    listed.resize(static_cast<size_t>(index_->list(listed.data())));
    ASSERT_EQ(listed.size(), groups_.size());
    for (const uint32_t group : listed) {
      uint64_t word = 0;
      index_->keys(&group, 1, {&word, {nullptr, nullptr}, nullptr});
      EXPECT_EQ(words_.at(group), word);
    }
  }

  int64_t known() const { return static_cast<int64_t>(groups_.size()); }

 private:
  GroupIndex* index_;
  std::unordered_map<uint64_t, uint32_t> groups_;
  std::unordered_map<uint32_t, uint64_t> words_;
};

// `seen` of the words come first, the others join them one block at a time.
void put_random(Lookup& lookup, const std::vector<uint64_t>& words, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (int64_t at = 0; at < kIndexRows; at += kGroupRows) {
    const uint64_t open = std::min<uint64_t>(words.size(), 3 + words.size() * at * 2 / kIndexRows);
    std::vector<uint64_t> rows(kGroupRows - (at == 0 ? 17 : 0));
    for (uint64_t& row : rows) row = words[random() % open];
    lookup.put(rows);
  }
}

TEST(GroupIndex, KeepsKeysApartAsGroupsGrow) {
  const auto memory = Memory::create(int64_t{1} << 28);
  const GroupKeyPlan plan = exact_plan();
  HashIndex index(*memory, plan, nullptr);
  // One index is opened for all, so places of one filling must not outlast it.
  for (const int skip_bits : {0, 5, 11}) {
    for (const int64_t count : {1, 2, 7, 100, 180, 256, 300, 1024, 1100, 9001}) {
      const uint64_t partition = skip_bits == 0 || count % 2 == 1 ? 0 : 3;
      ASSERT_TRUE(index.open(skip_bits, partition, count == 9001 ? 10 : count).ok());
      Lookup lookup(index);
      put_random(lookup, random_words(count, skip_bits, partition), 11);
      lookup.check_list();
    }
  }
}

// Keys that agree in all bits but the lowest ones cannot be separated by any choice of places.
TEST(GroupIndex, FindsKeysThatAllMeet) {
  const auto memory = Memory::create(int64_t{1} << 28);
  const GroupKeyPlan plan = exact_plan();
  HashIndex index(*memory, plan, nullptr);
  ASSERT_TRUE(index.open(0, 0, 16).ok());
  std::vector<uint64_t> words;
  for (uint64_t i = 0; i < 64; ++i) words.push_back((i & 1) << 63 | (i / 2) << 20 | 0xABCDE);
  words.push_back(words[0] ^ (uint64_t{1} << 40));
  Lookup lookup(index);
  put_random(lookup, words, 12);
  lookup.check_list();
}

TEST(GroupIndex, MissesRowsBeyondItsLimit) {
  const auto memory = Memory::create(int64_t{1} << 28);
  const GroupKeyPlan plan = exact_plan();
  HashIndex index(*memory, plan, nullptr);
  index.limit(50);
  ASSERT_TRUE(index.open(0, 0, 50).ok());
  const std::vector<uint64_t> words = random_words(90, 0, 0);
  Lookup lookup(index);
  MissedRows missed;
  for (int round = 0; round < 3; ++round) {
    lookup.put({words.begin(), words.begin() + 40}, &missed);
    EXPECT_EQ(missed.count, 0);
    lookup.put(words, &missed);
    EXPECT_EQ(missed.count, 90 - lookup.known());
    EXPECT_LE(lookup.known(), 50);
  }
}

}  // namespace
}  // namespace crossdock::operators
