#include "harness/tuned_table/bucket.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "harness/records/dtype_json.hpp"
#include "harness/tuned_table/nearest.h"

namespace gla_bench {
namespace {

std::string text_of(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [option, value] : options)
    text += (text.empty() ? "" : ",") + option + "=" + value;
  return text;
}

/// A problem in the form that nearest.h takes; `options` must outlive it.
struct Question : Shape {
  Layout layout;
  bool initial_state, final_state;
  std::string_view options;
};

Question question_of(const Problem& problem, std::string_view options) {
  return gla_bench_tuned::detail::plain(
      Question{problem.shape, problem.layout, problem.initial_state, problem.final_state, options});
}

/// The middle of a bucket in the form that nearest.h takes; `options` must outlive it.
struct Middle : Shape {
  Layout layout = Layout::seq_first;
  bool initial_state = false, final_state = true;
  std::string_view options = {};
  std::int64_t group = 1, batch_heads = 1;
  double multiprocessors = 0;
};

using KeptExtent = gla_bench_tuned::detail::Extent<Question, Middle>;

/// The extents that buckets keep, in the order of the table.
const std::vector<KeptExtent>& kept_extents() {
  static const std::vector<KeptExtent> list = [] {
    std::vector<KeptExtent> kept;
    for (const ExtentAxis& axis : extent_axes)
      if (const auto keeping = keeping_of(axis.role))
        kept.push_back({axis.extent, axis.extent, keeping->rounded, keeping->per_doubling});
    return kept;
  }();
  return list;
}

/// Calls take(name, member) for each number of a bucket, in the order in which tables have
/// them: the product of batch and heads in the place of heads, and the group in that of key_heads.
template <class BucketOrConst, class Take>
void for_each_number(BucketOrConst& bucket, const Take& take) {
  for (const ExtentAxis& axis : extent_axes) {
    if (axis.extent == &Shape::heads) take("batch_heads", bucket.batch_heads);
    if (axis.extent == &Shape::key_heads) take("group", bucket.group);
    if (keeping_of(axis.role)) take(axis.name, bucket.shape.*axis.extent);
  }
}

/// The extents that a bucket keeps as they are, or those that it rounds; 0 for the others.
Shape extents_of(const Bucket& bucket, bool rounded) {
  Shape shape = Bucket::no_extents;
  for (const ExtentAxis& axis : extent_axes)
    if (const auto keeping = keeping_of(axis.role); keeping && keeping->rounded == rounded)
      shape.*axis.extent = bucket.shape.*axis.extent;
  return shape;
}

}  // namespace

std::int64_t nearest_power_of_two(std::int64_t value) {
  return gla_bench_tuned::detail::nearest_power_of_two(value);
}

std::int64_t nearest_quarter(std::int64_t value) {
  return gla_bench_tuned::detail::nearest_quarter(value);
}

double rounds_apart(double here, double there, double multiprocessors) {
  return gla_bench_tuned::detail::rounds_apart(here, there, multiprocessors);
}

std::string options_text(const Bucket& bucket) {
  return text_of(bucket.options);
}

std::optional<Keeping> keeping_of(ExtentRole role) {
  switch (role) {
    case ExtentRole::amount:
      return Keeping{true, 1};
    case ExtentRole::dimension:
      return Keeping{false, 1};
    case ExtentRole::head_dimension:
      return Keeping{false, 4};
    case ExtentRole::blocks:
      break;
  }
  return std::nullopt;
}

std::strong_ordering operator<=>(const Bucket& a, const Bucket& b) {
  const auto key = [](const Bucket& bucket) {
    return std::tuple_cat(std::tie(bucket.op, bucket.direction, bucket.dtype, bucket.layout,
                                   bucket.initial_state, bucket.final_state, bucket.options),
                          std::tuple(extents_of(bucket, false), bucket.group, bucket.batch_heads,
                                     extents_of(bucket, true)));
  };
  return key(a) <=> key(b);
}

Bucket bucket_of(const Problem& problem) {
  const Question question = question_of(problem, "");
  Bucket bucket;
  bucket.op = problem.op;
  bucket.direction = problem.direction;
  bucket.dtype = problem.dtype;
  bucket.layout = problem.layout;
  bucket.initial_state = problem.initial_state;
  bucket.final_state = problem.final_state;
  bucket.options = problem.options;
  Middle own{Bucket::no_extents};
  for (const KeptExtent& extent : kept_extents())
    own.*extent.kept = gla_bench_tuned::detail::kept_of(question, extent);
  bucket.shape = own;
  bucket.group = gla_bench_tuned::detail::group_of(question);
  bucket.batch_heads = nearest_quarter(question.batch * question.heads);
  return bucket;
}

std::optional<double> distance(const Problem& problem, const Bucket& bucket,
                               double multiprocessors) {
  if (problem.op != bucket.op || problem.direction != bucket.direction ||
      problem.dtype != bucket.dtype)
    return std::nullopt;
  const std::string here = text_of(problem.options), there = text_of(bucket.options);
  const Middle middle{bucket.shape, bucket.layout, bucket.initial_state, bucket.final_state,
                      there,        bucket.group,  bucket.batch_heads,   multiprocessors};
  return gla_bench_tuned::detail::distance(question_of(problem, here), middle, kept_extents());
}

std::string describe(const Bucket& bucket) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  const auto put = [&](std::string_view symbol, char relation, std::int64_t value) {
    if (value > 0) add(std::string(symbol) + relation + std::to_string(value));
  };
  for (const bool rounded : {true, false})
    for (const ExtentAxis& axis : extent_axes) {
      if (axis.extent == &Shape::heads && rounded) put("BH", '~', bucket.batch_heads);
      if (axis.extent == &Shape::key_heads && !rounded && bucket.group > 1)
        put("group", '=', bucket.group);
      const auto keeping = keeping_of(axis.role);
      if (keeping && keeping->rounded == rounded && is_stated(axis, bucket.shape))
        put(axis.symbol, rounded ? '~' : '=', bucket.shape.*axis.extent);
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
  for_each_number(bucket, [&](std::string_view name, std::int64_t value) {
    if (value > 0) json[std::string(name)] = value;
  });
  json["initial_state"] = bucket.initial_state;
  json["final_state"] = bucket.final_state;
  if (!bucket.options.empty()) json["options"] = bucket.options;
  return json;
}

Bucket read_bucket(const JsonNode& node) {
  Bucket bucket;
  std::vector<std::string> keys{"operator",      "direction",   "dtype",  "layout",
                                "initial_state", "final_state", "options"};
  for_each_number(bucket, [&](std::string_view name, std::int64_t) { keys.emplace_back(name); });
  node.expect_keys(keys);
  bucket.op = node.at("operator").text();
  bucket.direction =
      *parse_direction(node.at("direction").one_of(names_of_directions(), "a direction"));
  bucket.dtype = read_dtype(node.at("dtype"));
  bucket.layout = *parse_layout(node.at("layout").one_of({"seq_first", "head_first"}, "a layout"));
  for_each_number(bucket, [&](std::string_view name, std::int64_t& value) {
    const auto found = node.find(name);
    value = found ? found->integer(1, std::numeric_limits<std::int64_t>::max()) : 0;
  });
  bucket.initial_state = node.at("initial_state").boolean();
  bucket.final_state = node.at("final_state").boolean();
  if (const auto options = node.find("options"))
    for (const auto& [option, value] : options->members()) bucket.options[option] = value.text();
  return bucket;
}

}  // namespace gla_bench
