#include "harness/config/part.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

bool has(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// Every name of a kind that the config has; `names` gives those of one sweep.
template <class Names>
std::set<std::string> all_names(const Config& config, Names names) {
  std::set<std::string> all;
  for (const Sweep& sweep : config.sweeps)
    for (const std::string& name : names(sweep)) all.insert(name);
  return all;
}

void expect_known(const char* option, const std::vector<std::string>& asked,
                  const std::set<std::string>& known) {
  for (const std::string& one : asked)
    if (!known.contains(one))
      throw InputError(std::string(option) + ": found \"" + one +
                       "\", expected some of what the config has: " +
                       join(std::vector<std::string>(known.begin(), known.end())));
}

std::vector<std::string> dtypes_of(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const DType dtype : sweep.dtypes) names.emplace_back(name(dtype));
  return names;
}

}  // namespace

Config part_of(Config config, const ConfigPart& part) {
  if (part.whole()) return config;
  expect_known("--operators", part.operators,
               all_names(config, [](const Sweep& s) { return std::vector<std::string>{s.op}; }));
  expect_known("--variants", part.variants,
               all_names(config, [](const Sweep& s) { return s.variants; }));
  expect_known("--dtypes", part.dtypes, all_names(config, dtypes_of));
  expect_known("--directions", part.directions, all_names(config, [](const Sweep& s) {
                 return std::vector<std::string>{std::string(name(s.direction))};
               }));
  std::vector<Sweep> kept;
  for (Sweep& sweep : config.sweeps) {
    if (!part.operators.empty() && !has(part.operators, sweep.op)) continue;
    if (!part.directions.empty() && !has(part.directions, std::string(name(sweep.direction))))
      continue;
    if (!part.variants.empty())
      std::erase_if(sweep.variants,
                    [&](const std::string& name) { return !has(part.variants, name); });
    if (!part.dtypes.empty()) {
      if (sweep.tensors)
        throw InputError("--dtypes: the config has inputs from " + sweep.tensors->file +
                         ", whose dtype it can not choose");
      std::erase_if(sweep.dtypes,
                    [&](DType dtype) { return !has(part.dtypes, std::string(name(dtype))); });
      if (sweep.dtypes.empty()) continue;
    }
    if (sweep.variants.empty()) continue;
    std::erase_if(sweep.tiles,
                  [&](const auto& of_variant) { return !has(sweep.variants, of_variant.first); });
    kept.push_back(std::move(sweep));
  }
  if (kept.empty())
    throw InputError(
        "--operators, --variants, --dtypes, --directions: no sweep of the config has all of them");
  config.sweeps = std::move(kept);
  return config;
}

}  // namespace gla_bench
