#pragma once
// Learns a cost model from records.

#include <span>
#include <string>

#include "harness/cost_model/model.hpp"
#include "harness/records/record_file.hpp"

namespace gla_bench::cost_model {

/// One candidate's time on one problem, as a model learns and is judged by it.
struct Example {
  Candidate candidate;
  std::string device;  ///< that it ran on
  Features features;
  double seconds = 0;
  double predicted = 0;  ///< seconds, by a regression that saw no problem of the same shape
  double sigma = 0;      ///< of log2 of it, as of all times of its variant
  double score = 0;      ///< the same for CostModel::order
};

/// A problem without what no time depends on: the seed, scale and source of its inputs. Their
/// regime stays. An H200 takes 0.20, 0.36 or 1.77 ms for one launch of decay attention, as the
/// decays let it leave tiles out.
Problem launch_problem(Problem problem);

/// What right and timed records of the program's present variants say. Times of one candidate in
/// several records, also of other seeds of the inputs, become their median. Left out are times of
/// kernels that moved other bytes when they were measured than they do now, by more than 5 %. Files
/// may be of several devices: each time is compared with what its own device's rates allow.
/// @throws InputError for files of several backends, and where device_rates() does
std::vector<Example> examples_of(std::span<const Results> files);

/// Fits all variants that have examples, and their errors by cross-validation: in each of ten
/// rounds a tenth of the shapes is left out and predicted. Sets Example::predicted. The model is of
/// the first file's device; times on others teach it factors.
CostModel learn(std::span<const Results> files, std::vector<Example>& examples);

/// Of other examples those of shapes that none of the taught ones has.
std::vector<Example> of_new_shapes(std::span<const Example> taught, std::vector<Example> others);

/// Sets Example::predicted, sigma and score by the model.
void predict_by(const CostModel& model, std::span<Example> examples);

/// For people: rows, problems and error by variant, and the regret of the predicted best.
std::string model_report(const CostModel& model, bool markdown);

}  // namespace gla_bench::cost_model
