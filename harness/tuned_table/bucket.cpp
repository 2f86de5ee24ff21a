#include "harness/tuned_table/bucket.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/records/dtype_json.hpp"

namespace gla_bench {
namespace {

constexpr double per_batch_heads = 2, per_round = 2, per_head_dimension = 4, per_layout = 1,
                 per_state = 2, per_raggedness = 8, per_option = 16;

double doublings(std::int64_t here, std::int64_t there) {
  if (here < 1 || there < 1) return 0;  // an extent that the operator lacks
  return std::abs(std::log2(static_cast<double>(here)) - std::log2(static_cast<double>(there)));
}

double raggedness(std::int64_t here, std::int64_t there) {
  return (here > 0) == (there > 0) ? doublings(here, there) : per_raggedness;
}

double differing_options(const std::map<std::string, std::string>& here,
                         const std::map<std::string, std::string>& there) {
  double count = 0;
  for (const auto& [key, value] : here) {
    const auto found = there.find(key);
    count += found == there.end() || found->second != value ? 1 : 0;
  }
  for (const auto& [key, value] : there) count += here.contains(key) ? 0 : 1;
  return count;
}

/// The integer members of a bucket by their names in JSON.
struct Extent {
  const char* name;
  std::int64_t Bucket::*member;
};
constexpr std::array extents{Extent{"seq", &Bucket::seq},
                             Extent{"batch_heads", &Bucket::batch_heads},
                             Extent{"key_seq", &Bucket::key_seq},
                             Extent{"key_dim", &Bucket::key_dim},
                             Extent{"value_dim", &Bucket::value_dim},
                             Extent{"group", &Bucket::group},
                             Extent{"model_dim", &Bucket::model_dim},
                             Extent{"columns", &Bucket::columns},
                             Extent{"sequences", &Bucket::sequences}};

}  // namespace

std::int64_t nearest_power_of_two(std::int64_t value) {
  if (value < 1) return 0;
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
  // Exact for what a shape can be; the header has the same expression.
  const bool up = static_cast<double>(value) > 1.4142135623730951 * static_cast<double>(below);
  return up && below <= std::numeric_limits<std::int64_t>::max() / 2 ? 2 * below : below;
}

std::int64_t nearest_quarter(std::int64_t value) {
  if (value < 8) return std::max<std::int64_t>(0, value);
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(value)));
  const std::int64_t step = below / 4, low = value / step * step;
  if (low > std::numeric_limits<std::int64_t>::max() - step) return low;
  const double middle = static_cast<double>(low) * static_cast<double>(low + step);
  return static_cast<double>(value) * static_cast<double>(value) > middle ? low + step : low;
}

Bucket bucket_of(const Problem& problem) {
  const Shape& shape = problem.shape;
  Bucket bucket;
  bucket.op = problem.op;
  bucket.direction = problem.direction;
  bucket.dtype = problem.dtype;
  bucket.layout = problem.layout;
  bucket.initial_state = problem.initial_state;
  bucket.final_state = problem.final_state;
  bucket.options = problem.options;
  // Rows of a softmax have no heads; the members keep their defaults there and say nothing.
  bucket.key_dim = shape.columns > 0 ? 0 : shape.key_dim;
  bucket.value_dim = shape.columns > 0 ? 0 : shape.value_dim;
  bucket.model_dim = shape.model_dim;
  bucket.group =
      std::max<std::int64_t>(1, shape.heads / std::max<std::int64_t>(1, shape.keys_heads()));
  bucket.seq = nearest_power_of_two(shape.seq);
  bucket.batch_heads = nearest_quarter(shape.batch * shape.heads);
  bucket.key_seq = shape.keys_seq() == shape.seq ? 0 : nearest_power_of_two(shape.keys_seq());
  bucket.columns = nearest_power_of_two(shape.columns);
  bucket.sequences = nearest_power_of_two(shape.sequences);
  return bucket;
}

double rounds_apart(double here, double there, double multiprocessors) {
  if (!(here > 0) || !(there > 0) || !(multiprocessors > 0)) return 0;
  double sum = 0;
  for (const double slices : {1.0, 2.0, 4.0}) {
    const double need = slices * here / multiprocessors, other = slices * there / multiprocessors;
    const double rounds = std::log2(std::ceil(need)) - std::log2(std::ceil(other));
    sum += std::min(std::abs(rounds), std::abs(std::log2(need) - std::log2(other) - rounds));
  }
  return sum;
}

