//===- PrefixTreeTest.cpp -------------------------------------------------===//

#include "runtime/Llm/PrefixTree.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>

using namespace weft::rt;
using Ids = std::vector<int32_t>;
constexpr int32_t kRoot = PrefixTree::root;

namespace {

TEST(PrefixTreeTest, FindsChildrenByParentTokensAndSpace) {
  PrefixTree tree(8, 2);
  tree.insert(kRoot, 0, Ids{1, 2}, 5);
  tree.insert(5, 0, Ids{3, 4}, 0);
  tree.insert(kRoot, 1, Ids{1, 2}, 3);
  EXPECT_EQ(tree.find(kRoot, 0, Ids{1, 2}), 5);
  EXPECT_EQ(tree.find(kRoot, 1, Ids{1, 2}), 3);
  EXPECT_EQ(tree.find(kRoot, 2, Ids{1, 2}), std::nullopt);
  EXPECT_EQ(tree.find(kRoot, 0, Ids{2, 1}), std::nullopt);
  EXPECT_EQ(tree.find(5, 0, Ids{3, 4}), 0);
  EXPECT_EQ(tree.find(3, 1, Ids{3, 4}), std::nullopt);
  EXPECT_EQ(tree.getSize(), 3);
  EXPECT_TRUE(tree.contains(0));
  EXPECT_FALSE(tree.contains(1));
}

TEST(PrefixTreeTest, EvictsWhatWasUnusedForLongest) {
  PrefixTree tree(8, 1);
  tree.insert(kRoot, 0, Ids{1}, 0);
  tree.insert(0, 0, Ids{2}, 1);
  tree.insert(0, 0, Ids{3}, 2);
  EXPECT_EQ(tree.evict(), std::nullopt) << "all are used";
  for (int32_t block : {2, 1, 0})
    tree.markUnused(block);
  EXPECT_EQ(tree.getUnusedCount(), 3);
  // A user of 1 is one of its parent.
  tree.markUsed(0);
  tree.markUsed(1);
  EXPECT_EQ(tree.evict(), 2);
  EXPECT_EQ(tree.evict(), std::nullopt);
  tree.markUnused(1);
  tree.markUnused(0);
  EXPECT_EQ(tree.evict(), 1);
  EXPECT_EQ(tree.find(0, 0, Ids{2}), std::nullopt);
  EXPECT_EQ(tree.evict(), 0);
  EXPECT_EQ(tree.getSize(), 0);
  // A block that went can come again, elsewhere.
  tree.insert(kRoot, 0, Ids{9}, 1);
  EXPECT_EQ(tree.find(kRoot, 0, Ids{9}), 1);
}

// A list of unused blocks and a map of children are the model. Few tokens, so
// that equal ones meet under different parents.
TEST(PrefixTreeTest, EqualsAListAndAMapUnderRandomUse) {
  constexpr uint32_t seed = 41;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr int32_t blocks = 40;
  PrefixTree tree(blocks, 2);
  std::map<std::pair<int32_t, Ids>, int32_t> model;
  std::map<int32_t, std::pair<int32_t, Ids>> keys;
  std::list<int32_t> unused; // The oldest first.
  auto hasChild = [&](int32_t block) {
    return std::ranges::any_of(
        keys, [&](auto &entry) { return entry.second.first == block; });
  };
  auto isUnused = [&](int32_t block) {
    return std::ranges::find(unused, block) != unused.end();
  };
  for (int i = 0; i < 20000; ++i) {
    const int32_t block = int32_t(random() % blocks);
    const Ids tokens = {int32_t(random() % 2), int32_t(random() % 2)};
    if (keys.contains(block)) {
      const int32_t parent = keys[block].first;
      if (isUnused(block)) {
        // Users hold all ancestors.
        if (parent == kRoot || !isUnused(parent)) {
          tree.markUsed(block);
          unused.remove(block);
        }
      } else if (std::ranges::all_of(keys, [&](auto &entry) {
                   return entry.second.first != block || isUnused(entry.first);
                 })) {
        tree.markUnused(block);
        unused.push_back(block);
      }
    } else {
      int32_t parent = int32_t(random() % (blocks + 1)) - 1;
      if (parent != kRoot && (!keys.contains(parent) || isUnused(parent)))
        parent = kRoot;
      auto known = model.find({parent, tokens});
      ASSERT_EQ(tree.find(parent, 0, tokens),
                known == model.end() ? std::nullopt
                                     : std::optional(known->second));
      if (known == model.end()) {
        tree.insert(parent, 0, tokens, block);
        model[{parent, tokens}] = block;
        keys[block] = {parent, tokens};
      }
    }
    if (random() % 4 == 0) {
      std::optional<int32_t> evicted = tree.evict();
      ASSERT_EQ(evicted,
                unused.empty() ? std::nullopt : std::optional(unused.front()));
      if (evicted) {
        ASSERT_FALSE(hasChild(*evicted));
        unused.pop_front();
        model.erase(keys[*evicted]);
        keys.erase(*evicted);
      }
    }
    ASSERT_EQ(tree.getSize(), int64_t(keys.size()));
    ASSERT_EQ(tree.getUnusedCount(), int64_t(unused.size()));
  }
}

} // namespace
