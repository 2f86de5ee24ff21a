// Cost models; what is taken is the same when written and read again, and predicts numbers.

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "fuzz/target.hpp"
#include "harness/cost_model/model_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  cost_model::CostModel model;
  const auto read = [&] {
    const Json document = parse_json(fuzz::text_of(data, size), "input");
    model = cost_model::read_model(JsonNode(document, "input"));
  };
  if (!fuzz::takes("input", read)) return 0;
  const Json written = cost_model::model_to_json(model);
  const cost_model::CostModel again = cost_model::read_model(JsonNode(written, "written"));
  if (cost_model::model_to_json(again) != written) std::abort();
  const cost_model::Features features{1.0, {{"log2 waves", 2.0}}};
  const auto predicts_a_number = [&](const cost_model::NamedRegression& one) {
    if (!std::isfinite(one.predict(features))) std::abort();
  };
  predicts_a_number(model.common);
  predicts_a_number(model.order);
  for (const cost_model::VariantModel& one : model.variants) predicts_a_number(one.factor);
  return 0;
}
