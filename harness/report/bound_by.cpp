#include "harness/report/bound_by.hpp"

#include <cmath>

#include "harness/backends/sources/architecture.hpp"
#include "harness/report/text/measured.hpp"
#include "harness/support/numbers.hpp"

namespace gla_bench {
namespace {

std::string_view told(BytesFrom from) {
  switch (from) {
    case BytesFrom::counted:
      return "counted bytes";
    case BytesFrom::modelled:
      return "modelled bytes";
    case BytesFrom::floor:
      break;
  }
  return "of the floor's bytes, the only ones known";
}

/// `amount` of a call, over what the ceiling allows in the call's time.
double share_of(double amount, double cold_ms, double per_second) {
  const bool known = cold_ms > 0 && per_second > 0 && amount >= 0;
  return known ? amount / (cold_ms * 1e-3) / per_second : unknown_number;
}

std::string why_of(const RoofFigures& figures, const BoundVerdict& verdict) {
  if (!(figures.cold_ms > 0)) return "no time that counts";
  std::string text = std::isnan(verdict.of_copy)
                         ? std::string("copy rate not known")
                         : format_percent(verdict.of_copy) + " of the copy rate (" +
                               std::string(told(figures.bytes_from)) + ")";
  if (std::isnan(verdict.of_peak)) return text + ", peak or operations not known";
  return text + ", " + format_percent(verdict.of_peak) +
         (figures.tensor_cores ? " of the tensor cores' peak" : " of the float32 units' peak") +
         " (modelled operations)";
}

/// Float32 multiply-adds that a multiprocessor starts in each cycle. Source: NVIDIA's programming
/// guide, throughput of native arithmetic instructions.
double float32_lanes(int arch) {
  return arch == 80 ? 64 : 128;
}

double float32_tflop_per_s(const Facts& environment) {
  const auto arch = parse_architecture(fact_text(environment, "architecture"));
  if (!arch) return 0;
  return 2 * float32_lanes(*arch) * fact_number(environment, "multiprocessors") *
         fact_number(environment, "max_clock_mhz") * 1e-6;
}

void put_peak(const Record& record, const Facts& environment, RoofFigures& figures) {
  if (!record.verification || record.peer) return;  // the units that a peer uses are not known
  const Arithmetic arithmetic = record.verification->arithmetic;
  const double matrix = fact_number(environment, "matrix_tflop_per_s");
  if (record.backend == BackendId::host) {
    figures.tflop_per_s = matrix;
  } else if (arithmetic == Arithmetic::float32) {
    figures.tflop_per_s = float32_tflop_per_s(environment);
  } else {
    figures.tensor_cores = true;
    figures.tflop_per_s = arithmetic == Arithmetic::tf32 ? matrix / 2 : matrix;
  }
}

}  // namespace

std::string_view name(BoundBy bound) {
  switch (bound) {
    case BoundBy::memory:
      return "memory";
    case BoundBy::tensor_cores:
      return "tensor cores";
    case BoundBy::arithmetic:
      return "arithmetic";
    case BoundBy::latency:
      break;
  }
  return "latency";
}

BoundVerdict bound_by(const RoofFigures& figures, double near) {
  BoundVerdict verdict;
  verdict.of_copy = share_of(figures.bytes, figures.cold_ms, figures.copy_gb_per_s * 1e9);
  verdict.of_peak = share_of(figures.flops > 0 ? figures.flops : unknown_number, figures.cold_ms,
                             figures.tflop_per_s * 1e12);
  verdict.why = why_of(figures, verdict);
  const bool memory = verdict.of_copy >= near, units = verdict.of_peak >= near;
  if (units && !(memory && verdict.of_copy >= verdict.of_peak))
    verdict.by = figures.tensor_cores ? BoundBy::tensor_cores : BoundBy::arithmetic;
  else if (memory)
    verdict.by = BoundBy::memory;
  else if (verdict.of_copy < near && verdict.of_peak < near &&
           figures.bytes_from != BytesFrom::floor)
    verdict.by = BoundBy::latency;
  return verdict;
}

RoofFigures roof_figures(const Record& record, const Facts& environment) {
  RoofFigures figures;
  if (record.timing && !record.timing->suspect) figures.cold_ms = record.timing->cold.median_ms;
  figures.bytes = measured_bytes(record);
  figures.bytes_from = BytesFrom::counted;
  if (std::isnan(figures.bytes)) {
    figures.bytes = record.io.model_read_bytes + record.io.model_write_bytes;
    figures.bytes_from = BytesFrom::modelled;
  }
  if (!(figures.bytes > 0)) {
    figures.bytes = record.io.floor_bytes;
    figures.bytes_from = BytesFrom::floor;
  }
  figures.flops = record.flops;
  figures.copy_gb_per_s = fact_number(environment, "copy_gb_per_s");
  put_peak(record, environment, figures);
  return figures;
}

BoundVerdict bound_by(const Record& record, const Facts& environment) {
  return bound_by(roof_figures(record, environment));
}

}  // namespace gla_bench
