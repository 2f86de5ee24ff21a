#pragma once
// A model together with the device that its predictions are for.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/cost_model/model.hpp"
#include "harness/records/record.hpp"

namespace gla_bench::cost_model {

struct Ranked {
  Candidate candidate;
  Prediction prediction;
};

/// Which tiles are ranked: those that the model has seen, without what sweeps leave out where they
/// do not ask for it (rare_tiles.hpp); all that it has seen; or all of the variant.
enum class Reach { usual, seen, all };

/// Whether a candidate can be used where it is to run.
using Admits = std::function<bool(const Candidate&)>;

class Predictor {
 public:
  /// `environment`: of the device that predictions are for. Facts that it lacks, such as rates that
  /// were not measured, are taken from the model's device. Without a model, only bounds are known.
  /// @throws InputError where neither has the facts that a prediction needs
  Predictor(std::shared_ptr<const CostModel> model, const Facts& environment);

  Prediction predict(const Candidate& candidate) const;

  /// What `auto` chooses among: all that are admitted within the first reach that has any. In the
  /// order of Prediction::rank(); those of the same rank stand in the catalog's order.
  std::vector<Ranked> rank(const Catalog& catalog, const Problem& problem,
                           const Admits& admits) const;

  /// "nvidia-h200.model.json (NVIDIA H200)", or what stands for a model.
  std::string source() const;

 private:
  std::vector<Ranked> all_admitted(const Catalog& catalog, const Problem& problem,
                                   const Admits& admits, Reach reach) const;

  std::shared_ptr<const CostModel> model_;
  BackendId backend_;
  DeviceRates rates_;
};

/// Notes in a record what is predicted for it, where a model knows its variant.
void note_prediction(const std::optional<Predictor>& predictor, Record& record);

/// The predictor of an environment's device: by `path` where it is given, else by find_model().
/// Nothing where predictions are not possible: no model, and rates that are not known.
/// @throws InputError for a path that is not a model's, or is one of another backend
std::optional<Predictor> open_predictor(const std::string& path, BackendId backend,
                                        const Facts& environment);

}  // namespace gla_bench::cost_model
