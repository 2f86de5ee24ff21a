#pragma once
// Records as flat rows, for scripts and for choosing among them: CSV, JSON, `--where`.

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/record_file.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// The records as flat objects, with null where there is nothing. First come file and row (counted
/// from 1, as FILE#ROW takes it), the problem (each extent by its name, options as "a=b,c=d"), the
/// candidate (its tile likewise), its status and the reason. Then comes how it stands in its
/// contest (contest.hpp): standing, rank among those that stand for their variants, and
/// over_winner, its time over the winner's, with the interval over_winner_low to over_winner_high.
/// The rest is cold_ms, hot_ms and sustained_ms, of_floor (time of the floor bytes at the copy rate
/// over the cold time), bytes (floor, model, measured, workspace), error and bound of the output
/// that uses most of its bound, joules, of_copy, of_peak, bound_by and bound_why (bound_by.hpp),
/// and the command that repeats it.
std::vector<Json> flat_rows(std::span<const Results> files);

/// The row of a single record, without the values that depend on other records.
Json flat_row(const Results& results, std::size_t index);

/// The rows as CSV (RFC 4180, LF). There is a column for each key of any row, in the order in which
/// the keys first appear.
std::string csv_of(const std::vector<Json>& rows);

/// Conditions that all have to hold, separated by commas: key=value, key!=value, and of numbers
/// <, <=, >, >=; several values by "|": "operator=gla,dtype=bf16|fp16,seq>=4096,chunk=64". Keys are
/// flat_row()'s, the tile's axes and the options; who wins is decided only among what is left.
/// A dtype has any name that parse_dtype() takes.
class RecordFilter {
 public:
  /// @throws InputError for text that is not of this form
  explicit RecordFilter(std::string_view text);

  /// The file with only the records that fulfil the conditions. @throws InputError for a key, or a
  /// value of it, that no record of `files` has; the message lists those that exist
  std::vector<Results> of(const std::vector<Results>& files) const;

 private:
  struct Condition {
    std::string key, relation;
    std::vector<std::string> values;
  };

  static bool holds(const Condition& condition, const Json& value);
  void refuse_unknown_values(const std::map<std::string, std::set<Json>>& values) const;

  std::vector<Condition> conditions_;
};

}  // namespace gla_bench
