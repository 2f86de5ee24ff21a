#include "kernels/softmax_attention/decoding/flash_decoding_sm90.hpp"

#include <gtest/gtest.h>

#include "kernels/softmax_attention/decoding/layout.h"
#include "tests/kernels/softmax_attention/forward_problems.hpp"

namespace gla_bench::softmax_attention {
namespace {

const Variant& of(std::string_view op) {
  static const Variant plain = flash_decoding_sm90("attention"),
                       decaying = flash_decoding_sm90("decay_attention");
  return op == "attention" ? plain : decaying;
}

const Shape many_keys{1, 1, 32, 128, 128, 65536, 8};

Problem decoding_problem(std::string_view op, const Shape& shape) {
  return forward_problem(op, DType::bfloat16, shape);
}

/// Problems of bulk copies with at most 128 columns; with a decay those of one query.
std::vector<Problem> taken_problems(std::string_view op) {
  std::vector<Problem> problems = bulk_copied(forward_problems(op));
  problems.push_back(decoding_problem(op, {3, 1, 6, 104, 72, 517, 2}));
  problems.push_back(decoding_problem(op, {1, 1, 34, 64, 64, 100, 2}));
  std::erase_if(problems, [](const Problem& problem) {
    return problem.shape.value_dim > 128 ||
           (problem.op == "decay_attention" && problem.shape.seq != 1);
  });
  return problems;
}

std::string decoding_refusal(const Problem& problem, const Tile& tile) {
  return of(problem.op).reject(problem, tile, forward_h200()).value_or("taken");
}

TEST(FlashDecodingSm90, RejectsByNameAndNeverThrows) {
  for (const std::string_view op : {"attention", "decay_attention"}) {
    const Problem problem = decoding_problem(op, many_keys);
    const Tile usual = forward_default(of(op));
    EXPECT_EQ(decoding_refusal(problem, usual), "taken");
    expect_forward_reject(of(op), problem);
    Limits ampere = forward_h200();
    ampere.arch = 80;
    EXPECT_EQ(of(op).reject(problem, usual, ampere), "needs sm_90a: bulk tensor copies");
    Problem other = problem;
    other.dtype = DType::float32;
    EXPECT_EQ(decoding_refusal(other, usual), "takes 16-bit inputs alone");
    other = problem;
    other.shape.key_dim = 264;
    EXPECT_EQ(decoding_refusal(other, usual), "key_dim and value_dim go up to 256");
    other.shape.key_dim = 100;
    EXPECT_EQ(decoding_refusal(other, usual),
              "bulk copies need rows of a multiple of 16 bytes: key_dim and value_dim of 8");
    other = problem;
    other.scale = -1.0;
    EXPECT_EQ(decoding_refusal(other, usual), "needs a scale above zero");
    other = problem;
    other.shape.key_dim = other.shape.value_dim = 256;
    EXPECT_EQ(decoding_refusal(other, usual), "taken");
    Tile tile = usual;
    tile["blocks"] = 2;
    EXPECT_NE(decoding_refusal(other, tile).find("registers"), std::string::npos);
    tile["block_n"] = 128;
    other.shape.key_dim = 64, other.shape.value_dim = 72;
    EXPECT_EQ(decoding_refusal(other, tile), op == "attention"
                                                 ? "blocks=2 have no room beside one another"
                                                 : "about 144 registers a thread, 128 are there");
    tile = usual;
    tile["block_n"] = 128;
    other.shape.key_dim = 192, other.shape.value_dim = 128;
    EXPECT_NE(decoding_refusal(other, tile).find("shared memory"), std::string::npos);
    other.shape = {1 << 16, 1, 8, 64, 64, 1 << 20, 8};
    EXPECT_EQ(decoding_refusal(other, usual), "batch * key_heads * tiles of keys go up to 2^30");
    // Keys are many, so that all blocks have more than a thousand of them.
    tile = usual;
    tile["least_keys"] = 64;
    EXPECT_EQ(decoding_refusal(problem, tile), "least_keys=64 gives the blocks of least_keys=256");
  }
  Shape two = many_keys;
  two.seq = 2;
  EXPECT_EQ(decoding_refusal(decoding_problem("decay_attention", two),
                             forward_default(of("decay_attention"))),
            "a decay goes with one query alone");
  EXPECT_EQ(decoding_refusal(decoding_problem("attention", two), forward_default(of("attention"))),
            "taken");
}

TEST(FlashDecodingSm90, AcceptedTilesFitTheLimits) {
  for (const std::string_view op : {"attention", "decay_attention"}) {
    expect_forward_launches(of(op), taken_problems(op));
    expect_forward_work(of(op), taken_problems(op));
  }
}

std::vector<KernelLaunch> launches(const Problem& problem, const Tile& tile) {
  std::vector<KernelLaunch> list;
  for (const Step& step : std::get<0>(of(problem.op).code)(problem, tile).steps)
    list.push_back(std::get<KernelLaunch>(step));
  return list;
}

TEST(FlashDecodingSm90, LaunchesFillTheDeviceAndCoverAllRows) {
  Tile tile = forward_default(of("attention"));
  // 16 gangs of 8 key heads; the merge has a block for each of 32 rows, and its launch overlaps.
  const auto plain = launches(decoding_problem("attention", many_keys), tile);
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_EQ(plain[0].grid.x, 128u);
  EXPECT_FALSE(plain[0].overlaps);
  EXPECT_EQ(plain[1].grid.x, 32u);
  EXPECT_TRUE(plain[1].overlaps);
  // Three more warps form biases.
  const auto decaying = launches(decoding_problem("decay_attention", many_keys), tile);
  ASSERT_EQ(decaying.size(), 2u);
  EXPECT_EQ(decaying[0].grid.x, 128u);
  EXPECT_EQ(decaying[0].block.x, plain[0].block.x + 96);
  // 5 queries of 4 heads are 20 rows: gangs of two tiles of rows of each of 8 heads.
  Shape few = many_keys;
  few.seq = 5;
  EXPECT_EQ(launches(decoding_problem("attention", few), tile)[0].grid.x, 128u);
  // Twice the blocks at a time.
  tile["blocks"] = 2;
  EXPECT_EQ(launches(decoding_problem("attention", many_keys), tile)[0].grid.x, 264u);
}

TEST(FlashDecodingSm90, NothingIsMergedWhereEachKeyHeadHasABlockOfItsOwn) {
  const Problem problem = decoding_problem("attention", {2, 1, 32, 128, 128, 1000, 8});
  Tile tile = forward_default(of("attention"));
  tile["least_keys"] = 1024;
  const auto whole = launches(problem, tile);
  ASSERT_EQ(whole.size(), 1u);
  EXPECT_EQ(whole[0].grid.x, 16u);
  tile["least_keys"] = 256;
  const auto divided = launches(problem, tile);
  ASSERT_EQ(divided.size(), 2u);
  EXPECT_EQ(divided[0].grid.x, 64u);
}

TEST(FlashDecodingSm90, PlacesInSharedMemoryFollowOneAnother) {
  for (const int biased : {0, 4, 16})
    for (const int block_n : {64, 128})
      for (const int stages : {2, 3}) {
        const DecodingLayout sizes{104, 72, block_n, 1, stages, biased};
        EXPECT_EQ(sizes.key_tile, 2 * block_n * 128);
        EXPECT_EQ(sizes.value_tile, 2 * block_n * 128);
        EXPECT_EQ(sizes.panel % 1024, 0);
        EXPECT_EQ(sizes.bias_tiles, stages * (sizes.key_tile + sizes.value_tile));
        EXPECT_EQ(sizes.barriers - sizes.bias_tiles, stages * biased * block_n * 4);
        EXPECT_EQ(sizes.barriers % 8, 0);
        EXPECT_EQ(sizes.totals - sizes.barriers, 32 * stages);
        EXPECT_EQ(sizes.reaches - sizes.totals, biased * 2 * stages * 4);
        EXPECT_GE(sizes.bytes, sizes.walk_bytes + 1024);
        EXPECT_GE(sizes.bytes, sizes.merge_bytes + 1024);
      }
}

TEST(FlashDecodingSm90, QueriesWithoutRoomInRegistersLieInSharedMemory) {
  const DecodingLayout usual{192, 192, 64, 1, 3, 0}, wide{256, 256, 64, 1, 3, 0};
  EXPECT_FALSE(usual.queries_in_shared);
  EXPECT_EQ(usual.registers_of_queries, 48);
  EXPECT_EQ(usual.walk_bytes, usual.copied + 3 * 4);
  EXPECT_TRUE(wide.queries_in_shared);
  EXPECT_EQ(wide.registers_beside_queries, 128 + 16 + 56);
  EXPECT_EQ(wide.registers_given, 256);
  EXPECT_EQ(wide.registers_there, 255) << "the most of a thread";
  EXPECT_EQ(wide.query_operands % 16, 0);
  EXPECT_GE(wide.query_operands, wide.copied + 3 * 4);
  EXPECT_EQ(wide.walk_bytes, wide.query_operands + 16 * 256 * 2);
  // Two blocks of five warps are twelve warps to the registers, which come for four at a time.
  const DecodingLayout two{128, 128, 64, 2, 3, 0};
  EXPECT_EQ(two.registers_there, 168);
  EXPECT_TRUE(two.queries_in_shared);
  EXPECT_FALSE((DecodingLayout{64, 64, 64, 2, 3, 0}.queries_in_shared));
}

// A warp that skipped a phase of a stage would take the next one for it, and write too soon.
TEST(FlashDecodingSm90, WarpsThatFormBiasesMeetEveryPhaseOfTheirStages) {
  const Problem problem = decoding_problem("decay_attention", many_keys);
  Tile tile = forward_default(of("decay_attention"));
  tile["stages"] = 2;
  EXPECT_EQ(decoding_refusal(problem, tile),
            "three warps form the biases of a decay, a third of the stages each");
  tile["stages"] = 3;
  EXPECT_EQ(decoding_refusal(problem, tile), "taken");
  const DecodingLayout sizes{64, 64, 64, 1, 3, 4};
  EXPECT_EQ(sizes.threads, 32 * (4 + 1 + 3));
}

TEST(FlashDecodingSm90, KeysAreReadOnceForAllHeadsOfAGroup) {
  const Tile tile = forward_default(of("attention"));
  const Problem problem = decoding_problem("attention", many_keys);
  const double keys = 65536.0 * 8 * 128 * 2, queries = 32.0 * 128 * 2;
  const double parts = 16.0 * 32 * 129 * 4;  // of 16 gangs
  EXPECT_EQ(of("attention").traffic(problem, tile).read_bytes, 2 * keys + 16 * queries + parts);
  const double decays = 65536.0 * 32 * 2, sums = 16.0 * 32 * 4;
  EXPECT_EQ(of("decay_attention")
                .traffic(decoding_problem("decay_attention", many_keys), tile)
                .read_bytes,
            2 * keys + 16 * queries + parts + decays + sums);
}

}  // namespace
}  // namespace gla_bench::softmax_attention
