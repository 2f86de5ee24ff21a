#pragma once
// Matches rows before their times are judged: which rows are compared, and what their statuses say.

#include <optional>
#include <vector>

#include "harness/judge/comparison.hpp"

namespace gla_bench {

struct MatchedRow {
  const Record* base = nullptr;   ///< null: the row is new
  const Record* fresh = nullptr;  ///< null: the row is missing
};

/// The rows in the new file's order, then those that only the base has. Peers are left out.
/// @throws InputError for a row that is in one file twice
std::vector<MatchedRow> match_rows(const Results& base, const Results& fresh);

/// True for statuses that are a fault of the candidate.
bool is_fault(Status status);

/// Judges the row by its statuses alone; returns nothing where neither could be run. The verdict is
/// empty where both were measured, so that the times decide. `paired`: both times are in the new
/// row's rounds.
std::optional<ComparedRow> judge_standing(const MatchedRow& row, const ComparisonPolicy& policy,
                                          bool paired);

}  // namespace gla_bench