std::optional<double> distance(const Problem& problem, const Bucket& bucket,
                               double multiprocessors) {
  const Bucket own = bucket_of(problem);
  if (!own.same_family(bucket)) return std::nullopt;
  const Shape& shape = problem.shape;
  const std::int64_t keys = bucket.key_seq > 0 ? bucket.key_seq : bucket.seq;
  double sum = doublings(shape.seq, bucket.seq) +
               per_batch_heads * doublings(shape.batch * shape.heads, bucket.batch_heads) +
               doublings(shape.columns, bucket.columns) +
               doublings(own.model_dim, bucket.model_dim) + doublings(own.group, bucket.group);
  sum += per_round * rounds_apart(static_cast<double>(shape.batch * shape.heads),
                                  static_cast<double>(bucket.batch_heads), multiprocessors);
  // As many keys as queries on both sides: one extent, counted once.
  if (own.key_seq > 0 || bucket.key_seq > 0) sum += doublings(shape.keys_seq(), keys);
  sum += per_head_dimension *
         (doublings(own.key_dim, bucket.key_dim) + doublings(own.value_dim, bucket.value_dim));
  sum += own.layout != bucket.layout ? per_layout : 0;
  sum += own.initial_state != bucket.initial_state ? per_state : 0;
  sum += own.final_state != bucket.final_state ? per_state : 0;
  sum += raggedness(shape.sequences, bucket.sequences);
  return sum + per_option * differing_options(own.options, bucket.options);
}

std::string describe(const Bucket& bucket) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  const auto number = [&](const char* label, std::int64_t value) {
    if (value > 0) add(label + std::to_string(value));
  };
  if (bucket.columns > 0) {
    number("rows~", bucket.batch_heads);
    number("columns~", bucket.columns);
  } else {
    number("T~", bucket.seq);
    number("BH~", bucket.batch_heads);
    number("keys~", bucket.key_seq);
    number("N~", bucket.sequences);
    number("K=", bucket.key_dim);
    number("V=", bucket.value_dim);
    if (bucket.group > 1) number("group=", bucket.group);
    number("d=", bucket.model_dim);
  }
  if (bucket.initial_state) add("h0");
  if (!bucket.final_state) add("no_ht");
  if (bucket.layout != Layout::seq_first) add(std::string(name(bucket.layout)));
  for (const auto& [option, value] : bucket.options) add(option + "=" + value);
  return text;
}

std::string family_of(const Bucket& bucket) {
  return bucket.op + " " + std::string(name(bucket.direction)) + " " +
         std::string(name(bucket.dtype));
}

Json bucket_to_json(const Bucket& bucket) {
  Json json;
  json["operator"] = bucket.op;
  json["direction"] = name(bucket.direction);
  json["dtype"] = name(bucket.dtype);
  json["layout"] = name(bucket.layout);
  for (const Extent& extent : extents)
    if (bucket.*extent.member > 0) json[extent.name] = bucket.*extent.member;
  json["initial_state"] = bucket.initial_state;
  json["final_state"] = bucket.final_state;
  if (!bucket.options.empty()) json["options"] = bucket.options;
  return json;
}

Bucket read_bucket(const JsonNode& node) {
  std::vector<std::string> keys{"operator",      "direction",   "dtype",  "layout",
                                "initial_state", "final_state", "options"};
  for (const Extent& extent : extents) keys.push_back(extent.name);
  node.expect_keys(keys);
  Bucket bucket;
  bucket.op = node.at("operator").text();
  bucket.direction =
      *parse_direction(node.at("direction").one_of({"forward", "backward"}, "a direction"));
  bucket.dtype = read_dtype(node.at("dtype"));
  bucket.layout = *parse_layout(node.at("layout").one_of({"seq_first", "head_first"}, "a layout"));
  for (const Extent& extent : extents) {
    const auto found = node.find(extent.name);
    bucket.*extent.member = found ? found->integer(1, std::numeric_limits<std::int64_t>::max()) : 0;
  }
  bucket.initial_state = node.at("initial_state").boolean();
  bucket.final_state = node.at("final_state").boolean();
  if (const auto options = node.find("options"))
    for (const auto& [option, value] : options->members()) bucket.options[option] = value.text();
  return bucket;
}

}  // namespace gla_bench
