#include "reference/inputs.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "core/rounding.hpp"

namespace gla_bench {
namespace {

// A loop with fewer steps than this is not worth starting threads for.
constexpr std::int64_t serial_limit = 8192;

constexpr double ln2 = 0.69314718055994530942;
constexpr double half_pi = 1.57079632679489661923;

// A bijection of 64-bit words in which every input bit affects every output bit (the mixer of
// SplitMix64).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The natural logarithm of a positive normal number: ln m = 2 atanh((m-1)/(m+1)) with m in [0.7,
// 1.42). The relative error is below 1e-13, which is far below what rounding to float32 keeps.
double portable_log(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  // Moves the split between exponent and mantissa to sqrt(1/2) without a branch.
  const std::uint64_t shifted = bits - 0x3fe6a09e667f3bcdull;
  const auto exponent = static_cast<std::int64_t>(shifted) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(exponent) << 52));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double sum = 1.0 / 19.0;
  for (int n = 17; n >= 1; n -= 2) sum = sum * z + 1.0 / n;
  return static_cast<double>(exponent) * ln2 + 2.0 * s * sum;
}

// e^x for |x| < 700, as a series after powers of two are split off.
double portable_exp(double x) {
  constexpr double magic = 0x1.8p52;  // adding it rounds to a whole number
  const double k = (x * (1.0 / ln2) + magic) - magic;
  const double r = x - k * ln2;
  double sum = 1.0;
  for (int n = 14; n >= 1; --n) sum = 1.0 + sum * r * (1.0 / n);
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023);
  return sum * std::bit_cast<double>(exponent << 52);
}

