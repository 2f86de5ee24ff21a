#include "harness/report/text/comparison.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "core/error.hpp"

namespace gla_bench {
namespace {

std::vector<const Results*> own_files(std::span<const Results> files) {
  std::vector<const Results*> own;
  for (const Results& results : files)
    if (results.records.empty() || !std::all_of(results.records.begin(), results.records.end(),
                                                [](const Record& record) { return record.peer; }))
      own.push_back(&results);
  return own;
}

std::string file_name(const Results& results) {
  return std::filesystem::path(results.file).filename().string();
}

/// The files by name; empty where two have the same.
std::map<std::string, const Results*> by_name(const std::vector<const Results*>& files) {
  std::map<std::string, const Results*> named;
  for (const Results* results : files) named.emplace(file_name(*results), results);
  if (named.size() != files.size()) named.clear();
  return named;
}

/// The base of each file, in the order of `fresh`.
std::vector<const Results*> bases_of(const std::vector<const Results*>& base,
                                     const std::vector<const Results*>& fresh) {
  if (base.size() != fresh.size())
    throw InputError("--against: found " + std::to_string(base.size()) +
                     " files with records that are not peers', expected one for each of the " +
                     std::to_string(fresh.size()) + " files of the report");
  const auto named = by_name(base), wanted = by_name(fresh);
  std::vector<const Results*> matched;
  for (const Results* results : fresh)
    if (const auto found = named.find(file_name(*results)); found != named.end() && !wanted.empty())
      matched.push_back(found->second);
  return matched.size() == fresh.size() ? matched : base;
}

bool is_same(const Difference& a, const Difference& b) {
  return a.key == b.key && a.base == b.base && a.fresh == b.fresh;
}

void take_in(Comparison& all, Comparison& more) {
  all.base += ", " + more.base;
  all.fresh += ", " + more.fresh;
  all.paired = all.paired && more.paired;
  if (more.drift > all.drift) {
    all.drift = more.drift;
    all.drift_evidence = more.drift_evidence;
  }
  for (Difference& difference : more.differences)
    if (std::none_of(all.differences.begin(), all.differences.end(),
                     [&](const Difference& known) { return is_same(known, difference); }))
      all.differences.push_back(std::move(difference));
  std::move(more.rows.begin(), more.rows.end(), std::back_inserter(all.rows));
  all.refused += more.refused;
  all.accuracy_unknown += more.accuracy_unknown;
}

}  // namespace

std::optional<Comparison> compare_runs(std::span<const Results> base,
                                       std::span<const Results> fresh,
                                       const ComparisonPolicy& policy) {
  std::optional<Comparison> all;
  const auto add = [&](Comparison more) {
    if (all)
      take_in(*all, more);
    else
      all = std::move(more);
  };
  if (base.empty()) {
    for (const Results& results : fresh)
      if (has_rounds(results)) add(compare_rounds(results, policy));
    return all;
  }
  const auto files = own_files(fresh);
  const auto bases = bases_of(own_files(base), files);
  if (files.empty())
    throw InputError(
        "--against: the files hold nothing but peers' records, which are not compared");
  for (std::size_t i = 0; i < files.size(); ++i) add(compare_files(*bases[i], *files[i], policy));
  return all;
}

}  // namespace gla_bench
