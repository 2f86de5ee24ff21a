#include "harness/tuned_table/header.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

#include "core/error.hpp"
#include "core/extents.hpp"
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
    throw InputError("the operator " + printable(op, 64) +
                     " cannot be a function of a C++ header: expected small letters, digits and _");
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

/// "std::int64_t seq = 1;  ///< T: tokens", one line for each extent that `takes` says.
template <class Takes>
void write_extents(std::ostream& out, bool with_default, const Takes& takes) {
  for (const ExtentAxis& axis : extent_axes) {
    if (!takes(axis)) continue;
    out << "  std::int64_t " << axis.name;
    if (with_default) out << " = " << Shape{}.*axis.extent;
    out << ";  ///< " << axis.symbol << ": " << axis.meaning << "\n";
  }
}

bool is_kept(const ExtentAxis& axis) {
  return keeping_of(axis.role).has_value();
}

/// The types that the rules of nearest.h are for, with the extents of problems.
void write_types(std::ostream& out) {
  out << R"(
/// What is to be computed. Extents that the operator lacks keep their defaults.
struct Problem {
  std::string_view direction = "forward";  ///< or "backward", "training"
  std::string_view dtype = "bfloat16";     ///< or "float16", "float32"
  std::string_view layout = "seq_first";   ///< [B,T,H,D], or "head_first", [B,H,T,D]
)";
  write_extents(out, true, [](const ExtentAxis&) { return true; });
  out << R"(  bool initial_state = false;
  bool final_state = true;
  std::string_view options = {};  ///< those off their defaults by name: "causal=false,lse=true"
};

/// What was measured to be the best for a bucket of problems.
struct Entry {
  std::string_view direction, dtype, layout, options;
  bool initial_state, final_state;
  std::int64_t batch_heads;  ///< batch times heads, to the nearest quarter of an octave
  std::int64_t group;        ///< heads of queries that share one of keys
  // Amounts to the nearest power of two, dimensions as they are; 0 for what the operator lacks.
)";
  write_extents(out, false, is_kept);
  out << R"(  std::string_view variant;
  const TileValue* tile;
  std::size_t tile_values;
  /// Time of the runner-up over this one's with its 95 % interval; 1 where there was no other.
  double margin, margin_low, margin_high;
  double error;               ///< the largest relative error (L2) of an output against float64
  double regret;              ///< the worst of using it on the problems that it was measured on
  std::string_view measured;  ///< when, UTC; empty: not measured, chosen by predicted times
  std::size_t environment;    ///< row of the facts that it holds for
  double multiprocessors;     ///< of the device that it holds for; 0: unknown
};

using Choice = ChoiceAmong<Entry>;

inline constexpr detail::Extent<Problem, Entry> kept_extents[] = {
)";
  for (const ExtentAxis& axis : extent_axes)
    if (const auto keeping = keeping_of(axis.role))
      out << "    {&Problem::" << axis.name << ", &Entry::" << axis.name << ", "
          << (keeping->rounded ? "true" : "false") << ", " << keeping->per_doubling << "},\n";
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
      << ",\n     " << b.batch_heads << ", " << b.group;
  for (const ExtentAxis& axis : extent_axes)
    if (is_kept(axis)) out << ", " << b.shape.*axis.extent;
  out << ",\n     " << literal(entry.winner.variant) << ", "
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
      << entries.size() << ", kept_extents);\n}\n";
}

}  // namespace

std::string export_header(const TunedTable& table) {
  if (table.entries.empty()) throw InputError(table.path + ": has no entries to export");
  std::map<std::string, std::vector<const TunedEntry*>> operators;
  for (const TunedEntry& entry : table.entries) operators[entry.bucket.op].push_back(&entry);
  std::ostringstream out;
  out << "// Which variant and tile to use for a problem on one device, as measured, or as "
         "predicted\n"
         "// where an entry has no time of measurement. Written by gla-bench tune --export-header: "
         "a\n"
         "// change is lost with the next export.\n";
  out << nearest_text() << "\nnamespace gla_bench_tuned {\n";
  write_types(out);
  write_environments(out, table);
  for (const auto& [op, entries] : operators) {
    expect_name(op);
    write_operator(out, table, op, entries);
  }
  out << "\n}  // namespace gla_bench_tuned\n";
  return out.str();
}

}  // namespace gla_bench
