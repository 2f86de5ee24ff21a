#include "harness/report/bound_by.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

/// 1 ms on a device of 4000 GB/s and 800 TFLOP/s: `gigabytes` of 4, `teraflops` of 0.8.
RoofFigures call(double gigabytes, double teraflops) {
  return {1.0, gigabytes * 1e9, BytesFrom::counted, teraflops * 1e12, 4000, 800, true};
}

TEST(BoundBy, TheNearerCeilingFromSixTenthsOn) {
  EXPECT_EQ(bound_by(call(3.8, 0.24)).by, BoundBy::memory);
  EXPECT_EQ(bound_by(call(0.4, 0.72)).by, BoundBy::tensor_cores);
  EXPECT_EQ(bound_by(call(3.2, 0.72)).by, BoundBy::tensor_cores) << "80 % and 90 %";
  EXPECT_EQ(bound_by(call(3.6, 0.64)).by, BoundBy::memory) << "90 % and 80 %";
  EXPECT_EQ(bound_by(call(2.4, 0)).by, BoundBy::memory) << "60 %, operations not known";
  EXPECT_EQ(bound_by(call(2.3, 0.47)).by, BoundBy::latency) << "57 % and 59 %";
  EXPECT_EQ(bound_by(call(2.3, 0.47), 0.5).by, BoundBy::tensor_cores);
}

TEST(BoundBy, PlainUnitsAreNoTensorCores) {
  RoofFigures figures = call(0.4, 0.72);
  figures.tensor_cores = false;
  EXPECT_EQ(bound_by(figures).by, BoundBy::arithmetic);
  EXPECT_NE(bound_by(figures).why.find("90 % of the float32 units' peak"), std::string::npos);
}

TEST(BoundBy, SaysTheSharesAndWhereTheBytesComeFrom) {
  const BoundVerdict verdict = bound_by(call(3.76, 0.048));
  EXPECT_DOUBLE_EQ(verdict.of_copy, 0.94);
  EXPECT_DOUBLE_EQ(verdict.of_peak, 0.06);
  EXPECT_EQ(verdict.why,
            "94 % of the copy rate (counted bytes), 6.0 % of the tensor cores' peak (modelled "
            "operations)");
  RoofFigures modelled = call(3.76, 0.048);
  modelled.bytes_from = BytesFrom::modelled;
  EXPECT_NE(bound_by(modelled).why.find("(modelled bytes)"), std::string::npos);
}

TEST(BoundBy, WhatIsNotKnownProvesNothing) {
  RoofFigures figures = call(0.4, 0.08);
  EXPECT_EQ(bound_by(figures).by, BoundBy::latency);
  figures.bytes_from = BytesFrom::floor;
  EXPECT_EQ(bound_by(figures).by, std::nullopt) << "it may move far more than the floor";
  figures.bytes = 3.6e9;
  EXPECT_EQ(bound_by(figures).by, BoundBy::memory) << "and not less";
  for (const auto spoil :
       {+[](RoofFigures& f) { f.copy_gb_per_s = 0; }, +[](RoofFigures& f) { f.tflop_per_s = 0; },
        +[](RoofFigures& f) { f.flops = 0; }, +[](RoofFigures& f) { f.cold_ms = 0; },
        +[](RoofFigures& f) { f.bytes = std::numeric_limits<double>::quiet_NaN(); }}) {
    RoofFigures spoilt = call(0.4, 0.08);
    spoil(spoilt);
    EXPECT_EQ(bound_by(spoilt).by, std::nullopt) << bound_by(spoilt).why;
  }
}

Record record_in(Arithmetic arithmetic) {
  Record record;
  record.problem = toy::problem();
  record.backend = BackendId::cuda;
  record.status = Status::measured;
  record.verification.emplace().arithmetic = arithmetic;
  record.timing.emplace().cold.median_ms = 1;
  record.io = {1e9, 1.5e9, 0.5e9, 0};
  record.flops = 5e10;
  return record;
}

/// An H200's figures, rounded.
Facts device() {
  return {{"architecture", "sm_90a"},
          {"multiprocessors", 132.0},
          {"max_clock_mhz", 1980.0},
          {"copy_gb_per_s", 4000.0},
          {"matrix_tflop_per_s", 800.0}};
}

TEST(BoundBy, CountedBytesComeBeforeModelledOnes) {
  Record record = record_in(Arithmetic::bfloat16);
  EXPECT_DOUBLE_EQ(bound_by(record, device()).of_copy, 0.5);
  EXPECT_EQ(bound_by(record, device()).by, BoundBy::latency);
  CounterReading& reading = record.io.measured.emplace();
  reading.dram_read_bytes = 3e9;
  reading.dram_write_bytes = 0.6e9;
  EXPECT_DOUBLE_EQ(bound_by(record, device()).of_copy, 0.9);
  EXPECT_EQ(bound_by(record, device()).by, BoundBy::memory);
}

TEST(BoundBy, EachArithmeticHasItsOwnPeak) {
  // 5e10 operations in 1 ms are 50 TFLOP/s; 132 multiprocessors of 128 lanes at 1.98 GHz do 66.9.
  EXPECT_DOUBLE_EQ(bound_by(record_in(Arithmetic::bfloat16), device()).of_peak, 50.0 / 800);
  EXPECT_DOUBLE_EQ(bound_by(record_in(Arithmetic::tf32), device()).of_peak, 50.0 / 400);
  const BoundVerdict plain = bound_by(record_in(Arithmetic::float32), device());
  EXPECT_NEAR(plain.of_peak, 50 / 66.9, 0.001);
  EXPECT_EQ(plain.by, BoundBy::arithmetic);
  Facts ampere = device();
  ampere["architecture"] = std::string("sm_80");
  EXPECT_NEAR(bound_by(record_in(Arithmetic::float32), ampere).of_peak, 2 * 50 / 66.9, 0.001);
  Record host = record_in(Arithmetic::float32);
  host.backend = BackendId::host;
  EXPECT_DOUBLE_EQ(bound_by(host, {{"matrix_tflop_per_s", 0.1}}).of_peak, 500);
}

TEST(BoundBy, PeersSuspectAndUntimedRecordsAreNotJudged) {
  Record peer = record_in(Arithmetic::bfloat16);
  peer.peer = true;
  peer.io = {1e9, 0, 0, 0};
  EXPECT_EQ(bound_by(peer, device()).by, std::nullopt);
  Record suspect = record_in(Arithmetic::float32);
  suspect.timing->suspect = true;
  EXPECT_EQ(bound_by(suspect, device()).by, std::nullopt);
  EXPECT_EQ(bound_by(suspect, device()).why, "no time that counts");
  Record refused = record_in(Arithmetic::float32);
  refused.timing.reset();
  refused.verification.reset();
  EXPECT_EQ(bound_by(refused, device()).by, std::nullopt);
}

}  // namespace
}  // namespace gla_bench
