#include "harness/cost_model/predictor.hpp"

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/tile_space.hpp"
#include "harness/config/space/rare_tiles.hpp"
#include "harness/cost_model/model_file.hpp"

namespace gla_bench::cost_model {
namespace {

/// The tiles of a variant that predictions are known to be good for, or all.
std::vector<Tile> tiles_of(const Variant& variant, const VariantModel* known, Reach reach) {
  if (reach == Reach::all) return all_tiles(variant.space);
  if (known == nullptr) return {};
  std::vector<Tile> tiles{known->tiles.begin(), known->tiles.end()};
  const TileSpace space =
      reach == Reach::usual ? usual_space(variant, {}, rare_tiles()) : variant.space;
  std::erase_if(tiles, [&](const Tile& tile) { return !in_space(tile, space); });
  return tiles;
}

}  // namespace

Predictor::Predictor(std::shared_ptr<const CostModel> model, const Facts& environment)
    : model_(std::move(model)),
      backend_(model_ ? model_->backend
                      : parse_backend(fact_text(environment, "backend")).value_or(BackendId::host)),
      rates_(device_rates(model_ ? completed(environment, model_->environment) : environment)) {}

Prediction Predictor::predict(const Candidate& candidate) const {
  return cost_model::predict(model_.get(), candidate, rates_);
}

std::vector<Ranked> Predictor::all_admitted(const Catalog& catalog, const Problem& problem,
                                            const Admits& admits, Reach reach) const {
  std::vector<Ranked> list;
  for (const Variant& variant : catalog.variants) {
    if (variant.op != problem.op || variant.backend != backend_ ||
        variant.direction != problem.direction)
      continue;
    const VariantModel* known = model_ ? model_->find(variant.name, variant.direction) : nullptr;
    for (const Tile& tile : tiles_of(variant, known, reach)) {
      const Candidate candidate{&variant, problem, tile};
      if (admits(candidate)) list.push_back({candidate, predict(candidate)});
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const Ranked& a, const Ranked& b) {
    return a.prediction.rank() < b.prediction.rank();
  });
  return list;
}

std::vector<Ranked> Predictor::rank(const Catalog& catalog, const Problem& problem,
                                    const Admits& admits) const {
  for (const Reach reach : {Reach::usual, Reach::seen})
    if (auto list = all_admitted(catalog, problem, admits, reach); !list.empty()) return list;
  return all_admitted(catalog, problem, admits, Reach::all);
}

std::string Predictor::source() const {
  if (!model_) return "the device's rates alone";
  return std::filesystem::path(model_->path).filename().string() + " (" + model_->device + ")";
}

void note_prediction(const std::optional<Predictor>& predictor, Record& record) {
  if (!predictor) return;
  const Variant* variant =
      find_variant(record.problem.op, record.variant, record.backend, record.problem.direction);
  if (variant == nullptr || !was_tried(record) || !in_space(record.tile, variant->space)) return;
  const Prediction prediction = predictor->predict({variant, record.problem, record.tile});
  if (prediction.learnt) record.predicted_ms = 1e3 * prediction.seconds;
}

std::optional<Predictor> open_predictor(const std::string& path, BackendId backend,
                                        const Facts& environment) {
  std::optional<CostModel> model;
  if (!path.empty())
    model = load_model(path);
  else
    model = find_model(fact_text(environment, "device"), backend);
  if (model && model->backend != backend)
    throw InputError(path + ": is a model of the backend " + std::string(name(model->backend)) +
                     ", and this is for " + std::string(name(backend)));
  std::shared_ptr<const CostModel> shared =
      model ? std::make_shared<const CostModel>(std::move(*model)) : nullptr;
  try {
    return Predictor(std::move(shared), environment);
  } catch (const InputError&) {
    return std::nullopt;  // nothing is known of the device: auto then goes by defaults, and says so
  }
}

}  // namespace gla_bench::cost_model
