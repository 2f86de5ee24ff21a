#include "harness/measure/counted.hpp"

#include <gtest/gtest.h>

#include "tests/support/toy.hpp"

namespace gla_bench {
namespace {

constexpr const char* tensor = "sm__inst_executed_pipe_tensor.sum";

/// A call of gla that read its inputs and issued as many instructions as a chunked form does.
Record counted() {
  Record record;
  record.problem.op = "gla";
  record.problem.dtype = DType::bfloat16;
  record.problem.shape = {4, 2048, 16, 128, 128};
  record.problem.gate = "mild";
  record.status = Status::measured;
  record.verification = Verification{};
  record.verification->ok = true;
  record.verification->arithmetic = Arithmetic::bfloat16;
  CounterReading reading;
  reading.source = CounterSource::cupti;
  reading.dram_read_bytes = 4.0 * 2048 * 16 * 128 * 2 * 4;  // q, k, v, g
  reading.metrics[tensor] = 1e6;
  record.io.measured = reading;
  return record;
}

std::string fault_of(const Record& record) {
  const auto fault = counted_fault(*find_operator("gla"), record);
  return fault ? std::string(fault->check) + ": " + fault->text : "none";
}

TEST(Counted, WhatAgreesWithTheWorkPasses) {
  EXPECT_EQ(fault_of(counted()), "none");
  Record none = counted();
  none.io.measured.reset();
  EXPECT_EQ(fault_of(none), "none");
  none.io.measured = CounterReading{.source = CounterSource::denied, .reason = "not allowed"};
  EXPECT_EQ(fault_of(none), "none");
}

TEST(Counted, ReadingLessThanTheInputsIsAFault) {
  Record record = counted();
  *record.io.measured->dram_read_bytes *= 0.99;
  EXPECT_EQ(fault_of(record), "none") << "within the counters' own error";
  *record.io.measured->dram_read_bytes *= 0.75;  // v was never looked at
  EXPECT_EQ(fault_of(record),
            "counted_reads: the device read 99656663 bytes, the inputs have 134217728");
  *record.io.measured->dram_read_bytes = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(fault_of(record), "none");
}

TEST(Counted, TooFewTensorInstructionsAreAFault) {
  Record record = counted();
  record.io.measured->metrics[tensor] = 100;
  EXPECT_EQ(fault_of(record).find("tensor_instructions: 100 instructions on the tensor cores"), 0u)
      << fault_of(record);
  record.io.measured->metrics[tensor] = 0;
  EXPECT_NE(fault_of(record), "none");
  record.verification->arithmetic = Arithmetic::float32;
  EXPECT_EQ(fault_of(record), "none") << "products in float32 need no tensor cores";
}

TEST(Counted, WhatDecaysMakeSuperfluousMayBeLeftOut) {
  Record record = counted();
  record.problem.op = "decay_attention";
  record.problem.shape = {1, 16384, 16, 128, 128};
  const auto fault = [&] { return counted_fault(*find_operator("decay_attention"), record); };
  record.io.measured->dram_read_bytes = 1e9;
  record.io.measured->metrics[tensor] = 1e6;  // of 8.4 million
  EXPECT_FALSE(fault());
  record.problem.gate = "none";
  EXPECT_TRUE(fault()) << "without decays every pair counts";
  record.problem.gate = "typical";
  record.io.measured->metrics[tensor] = 500;  // each query's own key takes 1024
  EXPECT_TRUE(fault());
}

TEST(Counted, FarKeysThatDecaysMakeSuperfluousMayBeLeftUnread) {
  Record record = counted();
  record.problem.op = "decay_attention";
  record.problem.shape = {1, 64, 2, 64, 64, 131072};
  record.problem.gate = "strong";
  const auto fault = [&] { return counted_fault(*find_operator("decay_attention"), record); };
  const double keys = 131072.0 * 2 * 64 * 2;
  record.io.measured->metrics.clear();
  record.io.measured->dram_read_bytes = keys;  // all of k, and next to nothing of v
  EXPECT_FALSE(fault());
  record.io.measured->dram_read_bytes =
      4e5;  // queries, their own keys and values, all log decays: 573,440
  EXPECT_TRUE(fault());
  record.io.measured->dram_read_bytes = keys;
  record.problem.gate = "none";
  EXPECT_TRUE(fault()) << "without decays every key counts";
}

TEST(Counted, QueriesThatSeeNoKeyMayBeLeftUnread) {
  Record record = counted();
  record.problem.op = "attention";
  record.problem.gate = "normal";
  record.problem.shape = {1, 4096, 2, 64, 64, 128};
  record.io.measured->metrics.clear();
  record.io.measured->dram_read_bytes = 3 * 128.0 * 2 * 64 * 2;  // the last 128 queries, k and v
  const auto fault = [&] { return counted_fault(*find_operator("attention"), record); };
  EXPECT_FALSE(fault());
  *record.io.measured->dram_read_bytes *= 0.9;
  EXPECT_TRUE(fault());
  *record.io.measured->dram_read_bytes /= 0.9;
  record.problem.options["causal"] = "false";
  EXPECT_TRUE(fault()) << "without a causal mask every query sees the keys";
}

}  // namespace
}  // namespace gla_bench
