#pragma once
// `tune --fit`: a cost model out of results files. It needs no GPU.

#include <string>
#include <vector>

#include "harness/commands/shared/regret_limits.hpp"

namespace gla_bench::commands {

/// Fits a model to the files, writes it to `output` (empty: the device's own in the user's data
/// folder) and prints how well it predicts: problems of these files whose shapes were left out in
/// turn or, where there are files to judge it by, those of their problems of whose shapes it was
/// taught nothing. Returns the exit code: check_failed where the regret of the predicted best is
/// above a limit (percent).
/// @throws InputError where the files hold no times, or are of several backends, and where there is
/// nothing new to judge by
int tune_fit(const std::vector<std::string>& files, const std::vector<std::string>& judges,
             std::string output, bool markdown, const RegretLimits& limits);

}  // namespace gla_bench::commands
