#include "harness/tuned_table/bucket.hpp"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

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

/// The problem in the form that nearest.h takes; `options` must outlive it.
gla_bench_tuned::Problem as_question(const Problem& problem, std::string_view options) {
  const Shape& shape = problem.shape;
  gla_bench_tuned::Problem question;
  question.direction = name(problem.direction);
  question.dtype = name(problem.dtype);
  question.layout = name(problem.layout);
  question.batch = shape.batch;
  question.seq = shape.seq;
  question.heads = shape.heads;
  question.key_dim = shape.key_dim;
  question.value_dim = shape.value_dim;
  question.key_seq = shape.key_seq;
  question.key_heads = shape.key_heads;
  question.model_dim = shape.model_dim;
  question.columns = shape.columns;
  question.sequences = shape.sequences;
  question.initial_state = problem.initial_state;
  question.final_state = problem.final_state;
  question.options = options;
  return question;
}

/// The bucket to which a distance is computed, in the form that nearest.h takes; `options` must
/// outlive it.
gla_bench_tuned::Entry as_entry(const Bucket& bucket, std::string_view options,
                                double multiprocessors) {
  gla_bench_tuned::Entry entry{};
  entry.layout = name(bucket.layout);
  entry.options = options;
  entry.initial_state = bucket.initial_state;
  entry.final_state = bucket.final_state;
  entry.key_dim = bucket.key_dim;
  entry.value_dim = bucket.value_dim;
  entry.model_dim = bucket.model_dim;
  entry.group = bucket.group;
  entry.seq = bucket.seq;
  entry.batch_heads = bucket.batch_heads;
  entry.key_seq = bucket.key_seq;
  entry.columns = bucket.columns;
  entry.sequences = bucket.sequences;
  entry.multiprocessors = multiprocessors;
  return entry;
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

Bucket bucket_of(const Problem& problem) {
  const auto extents = gla_bench_tuned::detail::extents_of(as_question(problem, ""));
  Bucket bucket;
  bucket.op = problem.op;
  bucket.direction = problem.direction;
  bucket.dtype = problem.dtype;
  bucket.layout = problem.layout;
  bucket.initial_state = problem.initial_state;
  bucket.final_state = problem.final_state;
  bucket.options = problem.options;
  bucket.key_dim = extents.key_dim;
  bucket.value_dim = extents.value_dim;
  bucket.model_dim = problem.shape.model_dim;
  bucket.group = extents.group;
  bucket.seq = extents.seq;
  bucket.batch_heads = extents.batch_heads;
  bucket.key_seq = extents.key_seq;
  bucket.columns = extents.columns;
  bucket.sequences = extents.sequences;
  return bucket;
}

std::optional<double> distance(const Problem& problem, const Bucket& bucket,
                               double multiprocessors) {
  if (problem.op != bucket.op || problem.direction != bucket.direction ||
      problem.dtype != bucket.dtype)
    return std::nullopt;
  const std::string here = text_of(problem.options), there = text_of(bucket.options);
  const gla_bench_tuned::Problem question = as_question(problem, here);
  return gla_bench_tuned::detail::distance(question, gla_bench_tuned::detail::extents_of(question),
                                           as_entry(bucket, there, multiprocessors));
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
