#include "harness/report/text/section_parts.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "core/extents.hpp"
#include "harness/support/statistics/statistics.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {

std::string section_head(std::string_view title, std::string_view question) {
  return "## " + std::string(title) + "\n\n*" + std::string(question) + "*\n\n";
}

std::string foldable(const Table& table, const std::string& summary) {
  if (table.rows.empty()) return "";
  if (table.rows.size() <= open_lines) return table.markdown() + "\n";
  return "<details><summary>" + markdown_text(summary) + "</summary>\n\n" + table.markdown() +
         "\n</details>\n\n";
}

namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// Extents stay with their problem, even where all problems have the same.
bool is_extent(const std::string& word) {
  const std::string_view symbol = std::string_view(word).substr(0, word.find('='));
  return symbol.size() < word.size() &&
         std::any_of(extent_axes.begin(), extent_axes.end(),
                     [&](const ExtentAxis& axis) { return axis.symbol == symbol; });
}

void share_words(ContestGroup& group) {
  std::vector<std::vector<std::string>> words;
  for (const Contest* contest : group.contests)
    words.push_back(words_of(name_of(contest->problem).rest));
  std::set<std::string> shared;
  for (const std::string& word : words.front())
    if (!is_extent(word) && std::all_of(words.begin(), words.end(), [&](const auto& other) {
          return std::find(other.begin(), other.end(), word) != other.end();
        }))
      shared.insert(word);
  for (const auto& list : words) {
    std::vector<std::string> own, common;
    for (const std::string& word : list) (shared.contains(word) ? common : own).push_back(word);
    group.problems.push_back(join(own, " "));
    group.shared = join(common, " ");
  }
}

}  // namespace

ProblemName name_of(const Problem& problem) {
  const std::string text = describe(problem);
  const std::string group = problem.op + " " + std::string(name(problem.direction)) + " " +
                            std::string(name(problem.dtype));
  if (!text.starts_with(group + " ")) return {group, text};
  return {group, text.substr(group.size() + 1)};
}

std::vector<ContestGroup> groups_of(std::span<const Contest> contests) {
  std::set<std::string> devices;
  std::set<BackendId> backends;
  for (const Contest& contest : contests) {
    devices.insert(contest.device);
    backends.insert(contest.backend);
  }
  std::vector<ContestGroup> groups;
  for (const Contest& contest : contests) {
    std::string name = name_of(contest.problem).group;
    if (devices.size() > 1) name += " on " + contest.device;
    if (backends.size() > 1) name += " [" + std::string(gla_bench::name(contest.backend)) + "]";
    const auto known = std::find_if(groups.begin(), groups.end(),
                                    [&](const ContestGroup& group) { return group.name == name; });
    if (known == groups.end())
      groups.push_back({name, "", {&contest}, {}});
    else
      known->contests.push_back(&contest);
  }
  for (ContestGroup& group : groups) share_words(group);
  return groups;
}

std::string tally(const std::vector<std::string>& names) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : names) ++counts[name];
  std::vector<std::pair<std::string, std::size_t>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [name, count] : list) parts.push_back(std::to_string(count) + " " + name);
  return parts.empty() ? "-" : join(parts);
}

double median_known(std::vector<double> values) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : median(values);
}

double largest_known(const std::vector<double>& values) {
  double most = std::numeric_limits<double>::quiet_NaN();
  for (const double value : values)
    if (!(value <= most) && !std::isnan(value)) most = value;
  return most;
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace gla_bench
