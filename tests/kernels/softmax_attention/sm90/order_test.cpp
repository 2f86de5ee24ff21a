#include "kernels/softmax_attention/sm90/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

namespace gla_bench::softmax_attention {
namespace {

using Place = ItemOrder::Place;

std::vector<Place> list_of(const ItemOrder& order) {
  std::vector<Place> list;
  for (int i = 0; i < order.sequences * order.blocks; ++i) list.push_back(order.place(i));
  return list;
}

/// The order for T = Tk in items of `rows` queries, for 16-bit keys and values of `columns` each.
ItemOrder order_of(int batch, int seq, int heads, int columns, int rows, bool causal,
                   int key_heads = 0) {
  const int sequences = batch * heads, group = key_heads == 0 ? 1 : heads / key_heads;
  return {(seq + rows - 1) / rows, sequences, group, causal,
          ItemOrder::heads_in_cache(4 * columns, seq, sequences, group)};
}

/// The same with all heads side by side, as items were in once.
ItemOrder of_all_heads(ItemOrder order) {
  order.cached = order.sequences;
  return order;
}

/// What blocks that stay, and are dealt their items beforehand, take one after the other.
std::vector<std::vector<Place>> dealt(const std::vector<Place>& list) {
  std::vector<std::vector<Place>> of_blocks(resident_blocks);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::size_t round = i / resident_blocks, at = i % resident_blocks;
    of_blocks[round % 2 == 0 ? at : resident_blocks - 1 - at].push_back(list[i]);
  }
  return of_blocks;
}

/// The most that a dealt block has to do, over the mean. An item costs what its keys do, in units
/// of its queries, and one and a half such units besides.
double imbalance(const ItemOrder& order) {
  double most = 0, all = 0;
  for (const std::vector<Place>& items : dealt(list_of(order))) {
    double work = 0;
    for (const Place& item : items) work += (order.falling ? item.block + 1 : order.blocks) + 1.5;
    most = std::max(most, work), all += work;
  }
  return most * resident_blocks / all;
}

/// The most key heads that so many neighbours in the list belong to.
std::size_t most_heads(const ItemOrder& order, std::size_t from, std::size_t to) {
  const std::vector<Place> list = list_of(order);
  std::size_t most = 0;
  for (std::size_t i = from; i + resident_blocks <= to; ++i) {
    std::set<int> heads;
    for (int n = 0; n < resident_blocks; ++n) heads.insert(list[i + n].sequence / order.group);
    most = std::max(most, heads.size());
  }
  return most;
}

/// Megabytes of keys and values that come from memory if blocks that were dealt their items walk in
/// step, tile by tile of `tile` keys, and the cache of `room` bytes drops what was used longest
/// ago.
double megabytes_read(const ItemOrder& order, int seq, int columns, int rows, int tile,
                      std::int64_t room) {
  const std::vector<std::vector<Place>> of_blocks = dealt(list_of(order));
  const std::int64_t bytes = std::int64_t{4} * columns * tile;
  const int tiles = (seq + tile - 1) / tile;
  std::list<int> used;
  std::map<int, std::list<int>::iterator> places;
  std::int64_t read = 0;
  std::vector<std::size_t> turn(resident_blocks, 0);
  std::vector<int> left(resident_blocks, 0);
  for (bool working = true; working;) {
    working = false;
    for (std::size_t b = 0; b < of_blocks.size(); ++b) {
      if (left[b] == 0) {
        if (turn[b] == of_blocks[b].size()) continue;
        const int block = of_blocks[b][turn[b]++].block;
        const int keys = order.falling ? std::min(seq, (block + 1) * rows) : seq;
        left[b] = (keys + tile - 1) / tile;
      }
      working = true;
      const int key = of_blocks[b][turn[b] - 1].sequence / order.group * tiles + --left[b];
      if (const auto found = places.find(key); found != places.end()) {
        used.splice(used.begin(), used, found->second);
        continue;
      }
      read += bytes;
      used.push_front(key), places[key] = used.begin();
      if (static_cast<std::int64_t>(used.size()) * bytes > room)
        places.erase(used.back()), used.pop_back();
    }
  }
  return static_cast<double>(read) / 1e6;
}

TEST(ItemOrder, HasEveryItemOnce) {
  for (const int blocks : {1, 2, 3, 8, 33, 43, 64, 297})
    for (const auto& [sequences, group] : std::vector<std::pair<int, int>>{
             {1, 1}, {2, 1}, {3, 1}, {9, 1}, {32, 1}, {33, 3}, {64, 8}, {63, 7}})
      for (const bool falling : {false, true})
        for (const int cached : {0, 3 * group, sequences}) {
          const ItemOrder order{blocks, sequences, group, falling, cached};
          std::set<std::pair<int, int>> seen;
          for (const Place& item : list_of(order)) {
            EXPECT_TRUE(item.sequence >= 0 && item.sequence < sequences);
            EXPECT_TRUE(item.block >= 0 && item.block < blocks);
            seen.insert({item.sequence, item.block});
          }
          EXPECT_EQ(seen.size(), static_cast<std::size_t>(blocks) * sequences)
              << blocks << " blocks, " << sequences << " heads in groups of " << group << ", "
              << falling << ", " << cached;
        }
}

TEST(ItemOrder, HeadsComeOneAfterTheOtherWhereAllItemsAreAlike) {
  // 64 items of a head: 132 of them are of one item, two whole heads and three items.
  const ItemOrder wide = order_of(2, 8192, 16, 256, 128, false);
  EXPECT_EQ(most_heads(wide, 0, 32 * 64), 4u);
  EXPECT_EQ(wide.place(0).sequence, 0);
  EXPECT_EQ(wide.place(0).block, 63);
  EXPECT_EQ(wide.place(64).sequence, 1);
  // Heads that share keys are side by side.
  const ItemOrder grouped = order_of(1, 4096, 32, 128, 128, false, 8);
  for (int i = 0; i < 32 * 32; ++i) {
    EXPECT_EQ(grouped.place(i).sequence / 4, i / 4 / 32);
    EXPECT_EQ(grouped.place(i).sequence % 4, i % 4);
    EXPECT_EQ(grouped.place(i).block, 31 - i / 4 % 32);
  }
}

TEST(ItemOrder, PairsOfOneHeadHaveTheSameWork) {
  const ItemOrder causal = order_of(4, 4096, 16, 128, 128, true);
  // 1024 pairs in all. The cache holds twelve heads of 16 pairs each.
  EXPECT_EQ(causal.cached, 12);
  ASSERT_EQ(causal.paired(), (1024 - 192) / 132 * 132);
  for (int pair = 0; pair < causal.paired(); ++pair) {
    const int round = pair / 132, at = pair % 132;
    const Place longer = causal.place(round * 264 + at);
    const Place shorter = causal.place(round * 264 + 263 - at);
    EXPECT_EQ(longer.sequence, pair / 16);
    EXPECT_EQ(longer.block, 31 - pair % 16);
    EXPECT_EQ(shorter.sequence, pair / 16);
    EXPECT_EQ(shorter.block, pair % 16);
  }
  // 43 items of a head: pairs are of two heads, whose middle items are one of them.
  const ItemOrder odd = order_of(2, 8192, 16, 64, 192, true);
  ASSERT_GT(odd.paired(), 43);
  EXPECT_EQ(odd.place(42).sequence, 0);
  EXPECT_EQ(odd.place(42).block, 21);
  EXPECT_EQ(odd.place(263 - 42).sequence, 1);
  EXPECT_EQ(odd.place(263 - 42).block, 21);
}

TEST(ItemOrder, FewHeadsAreAtWorkAtATimeUntilTheLast) {
  // 16 pairs of a head: a round of 132 is of nine or ten heads, and neighbours of two rounds of 11.
  const ItemOrder many = order_of(4, 4096, 16, 128, 128, true);
  EXPECT_EQ(most_heads(many, 0, 2 * many.paired()), 11u);
  EXPECT_EQ(most_heads(of_all_heads(many), 0, 64 * 32), 64u);
  const ItemOrder few = order_of(1, 16384, 16, 128, 128, true);
  EXPECT_EQ(most_heads(few, 0, 2 * few.paired()), 4u);
  // Of 32 query heads in groups of four, 132 items are of three key heads at most.
  const ItemOrder grouped = order_of(2, 8192, 32, 128, 128, true, 8);
  EXPECT_EQ(most_heads(grouped, 0, 2 * grouped.paired()), 3u);
}

TEST(ItemOrder, TheLastHeadsItemsComeLongestFirst) {
  for (const ItemOrder& order :
       {order_of(4, 4096, 16, 128, 128, true), order_of(2, 8192, 16, 64, 192, true),
        order_of(2, 8192, 32, 128, 128, true, 8), order_of(1, 2048, 4, 128, 128, true)}) {
    const std::vector<Place> list = list_of(order);
    for (std::size_t i = 2 * order.paired() + 1; i < list.size(); ++i)
      ASSERT_LE(list[i].block, list[i - 1].block);
    EXPECT_EQ(list.back().block, 0);
    // Of so many items each block has two at least.
    EXPECT_GE(list.size() - 2 * order.paired(), std::min<std::size_t>(list.size(), 264));
  }
  // Where the cache holds all heads, none comes before the others.
  const ItemOrder small = order_of(1, 2048, 16, 128, 128, true);
  EXPECT_EQ(small.paired(), 0);
  for (int i = 0; i < 16 * 16; ++i) {
    EXPECT_EQ(small.place(i).sequence, i % 16);
    EXPECT_EQ(small.place(i).block, 15 - i / 16);
  }
}

TEST(ItemOrder, DealtBlocksHaveAboutTheSameWork) {
  EXPECT_LT(imbalance(order_of(1, 16384, 16, 128, 128, true)), 1.015);
  EXPECT_LT(imbalance(order_of(4, 4096, 16, 128, 128, true)), 1.015);
  EXPECT_LT(imbalance(order_of(2, 8192, 16, 64, 128, true)), 1.015);
  EXPECT_LT(imbalance(order_of(2, 8192, 16, 64, 192, true)), 1.03);
  EXPECT_LT(imbalance(order_of(2, 8192, 32, 128, 128, true, 8)), 1.015);
  // 2048 items alike, of which some blocks have 16 and others 15.
  EXPECT_NEAR(imbalance(order_of(2, 8192, 16, 256, 128, false)), 16 * 132 / 2048.0, 1e-9);
}

TEST(ItemOrder, KeysAndValuesComeFromMemoryAboutOnce) {
  constexpr std::int64_t room = 35'000'000;  // of 50 MB, as counted bytes of the old order show
  const auto read = [&](const ItemOrder& order, int seq, int columns, int rows, int tile) {
    return megabytes_read(order, seq, columns, rows, tile, room);
  };
  const ItemOrder many = order_of(4, 4096, 16, 128, 128, true);
  EXPECT_LT(read(many, 4096, 128, 128, 128), 1.05 * 134.2);
  EXPECT_GT(read(of_all_heads(many), 4096, 128, 128, 128), 6 * 134.2);
  const ItemOrder few = order_of(1, 16384, 16, 128, 128, true);
  EXPECT_LT(read(few, 16384, 128, 128, 128), 1.3 * 134.2);
  EXPECT_GT(read(of_all_heads(few), 16384, 128, 128, 128), 6 * 134.2);
  // In step 132 blocks of all heads would read 15 times what there is. Blocks that fall behind read
  // it again: 9.3 GB were counted.
  const ItemOrder wide = order_of(2, 8192, 16, 256, 128, false);
  EXPECT_LT(read(wide, 8192, 256, 128, 64), 1.5 * 268.4);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
