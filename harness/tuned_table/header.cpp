#include "harness/tuned_table/header.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

#include "core/error.hpp"
#include "harness/records/comparability.hpp"
#include "harness/support/printable.hpp"
#include "harness/tuned_table/choose.hpp"

namespace gla_bench {
namespace {

/// A C++ string literal.
std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 32 ? '?' : c;
  }
  return out + "\"";
}

std::string number(double value) {
  if (!std::isfinite(value)) return "HUGE_VAL";
  std::ostringstream text;
  text << std::setprecision(7) << value;
  return text.str();
}

std::string text_of(const Fact& fact) {
  if (const auto* flag = std::get_if<bool>(&fact)) return *flag ? "true" : "false";
  if (const auto* value = std::get_if<double>(&fact)) {
    std::ostringstream text;
    text << std::setprecision(15) << *value;
    return text.str();
  }
  return std::get<std::string>(fact);
}

void expect_name(const std::string& op) {
  const bool good = !op.empty() && op != "detail" && std::all_of(op.begin(), op.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  }) && !(op.front() >= '0' && op.front() <= '9');
  if (!good)
    throw InputError(
        "the operator " + printable(op, 64) +
        " can not be a function of a C++ header: expected small letters, digits and _");
}

void write_environments(std::ostream& out, const TunedTable& table) {
  out << "\ninline constexpr std::string_view device = " << literal(table.device) << ";\n"
      << "\ninline constexpr Fact environment[] = {\n";
  for (std::size_t i = 0; i < table.environments.size(); ++i)
    for (const auto& [key, fact] : table.environments[i])
      out << "    {" << i << ", " << literal(key) << ", " << literal(text_of(fact)) << "},\n";
  out << "    {" << table.environments.size() << ", \"\", \"\"},  // behind the last\n};\n";
}

void write_tile(std::ostream& out, const std::string& label, const Tile& tile) {
  if (tile.empty()) return;
  out << "inline constexpr TileValue " << label << "[] = {";
  const char* separator = "";
  for (const auto& [axis, value] : tile) {
    out << separator << "{" << literal(axis) << ", " << value << "}";
    separator = ", ";
  }
  out << "};\n";
}

void write_entry(std::ostream& out, const TunedTable& table, const TunedEntry& entry,
                 const std::string& tile) {
  const Bucket& b = entry.bucket;
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  const TunedChoice none;
  const TunedChoice& second = entry.runner_up ? *entry.runner_up : none;
  out << "    // " << describe(b) << "\n    {" << literal(name(b.direction)) << ", "
      << literal(name(b.dtype)) << ", " << literal(name(b.layout)) << ", "
      << literal(options_text(b)) << ", " << flag(b.initial_state) << ", " << flag(b.final_state)
      << ",\n     " << b.key_dim << ", " << b.value_dim << ", " << b.model_dim << ", " << b.group
      << ", " << b.seq << ", " << b.batch_heads << ", " << b.key_seq << ", " << b.columns << ", "
      << b.sequences << ",\n     " << literal(entry.winner.variant) << ", "
      << (entry.winner.tile.empty() ? "nullptr" : tile) << ", " << entry.winner.tile.size()
      << ",\n     " << number(second.ratio) << ", " << number(second.low) << ", "
      << number(second.high) << ", " << number(entry.winner.error) << ", "
      << number(entry.worst_regret) << ", " << literal(entry.measured) << ", " << entry.environment
      << ", " << number(multiprocessors_of(table, entry)) << "},\n";
}

void write_operator(std::ostream& out, const TunedTable& table, const std::string& op,
                    const std::vector<const TunedEntry*>& entries) {
  const auto label = [&](std::size_t i) { return op + "_tile_" + std::to_string(i); };
  out << "\n";
  for (std::size_t i = 0; i < entries.size(); ++i)
    write_tile(out, label(i), entries[i]->winner.tile);
  out << "inline constexpr Entry " << op << "_entries[] = {\n";
  for (std::size_t i = 0; i < entries.size(); ++i) write_entry(out, table, *entries[i], label(i));
  out << "};\n\n/// The variant and tile to use.\ninline Choice " << op
      << "(const Problem& problem) {\n  return detail::choose(problem, " << op << "_entries, "
      << entries.size() << ");\n}\n";
}

}  // namespace

std::string export_header(const TunedTable& table) {
  if (table.entries.empty()) throw InputError(table.path + ": has no entries to export");
  std::map<std::string, std::vector<const TunedEntry*>> operators;
  for (const TunedEntry& entry : table.entries) operators[entry.bucket.op].push_back(&entry);
  std::ostringstream out;
  out << "// Which variant and tile to use for a problem on one device, as measured. Written by\n"
         "// gla-bench tune --export-header: a change is lost with the next export.\n";
  out << nearest_text() << "\nnamespace gla_bench_tuned {\n";
  write_environments(out, table);
  for (const auto& [op, entries] : operators) {
    expect_name(op);
    write_operator(out, table, op, entries);
  }
  out << "\n}  // namespace gla_bench_tuned\n";
  return out.str();
}

}  // namespace gla_bench
