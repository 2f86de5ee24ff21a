#pragma once
// Finds the table and the cost model that `auto` goes by on a device.

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "harness/tuned_table/choose.hpp"

namespace gla_bench {

/// Where a choice comes from.
struct AutoSources {
  std::string tuned = {};              ///< path of a table; empty: the device's own
  std::string model = {};              ///< path of a cost model; empty: the device's own
  std::set<std::string> allowed = {};  ///< facts of the table's environment that may differ
};

/// Takes lines for the user, such as which table was found.
using Saying = std::function<void(const std::string&)>;

/// The predictor of a device: by the model at `path`, else by the one that is found for the device,
/// which is left out with a warning where it cannot be read. @throws InputError for a path that is
/// no such model
std::optional<cost_model::Predictor> predictor_for(const std::string& path, BackendId backend,
                                                   const Facts& environment, const Saying& warn);

/// The chooser of a device. It follows the table that the sources name, else the device's own
/// (find_table()), and the cost model. Where there is no table it follows predictions or the
/// defaults, and says so. `note` takes what it goes by. @throws InputError for a named table that
/// is missing, is not a table, or belongs to another place
Chooser open_chooser(const AutoSources& sources, const Catalog& catalog, BackendId backend,
                     const std::function<std::string(const Variant&)>& source_hash,
                     const Facts& environment, const Saying& note, const Saying& warn);

}  // namespace gla_bench
