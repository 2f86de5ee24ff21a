#include "harness/commands/tuning/tune_fit.hpp"

#include <filesystem>
#include <iostream>

#include "core/error.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/shared/named_files.hpp"
#include "harness/cost_model/learn.hpp"
#include "harness/cost_model/model_file.hpp"
#include "harness/cost_model/regret.hpp"
#include "harness/support/output_file.hpp"
#include "harness/support/system/own_files.hpp"

namespace gla_bench::commands {
namespace {

/// The device's own model in the user's data folder.
std::string default_path(const std::string& device) {
  const std::string folder = user_data_folder();
  if (folder.empty())
    throw InputError(
        "no folder for cost models: neither XDG_DATA_HOME nor HOME is set; name a file with -o");
  return (std::filesystem::path(folder) / "tuned" / cost_model::model_name(device)).string();
}

}  // namespace

int tune_fit(const std::vector<std::string>& paths, const std::vector<std::string>& judges,
             std::string output, bool markdown, const RegretLimits& limits) {
  expect_apart(together(results_files("--fit", paths), results_files("--judge", judges)),
               NamedFiles{{"--output", output}});
  const std::vector<Results> files = read_results(paths), others = read_results(judges);
  auto examples = cost_model::examples_of(files);
  if (examples.empty())
    throw InputError(files.front().file +
                     ": no record is right and timed, so that nothing can be learnt");
  auto fresh = cost_model::of_new_shapes(examples, cost_model::examples_of(others));
  if (!judges.empty() && cost_model::choices_among(fresh).empty())
    throw InputError("--judge: no problem there has " +
                     std::to_string(cost_model::least_candidates) +
                     " times and a shape that no file of --fit has");
  const cost_model::CostModel model = cost_model::learn(files, examples);
  if (output.empty()) output = default_path(model.device);
  std::cout << cost_model::model_report(model, markdown) << "\n";
  cost_model::Regret regret = model.regret;
  if (judges.empty()) {
    std::cout << cost_model::regret_report(cost_model::choices_among(examples), markdown);
  } else {
    cost_model::predict_by(model, fresh);
    const auto choices = cost_model::choices_among(fresh);
    regret = cost_model::regret_of(choices);
    std::cout << cost_model::judged_report(fresh, choices, markdown);
  }
  cost_model::write_model(model, output);
  std::cout << "\n"
            << output << ": a model of " << examples.size() << " times on " << model.device << "\n";
  return limits.hold(regret.problems, 0, regret.median, regret.worst) ? done : check_failed;
}

}  // namespace gla_bench::commands
