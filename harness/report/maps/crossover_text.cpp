#include "harness/report/maps/crossover_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <functional>
#include <set>
#include <sstream>

#include "harness/support/numbers.hpp"
#include "harness/support/table.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

using Naming = std::function<std::string(const std::string& variant)>;

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g %%", 100 * share);
  return text.data();
}

/// Problems of one place with the same outcome are named once, with the smallest margin.
std::string place_text(const MapCell& cell, const Naming& naming) {
  struct Said {
    std::string winners, runner_up;
    double ratio = 0;
  };
  std::vector<Said> said;
  for (const Contest& point : cell.points) {
    std::vector<std::string> names;
    for (const std::string& winner : point.winners()) names.push_back(naming(winner));
    const Entrant* next = point.runner_up();
    const Said fresh{names.empty() ? "none" : join(names, " = "),
                     next != nullptr ? naming(next->record->variant) : "",
                     next != nullptr ? next->over_winner.ratio : 0};
    const auto same = std::find_if(said.begin(), said.end(), [&](const Said& other) {
      return other.winners == fresh.winners && other.runner_up == fresh.runner_up;
    });
    if (same == said.end())
      said.push_back(fresh);
    else
      same->ratio = std::min(same->ratio, fresh.ratio);
  }
  std::vector<std::string> parts;
  for (const Said& one : said)
    parts.push_back(
        one.winners +
        (one.runner_up.empty() ? "" : " (" + one.runner_up + " " + format_times(one.ratio) + ")"));
  return join(parts, " / ");
}

/// The map's table with some of its lengths: those at [from, to).
Table table_of(const CrossoverMap& map, std::size_t from, std::size_t to, const Naming& naming) {
  Table table;
  table.columns.push_back({map.width_axis + " \\ " + map.length_axis, true});
  for (std::size_t i = from; i < to; ++i)
    table.columns.push_back({std::to_string(map.lengths[i]), false});
  for (const std::int64_t width : map.widths) {
    std::vector<std::string> row(1 + to - from);
    row[0] = std::to_string(width);
    for (const MapCell& cell : map.cells) {
      if (cell.width != width) continue;
      const auto place = static_cast<std::size_t>(
          std::find(map.lengths.begin(), map.lengths.end(), cell.length) - map.lengths.begin());
      if (place >= from && place < to) row[1 + place - from] = place_text(cell, naming);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool fits(const Table& table, std::size_t width) {
  std::istringstream lines(table.text());
  for (std::string line; std::getline(lines, line);)
    if (display_width(line) > width) return false;
  return true;
}

/// Splits the map into as few tables as the width allows, with at least one length in each.
std::string spread(const CrossoverMap& map, std::size_t width, const Naming& naming) {
  std::string text;
  for (std::size_t from = 0, to = 0; from < map.lengths.size(); from = to) {
    to = from + 1;
    while (to < map.lengths.size() && fits(table_of(map, from, to + 1, naming), width)) ++to;
    text += (from > 0 ? "\n" : "") + table_of(map, from, to, naming).text(width);
  }
  return text;
}

std::vector<std::string> variants_of(const CrossoverMap& map) {
  std::set<std::string> names;
  for (const MapCell& cell : map.cells)
    for (const Contest& point : cell.points)
      for (const Entrant& entrant : point.entrants) names.insert(entrant.record->variant);
  return {names.begin(), names.end()};
}

std::string fitted(const CrossoverMap& map, const MapStyle& style) {
  const Naming whole = [](const std::string& variant) { return variant; };
  const Table table = table_of(map, 0, map.lengths.size(), whole);
  if (style.markdown) return table.markdown();
  if (style.width == 0 || fits(table, style.width)) return table.text();
  const auto shorter = initials(variants_of(map));
  std::string text =
      spread(map, style.width, [&](const std::string& variant) { return shorter.at(variant); });
  for (const auto& [variant, symbol] : shorter) text += "  " + symbol + ": " + variant + "\n";
  return text;
}

/// Winners of a place, over its problems.
std::set<std::string> winners_of(const MapCell& cell) {
  std::set<std::string> names;
  for (const Contest& point : cell.points)
    for (const std::string& winner : point.winners()) names.insert(winner);
  return names;
}

/// The lengths of a row between which the winner changes. A tie that holds at both is no change.
std::vector<std::string> changes(const CrossoverMap& map) {
  std::vector<std::string> lines;
  for (std::size_t i = 1; i < map.cells.size(); ++i) {
    const MapCell &before = map.cells[i - 1], &behind = map.cells[i];
    if (before.width != behind.width) continue;
    const auto left = winners_of(before), right = winners_of(behind);
    const bool shared = std::any_of(left.begin(), left.end(),
                                    [&](const std::string& name) { return right.contains(name); });
    if (shared || left.empty() || right.empty()) continue;
    lines.push_back(map.width_axis + " " + std::to_string(before.width) + ": " +
                    join({left.begin(), left.end()}, " = ") + " up to " + map.length_axis + " " +
                    std::to_string(before.length) + ", " +
                    join({right.begin(), right.end()}, " = ") + " from " +
                    std::to_string(behind.length));
  }
  return lines;
}

/// The text with line breaks between words.
std::string wrapped(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string out, line;
  for (std::string word; words >> word;) {
    if (width > 0 && !line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return out + line + "\n";
}

std::string explanation(const ContestPolicy& policy) {
  return "Each place names the fastest variant by its best tile (median with cold caches) and, in "
         "brackets, the next one with its time over the winner's, the smallest where several "
         "problems share the place. Joined by \"=\": the 95 % interval of their ratio, widened "
         "by " +
         percent(policy.drift) + " (" + percent(policy.drift_between_files) +
         " between two files), holds 1. none: what was tried is not right. Empty: not measured.";
}

}  // namespace

std::map<std::string, std::string> initials(const std::vector<std::string>& names) {
  std::map<std::string, std::string> symbols;
  std::map<std::string, int> taken;
  for (const std::string& name : names) {
    std::string symbol;
    bool starts = true;
    for (const char c : name) {
      const auto letter = static_cast<unsigned char>(c);
      if (std::isalnum(letter) != 0 && (starts || std::isdigit(letter) != 0))
        symbol += static_cast<char>(std::toupper(letter));
      starts = std::isalnum(letter) == 0;
    }
    const int times_taken = ++taken[symbol];
    symbols[name] = times_taken == 1 ? symbol : symbol + "_" + std::to_string(times_taken);
  }
  return symbols;
}

std::string crossover_text(std::span<const CrossoverMap> maps, const ContestPolicy& policy,
                           const MapStyle& style) {
  if (maps.empty()) return "no measured records\n";
  std::string text = wrapped(explanation(policy), style.markdown ? 0 : style.width) + "\n";
  for (const CrossoverMap& map : maps) {
    text += style.markdown ? "### " + describe(map.subject) + "\n\n"
                           : wrapped(describe(map.subject), style.width);
    text += fitted(map, style);
    const auto lines = changes(map);
    if (!lines.empty() && style.markdown) text += "\n";
    for (const std::string& line : lines)
      text += style.markdown ? "- " + line + "\n" : wrapped("> " + line, style.width);
    text += "\n";
  }
  return text;
}

}  // namespace gla_bench
