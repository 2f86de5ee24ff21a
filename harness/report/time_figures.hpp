#pragma once
// What a record's time means: the figures that tables, CSV, JSON and the page show of it.

#include "harness/records/record.hpp"
#include "harness/support/numbers.hpp"

namespace gla_bench {

/// NaN for what is not known: of a record without a time, a peer that does not say its operations,
/// a file without a copy rate.
struct TimeFigures {
  double cold_ms = unknown_number, hot_ms = unknown_number, sustained_ms = unknown_number;
  double floor_ms = unknown_number;     ///< what the floor's bytes alone take at the copy rate
  double of_floor = unknown_number;     ///< floor_ms over cold_ms
  double gb_per_s = unknown_number;     ///< the floor's bytes over cold_ms, 1e9 a second
  double tflop_per_s = unknown_number;  ///< the modelled operations over cold_ms, 1e12 a second
};

/// @param copy_gb_per_s is copy_rate() of the record's file; 0: not known
TimeFigures time_figures(const Record& record, double copy_gb_per_s);

/// The rate of an amount in so many milliseconds, where `one` a millisecond is 1: 1e6 bytes for
/// GB/s, 1e9 operations for TFLOP/s. NaN where amount or time is not above 0.
double rate_over_ms(double amount, double ms, double one);

}  // namespace gla_bench