// cos and sin of 2 pi u for u in [0, 1): a series on an eighth of the circle, then a quarter turn.
std::pair<double, double> portable_cos_sin(double u) {
  constexpr double magic = 0x1.8p52;
  const double turns = 4.0 * u;
  const double quarter = (turns + magic) - magic;
  const double x = (turns - quarter) * half_pi;
  const double z = x * x;
  double c = 1.0, s = 1.0;
  for (int n = 8; n >= 1; --n) {
    c = 1.0 - c * z * (1.0 / ((2 * n - 1) * (2 * n)));
    s = 1.0 - s * z * (1.0 / ((2 * n) * (2 * n + 1)));
  }
  s *= x;
  switch (static_cast<int>(quarter) & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

// Two independent normal numbers from one word (Box and Muller): 32 bits for the radius and 32 for
// the angle.
std::pair<double, double> normal_pair(Stream stream, std::uint64_t pair) {
  const std::uint64_t word = random_word(stream, pair);
  const double u = (static_cast<double>(word >> 32) + 0.5) * 0x1p-32;
  const double angle = static_cast<double>(word & 0xffffffffu) * 0x1p-32;
  const double radius = std::sqrt(-2.0 * portable_log(u));
  const auto [c, s] = portable_cos_sin(angle);
  return {radius * c, radius * s};
}

double log_sigmoid(double x) {
  return std::min(x, 0.0) - portable_log(1.0 + portable_exp(-std::abs(x)));
}

// Maps a normal number to a gate of the regime, before tokens or channels get special values.
using GateOfNormal = double (*)(double);
GateOfNormal elementwise_gate(std::string_view regime) {
  if (regime == "none") return [](double) { return 0.0; };
  if (regime == "typical" || regime == "per_channel") return log_sigmoid;
  if (regime == "rwkv") return [](double normal) { return -portable_exp(-3.0 + 1.5 * normal); };
  if (regime == "strong") return [](double normal) { return log_sigmoid(normal) / 0.1; };
  return [](double normal) { return log_sigmoid(normal) / 16.0; };  // mild, spikes, resets
}

// Fills values[i] = map(normal number of element i), each rounded to the dtype.
template <class Map>
std::vector<float> fill(Stream stream, std::int64_t count, DType dtype, Map map) {
  std::vector<float> values(static_cast<std::size_t>(count));
  const std::int64_t pairs = (count + 1) / 2;
#pragma omp parallel for schedule(static) if (pairs > serial_limit)
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const auto [first, second] = normal_pair(stream, static_cast<std::uint64_t>(pair));
    const std::int64_t i = 2 * pair;
    values[i] = round_to(dtype, map(first));
    if (i + 1 < count) values[i + 1] = round_to(dtype, map(second));
  }
  return values;
}

// Sets all channels of a token's head to `value`, for tokens chosen with the given probability.
void strike_tokens(std::vector<float>& gates, Stream stream, std::int64_t channels,
                   double probability, float value) {
  const std::int64_t rows = static_cast<std::int64_t>(gates.size()) / channels;
#pragma omp parallel for schedule(static) if (rows > serial_limit)
  for (std::int64_t row = 0; row < rows; ++row)
    if (random_uniform(stream, static_cast<std::uint64_t>(row)) < probability)
      std::fill_n(gates.begin() + row * channels, channels, value);
}

// Which heads are of the second kind where two kinds take turns: 0 for the even ones, or 1.
std::int64_t second_kind(std::uint64_t seed, std::string_view name) {
  const Stream words = stream(seed, std::string(name) + ".heads");
  return static_cast<std::int64_t>(random_word(words, 0) % 2);
}

// Every second head: nothing decays but for rare resets, which strike the last token of a chunk.
// What such a reset leaves of a large state is then all that the next chunk's error is made of. It
// fades where resets are frequent or gates decay, and large outputs before it hide it.
void reset_rarely(std::vector<float>& gates, std::int64_t tokens, std::int64_t heads,
                  std::int64_t channels, std::int64_t first_head) {
  constexpr std::int64_t first_reset = 63, period = 256;
  for (std::int64_t token = 0; token < tokens; ++token)
    for (std::int64_t head = first_head; head < heads; head += 2)
      std::fill_n(gates.begin() + (token * heads + head) * channels, channels,
                  token % period == first_reset ? -std::numeric_limits<float>::infinity() : 0.0f);
}

// elu(x) + 1
double positive(double x) {
  return x > 0 ? x + 1.0 : portable_exp(x);
}

// ln(1 - 2^(-5-h)). Where 1 - x is close to 1, its logarithm is -x to the precision of float32.
double retnet_decay(std::int64_t head) {
  if (head > 1000) return 0.0;
  const double lost = std::ldexp(1.0, -5 - static_cast<int>(head));
  return head > 22 ? -lost : portable_log(1.0 - lost);
}

// The sequences' shares of the tokens; zero for an empty sequence.
std::vector<double> skewed_weights(Stream stream, std::int64_t sequences) {
  std::vector<double> weights;
  double total = 0;
  for (std::int64_t i = 0; i < sequences; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const bool empty = random_word(stream, 3 * index) % 4 == 0;
    // Normal number n comes from word n / 2, here 3i + 1. `empty` uses none of these words.
    weights.push_back(empty ? 0.0 : portable_exp(2.0 * random_normal(stream, 6 * index + 2)));
    total += weights.back();
  }
  if (total == 0) weights.front() = 1;
  if (sequences > 1 && std::find(weights.begin(), weights.end(), 0.0) == weights.end())
    *std::min_element(weights.begin(), weights.end()) = 0;
  return weights;
}

void fix_channels(std::vector<float>& gates, Stream stream, std::int64_t per_token) {
  const std::int64_t rows = static_cast<std::int64_t>(gates.size()) / per_token;
  for (std::int64_t channel = 0; channel < per_token; ++channel) {
    const double u = random_uniform(stream, static_cast<std::uint64_t>(channel));
    if (u >= 0.5) continue;
    const float value = u < 0.25 ? 0.0f : -40.0f;
    for (std::int64_t row = 0; row < rows; ++row) gates[row * per_token + channel] = value;
  }
}

}  // namespace

Stream stream(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = mix(seed + 0x9e3779b97f4a7c15ull);
  for (const char c : name) hash = mix(hash ^ (static_cast<unsigned char>(c) + 0x100ull));
  return {hash};
}

std::uint64_t random_word(Stream stream, std::uint64_t index) {
  return mix(mix(stream.key + (index + 1) * 0x9e3779b97f4a7c15ull) ^ stream.key);
}

double random_uniform(Stream stream, std::uint64_t index) {
  return (static_cast<double>(random_word(stream, index) >> 12) + 0.5) * 0x1p-52;
}

double random_normal(Stream stream, std::uint64_t index) {
  const auto [first, second] = normal_pair(stream, index / 2);
  return index % 2 == 0 ? first : second;
}

std::vector<float> draw_normal(Stream stream, std::int64_t count, DType dtype) {
  return fill(stream, count, dtype, [](double normal) { return normal; });
}

std::vector<float> draw_positive(Stream stream, std::int64_t count, DType dtype) {
  return fill(stream, count, dtype, positive);
}

const std::vector<std::string>& gate_regimes() {
  static const std::vector<std::string> names{"none",   "mild",   "typical", "rwkv",
                                              "strong", "spikes", "resets",  "per_channel"};
  return names;
}

