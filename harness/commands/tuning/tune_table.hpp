#pragma once
// What `tune` does with tables alone: it makes one of results files, exports it and evaluates it.
// None of this needs a GPU.

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/catalog.hpp"
#include "harness/commands/shared/regret_limits.hpp"
#include "harness/records/record_file.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench::commands {

struct TuneTableOptions {
  std::vector<std::string> from;      ///< results files to make a table of
  std::vector<std::string> evaluate;  ///< results files to evaluate a table on
  std::vector<std::string> allowed;   ///< facts that may differ
  std::string tuned;                  ///< the table to read
  std::string model;     ///< the cost model to choose by besides the table; empty: none
  std::string problems;  ///< config whose problems a header is for; empty: those of the table
  std::string header;    ///< file to write the C++ header to
  bool markdown = false;
  RegretLimits limits;  ///< of what `--evaluate` judges

  void add_to(CLI::App& command);
  /// Whether any of it was asked for.
  bool asked() const { return !from.empty() || !evaluate.empty() || !header.empty(); }
};

/// Makes entries of the records and puts them into the table at `path` (empty: the device's own in
/// results/tuned/). Prints the entries and what became of the table, and returns the table. Entries
/// whose variant is not in the catalog are dropped. @throws InputError where no record may win, and
/// for a table of another place; OutputError
TunedTable update_table(std::span<const Results> files, std::string path,
                        const std::vector<std::string>& allowed, bool markdown,
                        const Catalog& catalog);

/// Does everything that the options ask for and returns the exit code. `output`: the path of the
/// table made of `from`.
int tune_table(const TuneTableOptions& options, const std::string& output, const Catalog& catalog);

}  // namespace gla_bench::commands
