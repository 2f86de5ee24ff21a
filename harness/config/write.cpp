// A config as JSON, with every default written out: what results files echo and --resume compares.

#include <nlohmann/json.hpp>

#include "harness/config/config.hpp"
#include "harness/records/shape_json.hpp"

namespace gla_bench {
namespace {

template <class Enum>
Json names_to_json(const std::vector<Enum>& values) {
  Json list = Json::array();
  for (const Enum value : values) list.push_back(name(value));
  return list;
}

Json random_to_json(const RandomDraw& random, const DrawnProblems& drawn) {
  Json json = Json::object();
  if (random.cover != Cover::none) json["cover"] = name(random.cover);
  if (random.problems > 0) json["problems"] = random.problems;
  if (random.kernels > 0) json["kernels"] = random.kernels;
  json["least_tokens"] = random.least_tokens;
  json["most_tokens"] = random.most_tokens;
  if (!random.key_dims.empty()) json["key_dim"] = random.key_dims;
  if (!random.value_dims.empty()) json["value_dim"] = random.value_dims;
  json["digest"] = drawn.digest();
  return json;
}

Json sweep_to_json(const Sweep& sweep) {
  Json json;
  json["operator"] = sweep.op;
  json["direction"] = name(sweep.direction);
  json["variants"] = sweep.variants;
  json["refusals_allowed"] = sweep.refusals_allowed;
  json["layouts"] = names_to_json(sweep.layouts);
  if (sweep.tensors) {
    json["tensors"]["file"] = sweep.tensors->file;
    for (const auto& [input, stored] : sweep.tensors->names) json["tensors"][input] = stored;
  } else {
    json["dtypes"] = names_to_json(sweep.dtypes);
    json["gates"] = sweep.gates;
    if (sweep.random) {
      json["random"] = random_to_json(*sweep.random, sweep.drawn);
    } else {
      json["shapes"] = Json::array();
      for (const Shape& shape : sweep.shapes) json["shapes"].push_back(shape_to_json(shape));
    }
    json["initial_state"] = sweep.initial_state;
    json["seed"] = sweep.seed;
  }
  json["final_state"] = sweep.final_state;
  const auto scale = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  json["scale"] = scale(sweep.scales.front());
  if (sweep.scales.size() > 1) {
    json["scale"] = Json::array();
    for (const auto& value : sweep.scales) json["scale"].push_back(scale(value));
  }
  if (!sweep.options.empty()) json["options"] = sweep.options;
  json["tiles"] = Json::object();
  for (const auto& [variant, narrowing] : sweep.tiles) {
    Json& tiles = json["tiles"][variant] = Json::object();
    for (const auto& [axis, values] : narrowing.axes) tiles[axis] = values;
    for (const Condition& condition : narrowing.where) tiles["where"].push_back(condition.text());
  }
  for (const Arithmetic one : sweep.arithmetic) json["arithmetic"].push_back(name(one));
  json["max_tiles"] = sweep.max_tiles;
  if (sweep.rare_tiles) json["rare_tiles"] = true;
  return json;
}

}  // namespace

Json config_to_json(const Config& config) {
  Json json;
  json["description"] = config.description;
  json["backend"] = config.backend ? Json(name(*config.backend)) : Json("auto");
  if (!config.candidates.empty()) json["candidates"] = config.candidates;
  json["sweeps"] = Json::array();
  for (const Sweep& sweep : config.sweeps) json["sweeps"].push_back(sweep_to_json(sweep));
  json["policy"] = policy_to_json(config.policy);
  if (!config.tuned.empty()) json["tuned"] = config.tuned;
  return json;
}

}  // namespace gla_bench
