#pragma once
// A record as a row of named values. CSV, JSON and the page all take their columns from this list.

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "harness/records/contest.hpp"
#include "harness/report/bound_by.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// A record with what is needed to compute its values.
struct ReportRow {
  const Results* file = nullptr;
  const Record* record = nullptr;
  std::size_t place = 0;  ///< in the file, counted from 1
  double copy_gb_per_s = 0;
  Json problem;  ///< problem_to_json()
  BoundVerdict bound;
  // What follows is about the record's contest. The defaults are those of a row without one
  // (row_without_contest()).
  std::size_t contest = 0;  ///< counted from 0, the same for all records of the contest
  Standing standing = Standing::not_timed;
  const Entrant* entrant = nullptr;  ///< null for a row that does not stand for its variant
  std::size_t rank = 0;              ///< among the entrants, or among the peers; from 1, 0: none
  std::vector<std::size_t> ties;     ///< ranks of the entrants that cannot be told apart from it
};

/// The rows of some files in their order, and the contests that the rows belong to.
struct ReportRows {
  std::vector<Contest> contests;
  std::vector<ReportRow> rows;
};

/// The caller keeps `files` alive for as long as these rows.
ReportRows report_rows(std::span<const Results> files);

/// A row by itself, for which no contest is decided.
ReportRow row_without_contest(const Results& results, std::size_t index);

/// The digits that the page keeps of a number that CSV and JSON do not show: two more than any view
/// has. shorten_to() cuts them, so that rounding for a view shows what the whole number would.
constexpr int page_digits = 6;

struct ReportColumn {
  std::string name;
  bool in_text = true;      ///< a column of CSV and JSON
  bool in_page = false;     ///< a column of the page
  bool of_contest = false;  ///< it says how the record stands among the others
  int digits = 0;           ///< significant digits that the page keeps of a number; 0: no fraction
  /// Null where there is nothing. In CSV and JSON each member of an object is a column of its own.
  std::function<Json(const ReportRow&)> value;
};

const std::vector<ReportColumn>& report_columns();

/// "a=1,b=2"
std::string pairs_text(const Json& object);

}  // namespace gla_bench
