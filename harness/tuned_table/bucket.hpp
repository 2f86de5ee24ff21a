#pragma once
// Decides which problems share a tuned choice. These are pure functions of the problem, so they
// give the same on every machine. They use nearest.h, so exported headers (header.hpp) decide the
// same.

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "core/extents.hpp"
#include "core/problem.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// The class of problems that a table entry is for. Operator, direction and dtype form the family;
/// a search for the nearest entry never leaves it. Gate regime, seed, scale and tensor file are
/// left out, since no launch depends on them.
struct Bucket {
  std::string op;
  Direction direction = Direction::forward;
  DType dtype = DType::float32;
  Layout layout = Layout::seq_first;
  bool initial_state = false, final_state = true;
  std::map<std::string, std::string> options;  ///< only options that differ from their defaults
  /// The extents that the bucket keeps, each as keeping_of() its role says, and 0 for the others.
  /// key_seq is 0 where it equals seq.
  Shape shape = no_extents;
  std::int64_t group = 1;  ///< query heads that share one key head
  /// Batch times heads, rounded by nearest_quarter(). It gives the number of blocks and so how many
  /// rounds the device's multiprocessors need, which grows in steps.
  std::int64_t batch_heads = 1;

  static constexpr Shape no_extents{0, 0, 0, 0, 0};
  bool operator==(const Bucket&) const = default;
};

/// The order of a table's entries: by family, layout, states and options, then by the dimensions,
/// the blocks and the amounts.
std::strong_ordering operator<=>(const Bucket& a, const Bucket& b);

/// How a bucket keeps an extent.
struct Keeping {
  bool rounded;         ///< to the power of two nearest in ratio; else it is kept as it is
  double per_doubling;  ///< what a doubling counts in distance()
};

/// Nothing for blocks: a bucket has their product and the group.
std::optional<Keeping> keeping_of(ExtentRole role);

/// The power of two nearest to a number in ratio: 4096 for 2897 to 5792. Numbers below 1 give 0.
std::int64_t nearest_power_of_two(std::int64_t value);

/// The nearest in ratio among the powers of two and the three numbers that split each octave
/// evenly: 64, 80, 96, 112, 128, 160. Below 8 each whole number stands for itself. Numbers below 1
/// give 0.
std::int64_t nearest_quarter(std::int64_t value);

Bucket bucket_of(const Problem& problem);

/// The distance of a problem from the middle of a bucket, or nothing where the bucket is of another
/// family. A doubling or halving of an extent or of group counts 1, with fractions. A doubling of
/// batch * heads counts 2. A doubling of a head dimension, which determines the tiles, counts 4.
/// Another layout counts 1, another initial or final state 2, an extent that only one of the two
/// has (such as ragged sequences) 8 and another option 16. rounds_apart() is added twice where
/// `multiprocessors` are known.
std::optional<double> distance(const Problem& problem, const Bucket& bucket,
                               double multiprocessors = 0);

/// How differently two numbers of blocks fill a device (nearest.h).
double rounds_apart(double here, double there, double multiprocessors);

/// The options in the form of exported headers: "causal=false,lse=true".
std::string options_text(const Bucket& bucket);

/// The bucket without its family, for people and records: "T~4096 BH~128 K=128 V=128 h0".
std::string describe(const Bucket& bucket);

/// "gla forward bfloat16"
std::string family_of(const Bucket& bucket);

/// Conversion to and from JSON. Members that are 0, false or empty by default are left out.
Json bucket_to_json(const Bucket& bucket);
/// @throws InputError
Bucket read_bucket(const JsonNode& node);

}  // namespace gla_bench
