#pragma once
// In which order the blocks of flash_sm90 take their items (items.cuh), for the kernel and for the
// tests of the order. Includes no standard headers, because NVRTC has none.

#if defined(__CUDACC__)
#define GLA_BENCH_EVERYWHERE __host__ __device__
#else
#define GLA_BENCH_EVERYWHERE
#endif

namespace gla_bench::softmax_attention {

/// Blocks at work at a time: one for each multiprocessor of an H100 or H200 in its SXM form. With
/// fewer multiprocessors, some blocks that stay for several items would wait for others to end.
inline constexpr int resident_blocks = 132;

/// Bytes of the keys and values that an H100 or H200 is trusted to keep in its L2 cache of 50 MB,
/// beside queries, outputs and what blocks that have fallen behind still need.
inline constexpr int cached_bytes = 24 << 20;

/// The heads' blocks of queries in a fixed order. Blocks at work at a time take neighbours in it,
/// and what they read of keys and values comes from memory once if the L2 cache holds the heads
/// that they belong to. So heads come one after the other, those that share keys side by side.
///
/// Where later queries see more keys, work must also come out even. A pair is a long item and the
/// short one that has as much less than the mean as the long one has more. Rounds of pairs, one for
/// each block, cost all blocks the same, whatever heads they are of. The last heads have no pairs:
/// their items come with those of all these heads together, the longest first, so that blocks end
/// on short ones.
struct ItemOrder {
  int blocks;     ///< of queries, of each head
  int sequences;  ///< query heads of all sequences
  int group;      ///< query heads that share keys
  bool falling;   ///< whether the last block of a head has the most work, and the first the least
  int cached;     ///< query heads whose keys and values the L2 cache holds

  struct Place {
    int sequence, block;
  };

  /// Of `sequences` query heads, how many the cache holds the keys and values of, which are so many
  /// bytes for each of key_seq tokens.
  GLA_BENCH_EVERYWHERE static constexpr int heads_in_cache(int token_bytes, int key_seq,
                                                           int sequences, int group) {
    const int fit = cached_bytes / token_bytes / key_seq, there = sequences / group;
    return (fit < there ? fit : there) * group;
  }

  GLA_BENCH_EVERYWHERE constexpr Place place(int index) const {
    if (!falling) return longest_first(index, group);
    if (const int pairs = paired(); index < 2 * pairs)
      return of_pair(index);
    else
      return of_last(index - 2 * pairs, pairs);
  }

  /// Pairs that are taken in rounds. At least a round of them is left for the end.
  GLA_BENCH_EVERYWHERE constexpr int paired() const {
    const int all = sequences * blocks / 2, of_cached = cached * blocks / 2;
    const int left = of_cached < resident_blocks ? resident_blocks : of_cached;
    const int wanted = all < left ? 0 : (all - left) / resident_blocks;
    const int there = sequences / width() * section_pairs() / resident_blocks;
    return (wanted < there ? wanted : there) * resident_blocks;
  }

 private:
  /// Heads of a section: those that share keys, or twice as many if these have an odd number of
  /// items. A section's items, the longest first, make pairs from both ends.
  GLA_BENCH_EVERYWHERE constexpr int width() const {
    return blocks % 2 == 0 || group % 2 == 0 ? group : 2 * group;
  }
  GLA_BENCH_EVERYWHERE constexpr int section_pairs() const {
    return width() > sequences ? 0 : width() * blocks / 2;
  }
  /// Counts over sections of so many heads.
  GLA_BENCH_EVERYWHERE constexpr Place longest_first(int index, int heads) const {
    const int section = index / (heads * blocks), within = index - section * heads * blocks;
    const int row = within / heads;
    return {section * heads + within - row * heads, blocks - 1 - row};
  }
  /// Rounds of longer items and of shorter ones come in turn, and every second round is taken
  /// backwards (items.cuh), so that a block has both items of a pair.
  GLA_BENCH_EVERYWHERE constexpr Place of_pair(int index) const {
    const int round = index / resident_blocks, at = index - round * resident_blocks;
    const bool shorter = round % 2 != 0;
    const int pair = round / 2 * resident_blocks + (shorter ? resident_blocks - 1 - at : at);
    const int pairs = section_pairs(), section = pair / pairs, within = pair - section * pairs;
    const int first = section * 2 * pairs;
    return longest_first(first + (shorter ? 2 * pairs - 1 - within : within), width());
  }
  /// What pairs have left, by length. Of one section they may have left the middle.
  GLA_BENCH_EVERYWHERE constexpr Place of_last(int index, int pairs) const {
    const int of_section = section_pairs(), begun = of_section == 0 ? 0 : pairs / of_section;
    const int gone = pairs - begun * of_section, first = begun * width();
    const int some = first + width() <= sequences ? width() : 0, whole = sequences - first - some;
    // Items of the section in rows before this one, and of the whole heads with them.
    const auto of_some = [&](int row) {
      const int taken = row * some < gone ? gone : row * some;
      const int end = some * blocks - gone;
      return (taken < end ? taken : end) - gone;
    };
    int row = 0;
    for (int end = blocks; end - row > 1;) {
      const int middle = (row + end) / 2;
      if (middle * whole + of_some(middle) <= index)
        row = middle;
      else
        end = middle;
    }
    const int at = index - row * whole - of_some(row), here = of_some(row + 1) - of_some(row);
    if (at >= here) return {first + some + at - here, blocks - 1 - row};
    const int skipped = gone > row * some ? gone - row * some : 0;
    return {first + skipped + at, blocks - 1 - row};
  }
};

}  // namespace gla_bench::softmax_attention

#undef GLA_BENCH_EVERYWHERE
