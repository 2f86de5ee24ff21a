#include "harness/records/selection.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "harness/records/record_file.hpp"
#include "harness/records/record_json.hpp"
#include "harness/support/printable.hpp"

namespace gla_bench {
namespace {

Selection read_row(const std::string& text, std::size_t hash) {
  const std::string file = text.substr(0, hash), number = text.substr(hash + 1);
  std::size_t row = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), row);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  const Results results = read_results(file);
  if (!whole || row < 1 || row > results.records.size())
    throw InputError(text + ": found row \"" + printable(number, 200) +
                     "\", expected a number from 1 to " + std::to_string(results.records.size()));
  const Record& record = results.records[row - 1];
  if (measured_elsewhere(record))
    throw InputError(text + ": is a peer's record (" + record.variant +
                     "), which this program cannot run");
  return selection_of(record);
}

}  // namespace

Selection selection_of(const Record& record) {
  return {record.problem, record.variant, record.backend, record.tile, record.manifest};
}

std::string selection_text(const Selection& selection) {
  const Json whole = selection_to_json(selection);
  Json json;
  for (const auto& [key, value] : whole.items())
    if (!value.is_null()) json[key] = value;
  return json.dump();
}

Selection read_selection(const std::string& text) {
  if (!text.empty() && text.front() == '{') {
    const Json document = parse_json(text, "selection");
    return read_selection(JsonNode(document, "selection"));
  }
  const std::size_t hash = text.rfind('#');
  if (hash == std::string::npos)
    throw InputError("found \"" + printable(text, 200) +
                     "\", expected FILE#ROW (a record of a results file, counted from 1) or a "
                     "record's selection as JSON");
  return read_row(text, hash);
}

std::string repeat_command(const Record& record) {
  return "gla-bench repeat " + shell_quoted(selection_text(selection_of(record)));
}

Candidate find_candidate(const Selection& selection, const Catalog& catalog, const Limits& limits) {
  const Problem& problem = selection.problem;
  const Variant* variant =
      catalog.find_variant(problem.op, selection.variant, selection.backend, problem.direction);
  if (variant == nullptr)
    throw InputError("this program has no variant '" + printable(selection.variant, 200) + "' of " +
                     problem.op + " " + std::string(name(problem.direction)) + " on " +
                     std::string(name(selection.backend)));
  const Candidate candidate{variant, problem, selection.tile};
  const auto tiles = all_tiles(variant->space);
  if (std::find(tiles.begin(), tiles.end(), selection.tile) == tiles.end())
    throw InputError(describe(candidate) + ": the variant has no such tile (any more)");
  if (const auto reason = variant->reject(problem, selection.tile, limits))
    throw InputError(describe(candidate) + ": refused: " + *reason);
  return candidate;
}

std::string shell_quoted(const std::string& argument) {
  if (!argument.empty() &&
      argument.find_first_of(" \t\n\"'\\$&|;<>*?()[]{}#~`!") == std::string::npos)
    return argument;
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace gla_bench
