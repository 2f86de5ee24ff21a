#pragma once
// Which blocks of flash_decoding_sm90 take which tiles of keys, stated once for the kernel, for its
// host side and for tests. Includes no standard headers, because NVRTC has none.
//
// All blocks get the same number of tiles, give or take one, and all are at work at the same time.
// So a block's tiles may begin in the middle of a key head and end in the middle of another. A key
// head whose tiles several blocks have leaves a part in each of them.
//
// Blocks that have the same tokens of neighbouring key heads, or the same keys for other rows, are
// a gang: what memory hands out at a time has rows of several heads, and what one block has read
// the others find in the L2 cache. The tiles are divided among gangs. A sequence is what a gang
// walks over from end to end: the tiles of one key head, for each of its blocks another.

#if defined(__CUDACC__)
#define GLA_BENCH_EVERYWHERE __host__ __device__
#else
#define GLA_BENCH_EVERYWHERE
#endif

namespace gla_bench::softmax_attention {

/// What a division depends on. Use it as DecodingSizes{...}.
struct DecodingSizes {
  long long batch, key_seq;
  int key_heads;
  int row_tiles;    ///< tiles of rows (queries times heads of a group) that a key head has
  int block_n;      ///< keys of a tile
  int most_blocks;  ///< that are at work at the same time
  int least_keys;   ///< of a block, where there are too few keys for all blocks
};

struct DecodingDivision {
  int heads;      ///< key heads of a gang; they divide key_heads
  int members;    ///< blocks of a gang: heads * row_tiles, tiles of rows fastest
  int sequences;  ///< batch * key_heads / heads
  int tiles;      ///< of a sequence
  int pieces;     ///< in which a sequence's gangs have it, where there are blocks for all
  int gangs, most_gangs;

  /// The most key heads that leave few of the multiprocessors idle. Only the host asks, since it
  /// takes a while.
  GLA_BENCH_EVERYWHERE static constexpr int heads_of_gang(const DecodingSizes& s) {
    const int most = s.key_heads < s.most_blocks ? s.key_heads : s.most_blocks;
    for (int heads = most; heads > 1; --heads) {
      const long long members = 1LL * heads * s.row_tiles;
      if (s.key_heads % heads == 0 && members <= s.most_blocks &&
          20 * (s.most_blocks % members) <= s.most_blocks)
        return heads;
    }
    return 1;
  }
  GLA_BENCH_EVERYWHERE static constexpr DecodingDivision of(const DecodingSizes& s,
                                                            int heads_of_gang) {
    DecodingDivision d{};
    d.heads = heads_of_gang;
    d.members = d.heads * s.row_tiles;
    d.sequences = static_cast<int>(s.batch * (s.key_heads / d.heads));
    d.tiles = static_cast<int>((s.key_seq + s.block_n - 1) / s.block_n);
    const int least = s.least_keys > s.block_n ? s.least_keys / s.block_n : 1;  // tiles of a block
    d.pieces = d.tiles > least ? d.tiles / least : 1;
    d.most_gangs = s.most_blocks / d.members > 1 ? s.most_blocks / d.members : 1;
    const long long wanted = 1LL * d.pieces * d.sequences;
    d.gangs = wanted < d.most_gangs ? static_cast<int>(wanted) : d.most_gangs;
    return d;
  }

  // Every block begins with these, and the time of the merge is that of few instructions: they do
  // without divisions of 64 bits, of which each is many.

  /// The first tile of a gang, counted through all sequences: sequences * tiles * gang / gangs.
  GLA_BENCH_EVERYWHERE constexpr int begin(int gang) const {
    const int all = sequences * tiles;
    return all / gangs * gang + all % gangs * gang / gangs;
  }
  /// The gang that has a tile: ((tile + 1) * gangs - 1) / (sequences * tiles). The half, of a
  /// difference of at least 1 to the next multiple, is far more than the quotient's rounding.
  GLA_BENCH_EVERYWHERE constexpr int gang_of(int tile) const {
    return static_cast<int>(((tile + 1.0) * gangs - 0.5) / (1.0 * sequences * tiles));
  }
  GLA_BENCH_EVERYWHERE constexpr int first_gang(int sequence) const {
    return gang_of(sequence * tiles);
  }
  GLA_BENCH_EVERYWHERE constexpr int last_gang(int sequence) const {
    return gang_of((sequence + 1) * tiles - 1);
  }
  /// What no sequence has more parts than. Where gangs begin is rounded down to whole tiles, so
  /// that no more of them begin within a sequence than would without that.
  GLA_BENCH_EVERYWHERE constexpr int most_parts() const {
    return (gangs + sequences - 1) / sequences + 1;
  }
  /// Where a member's part of a sequence lies in the workspace. From a gang's part to its next one
  /// the sequence grows, and from a sequence's part to its next one the gang does.
  GLA_BENCH_EVERYWHERE constexpr long long part(int gang, int sequence, int member) const {
    return (gang + sequence) * 1LL * members + member;
  }
  /// As many places as there may be, with which the workspace grows as batches do.
  GLA_BENCH_EVERYWHERE constexpr long long parts() const {
    return (most_gangs + sequences - 1LL) * members;
  }
};

}  // namespace gla_bench::softmax_attention
