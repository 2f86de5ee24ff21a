#pragma once
// Problems and records as JSON, both ways, by the fields that their structs declare.

#include "harness/records/record.hpp"
#include "harness/records/selection.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// "operator" to "options": the members of a record that say what was asked.
Json problem_to_json(const Problem& problem);

/// A record as one object.
Json record_to_json(const Record& record);

/// How `auto` came to a candidate, as a record has it.
Json chosen_by_to_json(const ChosenBy& by);

/// A candidate's names and its problem as one object.
Json selection_to_json(const Selection& selection);

/// The problem out of a record's members. @throws InputError
Problem read_problem(const JsonNode& node);

/// What selection_to_json() writes. @throws InputError, for unknown keys too
Selection read_selection(const JsonNode& node);

/// A results file's environment, both ways. @throws InputError
Json facts_to_json(const Facts& facts);
Facts read_facts(const JsonNode& node);

/// What record_to_json() writes. @throws InputError, for unknown keys too
Record read_record(const JsonNode& node);

}  // namespace gla_bench
