#include "harness/cost_model/model_file.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/record_json.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/output_file.hpp"
#include "harness/support/system/own_files.hpp"

namespace gla_bench::cost_model {
namespace {

constexpr int digits = 7;       // of a coefficient: more than the times that it comes from have
constexpr int leaf_digits = 5;  // of one of hundreds that are added up
constexpr std::size_t most_splits = 12;

Json numbers_to_json(const std::vector<double>& list, int kept = digits) {
  Json json = Json::array();
  for (const double value : list) json.push_back(number_to_json(round_to(value, kept)));
  return json;
}

std::vector<double> read_numbers(const JsonNode& node, std::size_t count) {
  std::vector<double> list;
  for (const JsonNode& item : node.items()) list.push_back(item.number(-1e30, 1e30));
  if (list.size() != count) node.fail(std::to_string(count) + " numbers");
  return list;
}

Json tree_to_json(const Tree& tree) {
  Json features = Json::array(), thresholds = Json::array();
  for (const Split& split : tree.splits) {
    features.push_back(split.feature);
    thresholds.push_back(number_to_json(round_to(split.threshold, digits)));
  }
  return {{"features", std::move(features)},
          {"thresholds", std::move(thresholds)},
          {"leaves", numbers_to_json(tree.leaves, leaf_digits)}};
}

Tree read_tree(const JsonNode& node, std::size_t features) {
  node.expect_keys({"features", "thresholds", "leaves"});
  Tree tree;
  const JsonNode asked = node.at("features");
  for (const JsonNode& item : asked.items())
    tree.splits.push_back(
        {static_cast<std::size_t>(item.integer(0, static_cast<std::int64_t>(features) - 1)), 0});
  if (tree.splits.size() > most_splits)
    asked.fail("at most " + std::to_string(most_splits) + " questions of a tree");
  const auto thresholds = read_numbers(node.at("thresholds"), tree.splits.size());
  for (std::size_t i = 0; i < thresholds.size(); ++i) tree.splits[i].threshold = thresholds[i];
  tree.leaves = read_numbers(node.at("leaves"), std::size_t{1} << tree.splits.size());
  return tree;
}

Json tiles_to_json(const std::set<Tile>& tiles) {
  Json list = Json::array();
  for (const Tile& tile : tiles) list.push_back(describe(tile));
  return list;
}

std::set<Tile> read_tiles(const JsonNode& node) {
  std::set<Tile> tiles;
  for (const JsonNode& item : node.items()) {
    try {
      tiles.insert(parse_tile(item.text()));
    } catch (const InputError&) {
      item.fail("a tile such as \"block_v=32,chunk=64\"");
    }
  }
  return tiles;
}

Json regression_to_json(const NamedRegression& one) {
  Json trees = Json::array();
  for (const Tree& tree : one.regression().trees) trees.push_back(tree_to_json(tree));
  return {{"features", one.features()},
          {"constant", one.regression().constant},
          {"weights", numbers_to_json(one.regression().weights)},
          {"low", numbers_to_json(one.regression().low)},
          {"high", numbers_to_json(one.regression().high)},
          {"trees", std::move(trees)}};
}

NamedRegression read_regression(const JsonNode& node, std::size_t least_features) {
  node.expect_keys({"features", "constant", "weights", "low", "high", "trees"});
  std::vector<std::string> features;
  for (const JsonNode& item : node.at("features").items(least_features))
    features.push_back(item.text());
  const std::size_t count = features.size();
  Regression regression;
  regression.constant = node.at("constant").number(-1e30, 1e30);
  regression.weights = read_numbers(node.at("weights"), count);
  regression.low = read_numbers(node.at("low"), count);
  regression.high = read_numbers(node.at("high"), count);
  for (std::size_t i = 0; i < count; ++i)
    if (regression.low[i] > regression.high[i])
      node.at("high").items()[i].fail("a number that is not below that of \"low\"");
  for (const JsonNode& item : node.at("trees").items())
    regression.trees.push_back(read_tree(item, count));
  return {std::move(features), std::move(regression)};
}

Json variant_to_json(const VariantModel& one) {
  return {{"variant", one.variant},
          {"direction", name(one.direction)},
          {"rows", one.rows},
          {"problems", one.problems},
          {"error", {{"median", one.error.median}, {"p90", one.error.p90}}},
          {"sigma", one.sigma},
          {"tiles", tiles_to_json(one.tiles)},
          {"factor", regression_to_json(one.factor)}};
}

std::size_t read_count(const JsonNode& node) {
  return static_cast<std::size_t>(node.integer(0, std::numeric_limits<std::int64_t>::max()));
}

VariantModel read_variant(const JsonNode& node) {
  node.expect_keys(
      {"variant", "direction", "rows", "problems", "error", "sigma", "tiles", "factor"});
  VariantModel one;
  one.variant = node.at("variant").text();
  one.direction =
      *parse_direction(node.at("direction").one_of(names_of_directions(), "a direction"));
  one.rows = read_count(node.at("rows"));
  one.problems = read_count(node.at("problems"));
  const JsonNode error = node.at("error");
  error.expect_keys({"median", "p90"});
  one.error = {error.at("median").number(0, 1e30), error.at("p90").number(0, 1e30)};
  one.sigma = node.at("sigma").number(0, 100);
  one.tiles = read_tiles(node.at("tiles"));
  one.factor = read_regression(node.at("factor"), 1);
  return one;
}

}  // namespace

Json model_to_json(const CostModel& model) {
  Json json;
  json["model_version"] = model_version;
  json["device"] = model.device;
  json["backend"] = name(model.backend);
  json["environment"] = facts_to_json(model.environment);
  json["sources"] = model.sources;
  json["regret"] = {{"problems", model.regret.problems},
                    {"median", model.regret.median},
                    {"p90", model.regret.p90},
                    {"worst", model.regret.worst}};
  json["common"] = regression_to_json(model.common);
  json["order"] = regression_to_json(model.order);
  json["variants"] = Json::array();
  for (const VariantModel& one : model.variants) json["variants"].push_back(variant_to_json(one));
  return json;
}

CostModel read_model(const JsonNode& node) {
  node.expect_keys({"model_version", "device", "backend", "environment", "sources", "regret",
                    "common", "order", "variants"});
  if (const JsonNode version = node.at("model_version");
      version.integer(0, 1000000) != model_version)
    version.fail("version " + std::to_string(model_version) + " of the cost model");
  CostModel model;
  model.path = node.file();
  model.device = node.at("device").text();
  model.backend = *parse_backend(node.at("backend").one_of({"host", "cuda"}, "a backend"));
  model.environment = read_facts(node.at("environment"));
  for (const JsonNode& item : node.at("sources").items()) model.sources.push_back(item.text());
  const JsonNode regret = node.at("regret");
  regret.expect_keys({"problems", "median", "p90", "worst"});
  model.regret = {read_count(regret.at("problems")), regret.at("median").number(0, 1e30),
                  regret.at("p90").number(0, 1e30), regret.at("worst").number(0, 1e30)};
  model.common = read_regression(node.at("common"), 0);
  model.order = read_regression(node.at("order"), 0);
  for (const JsonNode& item : node.at("variants").items()) {
    model.variants.push_back(read_variant(item));
    const VariantModel& fresh = model.variants.back();
    if (model.find(fresh.variant, fresh.direction) != &fresh)
      item.at("variant").fail("a variant and direction that are not there twice");
  }
  return model;
}

CostModel load_model(const std::string& path) {
  const Json document = read_json_file(path);
  return read_model(JsonNode(document, path));
}

namespace {

constexpr std::string_view ending = ".model.json";

/// Reads a model up to its member "backend", which stands at its head.
class BackendReader final : public nlohmann::json_sax<Json> {
 public:
  std::optional<BackendId> backend;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t& text) override {
    if (depth_ != 1 || key_ != "backend") return true;
    backend = parse_backend(text);
    return false;
  }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool key(string_t& text) override {
    key_ = text;
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool enter() { return ++depth_ > 0; }
  bool leave() { return --depth_ >= 0; }

  int depth_ = 0;
  std::string key_;
};

}  // namespace

std::optional<BackendId> backend_of_model(const std::string& path) {
  BackendReader reader;
  Json::sax_parse(read_text_file(path), &reader);
  return reader.backend;
}

std::string model_name(const std::string& device) {
  return device_slug(device) + std::string(ending);
}

std::optional<CostModel> find_model(const std::string& device, BackendId backend) {
  if (const auto own = device_file(model_name(device))) return load_model(*own);
  for (const std::string& name : device_files(std::string(ending))) {
    const std::string path = device_file(name).value();
    // Every run looks for a model, and reading one to its end takes longer than a small run.
    if (backend_of_model(path).value_or(backend) == backend) return load_model(path);
  }
  return std::nullopt;
}

void write_model(const CostModel& model, const std::string& path) {
  Json head = model_to_json(model);
  const Json variants = std::move(head["variants"]);
  const Json common = std::move(head["common"]), order = std::move(head["order"]);
  for (const char* key : {"variants", "common", "order"}) head.erase(key);
  // Each regression is on its own line.
  std::string text = head.dump(1);
  text.resize(text.size() - 2);  // the closing "\n}"
  text += ",\n \"common\": " + common.dump() + ",\n \"order\": " + order.dump();
  text += ",\n \"variants\": [";
  for (std::size_t i = 0; i < variants.size(); ++i)
    text += (i == 0 ? "\n  " : ",\n  ") + variants[i].dump();
  text += "\n ]\n}\n";
  write_output(path, text, "what it held is kept");
}

}  // namespace gla_bench::cost_model
