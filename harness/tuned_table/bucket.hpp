#pragma once
// Which problems share a tuned choice. Pure functions of the problem: the same on every machine,
// and, by nearest.h, the same in an exported header (header.hpp).

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "core/problem.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// What an entry of a table is for. Operator, direction and dtype are the family that a search for
/// the nearest entry never leaves. Not in it, since no launch depends on them: gate regime, seed,
/// scale, tensor file.
struct Bucket {
  std::string op;
  Direction direction = Direction::forward;
  DType dtype = DType::float32;
  // As they are.
  Layout layout = Layout::seq_first;
  bool initial_state = false, final_state = true;
  std::map<std::string, std::string> options;  ///< those off their defaults
  std::int64_t key_dim = 0, value_dim = 0, model_dim = 0;
  std::int64_t group = 1;  ///< heads of queries that share one of keys
  /// Batch times heads, as nearest_quarter() of it: how many blocks there are, and by that how
  /// often the device's multiprocessors are filled, which goes in steps.
  std::int64_t batch_heads = 1;
  // As the power of two that is nearest in ratio; 0 stays 0.
  std::int64_t seq = 1;
  std::int64_t key_seq = 0;  ///< 0 where it is as many as seq
  std::int64_t columns = 0, sequences = 0;
  auto operator<=>(const Bucket&) const = default;
};

/// The power of two nearest to a number in ratio: 4096 for 2897 to 5792; 0 for what is below 1.
std::int64_t nearest_power_of_two(std::int64_t value);

/// The nearest in ratio among the powers of two and the three numbers that part each octave evenly:
/// 64, 80, 96, 112, 128, 160; below 8 each number itself; 0 for what is below 1.
std::int64_t nearest_quarter(std::int64_t value);

Bucket bucket_of(const Problem& problem);

/// How far a problem is from the middle of a bucket, or nothing where it is of another family.
/// Doublings (halvings) of seq, key_seq, columns, model_dim, sequences and group count 1 each, with
/// fractions; of batch * heads 2; of key_dim and value_dim, to which tiles are cut, 4. Another
/// layout counts 1, another initial or final state 2, ragged sequences against none 8, another
/// option 16; rounds_apart() twice where `multiprocessors` are known.
std::optional<double> distance(const Problem& problem, const Bucket& bucket,
                               double multiprocessors = 0);

/// How differently two numbers of blocks fill a device (nearest.h).
double rounds_apart(double here, double there, double multiprocessors);

/// The options as exported headers have them: "causal=false,lse=true".
std::string options_text(const Bucket& bucket);

/// The bucket without its family, for people and records: "T~4096 BH~128 K=128 V=128 h0".
std::string describe(const Bucket& bucket);

/// "gla forward bfloat16"
std::string family_of(const Bucket& bucket);

/// Both ways; members that are 0, false or empty by nature are left out.
Json bucket_to_json(const Bucket& bucket);
/// @throws InputError
Bucket read_bucket(const JsonNode& node);

}  // namespace gla_bench
