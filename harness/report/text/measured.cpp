#include "harness/report/text/measured.hpp"

#include <cmath>

#include "core/tile.hpp"
#include "harness/backends/counters.hpp"
#include "harness/report/shown_name.hpp"
#include "harness/support/numbers.hpp"
#include "harness/support/text.hpp"

namespace gla_bench {
namespace {

constexpr double tolerated = 0.1;  // relative difference of measured from modelled bytes

/// NaN where the variant has no model.
double model_bytes(const Record& record) {
  const double bytes = record.io.model_read_bytes + record.io.model_write_bytes;
  return bytes > 0 ? bytes : unknown_number;
}

std::string bytes(const std::optional<double>& value) {
  return value ? format_bytes(*value) : "-";
}

std::string over_model(const Record& record, double last_level_cache) {
  const double ratio = measured_over_model(record);
  const bool large = last_level_cache > 0 && record.io.floor_bytes >= 2 * last_level_cache;
  const bool off = large && std::abs(ratio - 1) > tolerated;
  return format_number(ratio, "%.3f") + (off ? " !" : "");
}

double joules(const Record& record) {
  return record.energy ? record.energy->joules_per_call.value_or(unknown_number) : unknown_number;
}

std::vector<std::string> line(const Record& record, double last_level_cache) {
  const CounterReading none;
  const CounterReading& reading = record.io.measured ? *record.io.measured : none;
  return {shown_name(record),
          record.tile.empty() ? "-" : describe(record.tile),
          bytes(reading.dram_read_bytes),
          bytes(reading.dram_write_bytes),
          over_model(record, last_level_cache),
          format_number(requested_bytes(reading).value_or(unknown_number) / model_bytes(record),
                        "%.3f"),
          format_number(measured_bytes(record) / record.io.floor_bytes, "%.3f"),
          format_joules(joules(record)),
          format_number(record.energy && record.energy->joules_per_call ? record.energy->watts
                                                                        : unknown_number,
                        "%.0f"),
          reading.source == CounterSource::cupti
              ? reading.reason
              : std::string(name(reading.source)) + ": " + reading.reason};
}

/// True where there are figures, or a reason why those of a GPU are missing.
bool is_told(const Record& record) {
  if (record.energy && record.energy->joules_per_call) return true;
  return record.backend == BackendId::cuda && record.io.measured &&
         record.io.measured->source != CounterSource::not_asked;
}

}  // namespace

double measured_bytes(const Record& record) {
  const auto& measured = record.io.measured;
  if (!measured || !measured->dram_read_bytes || !measured->dram_write_bytes) return unknown_number;
  return *measured->dram_read_bytes + *measured->dram_write_bytes;
}

double measured_over_model(const Record& record) {
  return measured_bytes(record) / model_bytes(record);
}

Table measured_table(std::span<const Record* const> records, double last_level_cache) {
  Table table;
  table.columns = {{"variant", false}, {"best tile", false, 4}, {"read", true},
                   {"written", true},  {"of model", true, 3},   {"asked", true, 2},
                   {"of floor", true}, {"energy", true},        {"W", true, 1},
                   {"", false}};
  for (const Record* record : records)
    if (is_told(*record)) table.rows.push_back(line(*record, last_level_cache));
  return table;
}

}  // namespace gla_bench
