#pragma once
// One candidate by itself, as a record names it. Rows are repeated, profiled and sanitized by it.

#include <string>

#include "core/catalog.hpp"
#include "harness/records/record.hpp"

namespace gla_bench {

/// A candidate by names.
struct Selection {
  Problem problem;
  std::string variant;
  BackendId backend = BackendId::host;
  Tile tile;
  std::string manifest = {};  ///< as in the record
};

Selection selection_of(const Record& record);

/// The selection as one JSON object on one line: the members that a record has for it, without
/// those that are null.
std::string selection_text(const Selection& selection);

/// What selection_text() writes, or FILE#ROW: a record of a results file, counted from 1.
/// @throws InputError
Selection read_selection(const std::string& text);

/// Finds the candidate in a catalog. @throws InputError for what the catalog lacks, for a tile that
/// is not in the variant's space, and with the variant's reason where the variant refuses
Candidate find_candidate(const Selection& selection, const Catalog& catalog, const Limits& limits);

/// An argument as a shell takes it: quoted where it has to be.
std::string shell_quoted(const std::string& argument);

}  // namespace gla_bench
