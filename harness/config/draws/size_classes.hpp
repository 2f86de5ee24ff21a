#pragma once
// Classes of sizes that kernels tell apart, from which drawn problems take theirs.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/config/draws/draws.hpp"

namespace gla_bench {

/// Some sizes that are alike to a kernel.
struct SizeClass {
  std::string_view name;
  std::vector<std::int64_t> sizes;
};

/// Of key_dim and value_dim: what tensor cores and vector loads take as it is, what they take in
/// part, what has to be padded, and what does not fit one block.
inline const std::vector<SizeClass>& dim_classes() {
  static const std::vector<SizeClass> list{{"power of two", {16, 32, 64}},
                                           {"multiple of 8", {8, 24, 40, 72, 104}},
                                           {"odd", {1, 3, 17, 33, 50, 65, 100}},
                                           {"large", {128, 129, 192, 256, 264, 320, 511, 512}}};
  return list;
}

/// A narrower model has tokens that are all small, and queries that are orthogonal to their own
/// keys. The layer's norm makes rounding errors of these large.
inline const std::vector<SizeClass>& model_classes() {
  static const std::vector<SizeClass> list{{"multiple of 32", {32, 64, 96}}, {"odd", {33, 50, 67}}};
  return list;
}

/// Of a softmax's rows: one element, about a warp, whole vectors, some of a block, several blocks;
/// and behind whole vectors a tail of one element, of some, and of all but one.
inline const std::vector<SizeClass>& column_classes() {
  static const std::vector<SizeClass> list{{"1", {1}},
                                           {"few", {3, 5, 11, 37}},
                                           {"few, all but one", {7, 15, 31, 63}},
                                           {"vectors", {8, 64, 128, 512}},
                                           {"a thousand", {1000, 1026, 2052, 5003}},
                                           {"a thousand and one", {1025, 2049, 4097}},
                                           {"a thousand but one", {1023, 2047, 4095}},
                                           {"100 thousand", {65537, 100000, 131071, 131072}}};
  return list;
}

constexpr std::int64_t least_longest_row = 65537;  ///< columns of the last of these classes

/// Lengths. Kernels work in chunks of 16 to 256 tokens and have their edge cases next to multiples
/// of them. A scan works in another way from some dozens of chunks on. What is forgotten after
/// hundreds of tokens shows over thousands, where nothing decays.
struct LengthClass {
  enum class Of { any, one_sequence, ragged };
  std::string_view name;
  std::int64_t least, most;
  int chances;  ///< of the draws that need not cover anything
  Of of = Of::any;
};
constexpr std::int64_t least_longest = 2049;
inline constexpr std::array<LengthClass, 7> length_classes{
    {{"1", 1, 1, 1},
     {"below a chunk", 2, 15, 2},
     {"next to a multiple", 15, 321, 5},
     {"some chunks", 33, 600, 5},
     {"over 48 chunks", 769, 1100, 1, LengthClass::Of::one_sequence},
     {"over 2048", least_longest, std::int64_t{1} << 24, 1, LengthClass::Of::one_sequence},
     {"over 768 together", 769, 4096, 2, LengthClass::Of::ragged}}};
constexpr std::int64_t least_long = 769;  ///< what makes a length long

/// A length of the class between these limits.
inline std::int64_t draw_length(const LengthClass& one, std::int64_t least, std::int64_t most,
                                Draws& draws) {
  if (one.name != "next to a multiple") return draws.size(least, most);
  constexpr std::array<std::int64_t, 4> chunks{16, 32, 64, 128};
  const std::int64_t chunk = draws.of(chunks), count = draws.between(1, 320 / chunk);
  return std::clamp(chunk * count + (draws.one_in(2) ? 1 : -1), least, most);
}

/// How many sequences a ragged batch has. More than 32 are more than a warp can look after at once.
inline constexpr std::array<std::int64_t, 5> few_sequences{2, 3, 5, 8, 13};
constexpr std::int64_t least_of_many_sequences = 33, most_of_many_sequences = 70;

/// Query heads for each head of the keys.
inline constexpr std::array<std::int64_t, 4> head_groups{1, 2, 3, 5};

}  // namespace gla_bench
