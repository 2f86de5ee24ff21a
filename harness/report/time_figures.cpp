#include "harness/report/time_figures.hpp"

namespace gla_bench {

double rate_over_ms(double amount, double ms, double one) {
  return amount > 0 && ms > 0 ? amount / (ms * one) : unknown_number;
}

TimeFigures time_figures(const Record& record, double copy_gb_per_s) {
  TimeFigures figures;
  const double bytes = record.io.floor_bytes;
  if (bytes > 0 && copy_gb_per_s > 0) figures.floor_ms = bytes / (copy_gb_per_s * 1e6);
  if (!record.timing) return figures;
  figures.cold_ms = record.timing->cold.median_ms;
  if (record.timing->hot) figures.hot_ms = record.timing->hot->median_ms;
  if (record.timing->sustained) figures.sustained_ms = record.timing->sustained->median_ms;
  if (figures.cold_ms > 0) figures.of_floor = figures.floor_ms / figures.cold_ms;
  figures.gb_per_s = rate_over_ms(bytes, figures.cold_ms, 1e6);
  figures.tflop_per_s = rate_over_ms(record.flops, figures.cold_ms, 1e9);
  return figures;
}

}  // namespace gla_bench