double tokens_until_decayed(std::string_view regime) {
  if (regime == "mild") return 800;
  if (regime == "typical") return 50;
  if (regime == "rwkv") return 260;
  if (regime == "strong") return 5;
  if (regime == "spikes") return 13;
  if (regime == "resets") return 128;
  return std::numeric_limits<double>::infinity();
}

std::vector<float> draw_gates(std::string_view regime, std::uint64_t seed, std::string_view name,
                              std::int64_t tokens, std::int64_t heads, std::int64_t channels,
                              DType dtype) {
  const auto& known = gate_regimes();
  if (std::find(known.begin(), known.end(), regime) == known.end())
    throw InputError("unknown gate regime '" + std::string(regime) + "'");
  const std::string tensor(name);
  std::vector<float> gates =
      fill(stream(seed, tensor), tokens * heads * channels, dtype, elementwise_gate(regime));
  if (regime == "spikes")
    strike_tokens(gates, stream(seed, tensor + ".tokens"), channels, 0.10, -30.0f);
  if (regime == "resets") {
    strike_tokens(gates, stream(seed, tensor + ".tokens"), channels, 0.05,
                  -std::numeric_limits<float>::infinity());
    reset_rarely(gates, tokens, heads, channels, second_kind(seed, tensor));
  }
  if (regime == "per_channel")
    fix_channels(gates, stream(seed, tensor + ".channels"), heads * channels);
  return gates;
}

bool raw_gates_have(std::string_view regime) {
  return regime != "none" && regime != "resets" && regime != "per_channel";
}

std::vector<float> draw_raw_gates(std::string_view regime, std::uint64_t seed,
                                  std::string_view name, std::int64_t tokens, std::int64_t heads,
                                  std::int64_t channels, DType dtype) {
  std::vector<float> gates =
      draw_gates(regime, seed, name, tokens, heads, channels, DType::float32);
  const auto count = static_cast<std::int64_t>(gates.size());
#pragma omp parallel for schedule(static) if (count > serial_limit)
  for (std::int64_t i = 0; i < count; ++i)
    gates[i] = round_to(dtype, portable_log(-static_cast<double>(gates[i])));
  return gates;
}

const std::vector<std::string>& head_decay_regimes() {
  static const std::vector<std::string> names{"retnet", "none",   "mild",  "typical",
                                              "rwkv",   "strong", "resets"};
  return names;
}

std::vector<float> draw_head_decays(std::string_view regime, std::uint64_t seed,
                                    std::string_view name, std::int64_t heads) {
  const auto& known = head_decay_regimes();
  if (std::find(known.begin(), known.end(), regime) == known.end())
    throw InputError("unknown regime of constant decays '" + std::string(regime) + "'");
  std::vector<float> decays;
  if (regime == "resets") {
    const std::int64_t first = second_kind(seed, name);
    for (std::int64_t head = 0; head < heads; ++head)
      decays.push_back((head + first) % 2 == 0 ? -std::numeric_limits<float>::infinity() : 0.0f);
    return decays;
  }
  if (regime != "retnet") return draw_gates(regime, seed, name, 1, heads, 1, DType::float32);
  for (std::int64_t head = 0; head < heads; ++head)
    decays.push_back(static_cast<float>(retnet_decay(head)));
  return decays;
}

std::vector<float> draw_boundaries(std::string_view kind, std::uint64_t seed, std::string_view name,
                                   std::int64_t tokens, std::int64_t sequences) {
  if (kind != "uniform" && kind != "skewed")
    throw InputError("unknown kind of lengths '" + std::string(kind) + "'");
  const Stream words = stream(seed, std::string(name) + "." + std::string(kind));
  std::vector<float> ends{0};
  if (kind == "uniform") {
    for (std::int64_t i = 1; i < sequences; ++i) {
      const double u = random_uniform(words, static_cast<std::uint64_t>(i));
      ends.push_back(static_cast<float>(std::floor(u * static_cast<double>(tokens + 1))));
    }
    std::sort(ends.begin(), ends.end());
  } else {
    const std::vector<double> weights = skewed_weights(words, sequences);
    double total = 0, sum = 0;
    for (const double weight : weights) total += weight;
    for (std::int64_t i = 0; i + 1 < sequences; ++i) {
      sum += weights[i];
      const double end = std::floor(static_cast<double>(tokens) * (sum / total) + 0.5);
      ends.push_back(static_cast<float>(std::min(end, static_cast<double>(tokens))));
    }
  }
  ends.push_back(static_cast<float>(tokens));
  return ends;
}

}  // namespace gla_bench
