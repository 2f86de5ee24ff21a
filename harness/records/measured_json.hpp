#pragma once
// What the device counted and used, as JSON, both ways: parts of a record (record_json.hpp).

#include "harness/records/record.hpp"
#include "harness/support/json.hpp"

namespace gla_bench {

Json reading_to_json(const CounterReading& reading);
Json energy_to_json(const Energy& energy);

/// What those two write. @throws InputError, for unknown keys too
CounterReading read_reading(const JsonNode& node);
Energy read_energy(const JsonNode& node);

}  // namespace gla_bench
