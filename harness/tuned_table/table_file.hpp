#pragma once
// Reads and writes a tuned table as a file. Its format: configs/schema/tuned.schema.json.

#include <optional>
#include <string>

#include "harness/support/json.hpp"
#include "harness/tuned_table/table.hpp"

namespace gla_bench {

constexpr int tuned_version = 1;

/// The table as one document; write_table() puts each entry on one line.
Json table_to_json(const TunedTable& table);

/// @throws InputError for anything that table_to_json() does not write, for two entries of one
/// bucket, and for an entry whose environment is missing
TunedTable read_table(const JsonNode& node);

/// @throws InputError for a file that does not exist or is no table
TunedTable load_table(const std::string& path);

/// Replaces the file as a whole and makes missing folders. @throws OutputError
void write_table(const TunedTable& table, const std::string& path);

/// "nvidia-h200.json": the file name of a device's table.
std::string table_name(const std::string& device);

/// Where a device's table is written: tuned/ in the user's data folder, whatever the current folder
/// is. @throws InputError where the user has no such folder
std::string default_table_path(const std::string& device);

/// The table of a device. The user's own comes first (default_table_path()), then the one that is
/// installed with the program (share/gla-bench/tuned/), then the one of the source tree in which
/// the program was built (results/tuned/ beside its build folder). Returns nothing where there is
/// none.
std::optional<std::string> find_table(const std::string& device);

/// "chunk_fused block_v=64,chunk=32"
std::string describe(const TunedChoice& choice);

/// A report for people: one entry a line, with winner, margin, ties and regret.
std::string table_report(const TunedTable& table, bool markdown, std::size_t width = 0);

}  // namespace gla_bench
