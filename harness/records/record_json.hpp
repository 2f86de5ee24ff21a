#pragma once
// Problems and records as JSON, both ways. The names are a contract:
// configs/schema/results.schema.json.

#include "harness/records/record.hpp"
#include "harness/support/facts.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

/// "operator" to "tensors": the members of a record that say what was asked.
Json problem_to_json(const Problem& problem);

/// A record as one object. What a record lacks is null.
Json record_to_json(const Record& record);

/// The problem out of a record's members. @throws InputError
Problem read_problem(const JsonNode& node);

/// What a record is of, out of its members. @throws InputError
RecordKey read_key(const JsonNode& node);

/// A results file's environment, both ways. @throws InputError
Json facts_to_json(const Facts& facts);
Facts read_facts(const JsonNode& node);

/// What record_to_json() writes. @throws InputError, for unknown keys too
Record read_record(const JsonNode& node);

}  // namespace gla_bench
