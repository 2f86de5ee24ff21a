#pragma once
// Inputs from a seed. Every element is a pure function of (seed, tensor name, element index). It is
// the same on every machine, with every compiler and number of threads, because it uses only
// integer operations and + - * / and sqrt of doubles, in a fixed order. (The .cpp file is compiled
// with -ffp-contract=off.)

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/problem.hpp"

namespace gla_bench {

/// A stream of random numbers, one per tensor.
struct Stream {
  std::uint64_t key = 0;
};

/// The stream of a tensor, or of one use of a tensor ("g.tokens").
Stream stream(std::uint64_t seed, std::string_view name);

/// Word number `index` of a stream: 64 random bits.
std::uint64_t random_word(Stream stream, std::uint64_t index);

/// Uniform in (0, 1), from the word's upper 53 bits.
double random_uniform(Stream stream, std::uint64_t index);

/// N(0,1), at most 6.8 in magnitude.
double random_normal(Stream stream, std::uint64_t index);

/// `count` values of N(0,1), rounded to the dtype. In parallel.
std::vector<float> draw_normal(Stream stream, std::int64_t count, DType dtype);

/// `count` values of elu(N(0,1)) + 1 > 0 (x + 1 above 0, e^x below), rounded to the dtype. In
/// parallel.
std::vector<float> draw_positive(Stream stream, std::int64_t count, DType dtype);

/// The gate regimes by name, in the order in which they are listed:
/// - none: 0
/// - mild: logsigmoid(N(0,1)) / 16
/// - typical: logsigmoid(N(0,1))
/// - rwkv: -exp(N(-3,1.5))
/// - strong: logsigmoid(N(0,1)) / 0.1
/// - spikes: mild, but 10 % of the tokens (of a head, all its channels) at -30
/// - resets: mild, but 5 % of the tokens at -inf. In every second head (the seed says which)
///   tokens 63, 319, 575, ... are at -inf and the others at 0
/// - per_channel: a quarter of the channels (of a head) at 0, a quarter at -40, the others typical
const std::vector<std::string>& gate_regimes();

/// After how many tokens a regime's decays have left about e^-40 of a key, by their means. Infinite
/// where some keys never decay, and for names that are no gate regimes.
double tokens_until_decayed(std::string_view regime);

/// Gates g = log decay <= 0 of [tokens, heads, channels], rounded to the dtype. In parallel.
/// @throws InputError for a regime that gate_regimes() lacks.
std::vector<float> draw_gates(std::string_view regime, std::uint64_t seed, std::string_view name,
                              std::int64_t tokens, std::int64_t heads, std::int64_t channels,
                              DType dtype);

/// The same gates before their activation: w with g = -exp(w), so w = ln(-g). Only for the regimes
/// without g = 0 and g = -inf (raw_gates_have()). In parallel. @throws InputError as draw_gates()
/// does
std::vector<float> draw_raw_gates(std::string_view regime, std::uint64_t seed,
                                  std::string_view name, std::int64_t tokens, std::int64_t heads,
                                  std::int64_t channels, DType dtype);

/// Whether every gate of the regime is -exp(w) for some finite w.
bool raw_gates_have(std::string_view regime);

/// The regimes of one constant log decay for each head: `retnet`, which is ln(1 - 2^(-5-h)) for
/// head h; those of gate_regimes() that treat all tokens and channels alike, drawn once for each
/// head; and `resets`, in which -inf and 0 take turns and the seed decides which is first.
const std::vector<std::string>& head_decay_regimes();

/// Log decays [heads] in float32. @throws InputError for a regime that head_decay_regimes() lacks
std::vector<float> draw_head_decays(std::string_view regime, std::uint64_t seed,
                                    std::string_view name, std::int64_t heads);

/// The places in `tokens` tokens where `sequences` ragged sequences begin and end: [sequences + 1],
/// from 0 to `tokens`. They are integers below 2^24, so that floats hold them exactly. `uniform`:
/// uniform cut points. `skewed`: lengths in proportion to exp(2 N(0,1)), with about every fourth
/// sequence empty (at least one if there are two or more). @throws InputError for another kind
std::vector<float> draw_boundaries(std::string_view kind, std::uint64_t seed, std::string_view name,
                                   std::int64_t tokens, std::int64_t sequences);

}  // namespace gla_bench
