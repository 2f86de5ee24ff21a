#pragma once
// A right host variant to which a fault is added, and the bench that verifies it through the real
// host backend.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "core/problem.hpp"
#include "harness/backends/backend.hpp"
#include "harness/verify/verify.hpp"
#include "kernels/linear_recurrence/params.h"

namespace gla_bench {

inline Problem small_problem() {
  Problem problem;
  problem.op = "gla";
  problem.shape = {2, 150, 2, 16, 24};
  problem.gate = "mild";
  return problem;
}

using Fault = std::function<void(const LinearRecurrenceParams&)>;

// A right host variant that commits `fault` after each call.
inline Variant faulty(Fault fault, const std::string& honest = "recurrent") {
  Variant variant = *find_variant("gla", honest, BackendId::host);
  const auto right = std::get<std::function<void(const HostCall&)>>(variant.code);
  variant.code = [right, fault](const HostCall& call) {
    right(call);
    LinearRecurrenceParams params;
    std::memcpy(&params, call.params.data(), sizeof params);
    fault(params);
  };
  return variant;
}

struct Bench {
  explicit Bench(const Problem& problem)
      : truth(*find_operator("gla"), problem, find_operator("gla")->draw(problem)) {}

  void stage(const Variant& variant) {
    workset = backend->stage(truth.op(), truth.problem(), truth.inputs());
    Tile tile;
    for (const TileAxis& axis : variant.space) tile[axis.name] = axis.values.front();
    plan = backend->build({&variant, truth.problem(), tile});
    plan->prepare(*workset);
  }
  Verification verify(const Variant& variant) {
    stage(variant);
    return verify_candidate(*workset, *plan, truth, Arithmetic::float32, default_tolerance(),
                            {.reproducible = variant.reproducible});
  }

  std::unique_ptr<Backend> backend = make_host_backend({.threads = 1});
  ProblemTruth truth;
  std::unique_ptr<Workset> workset;
  std::unique_ptr<Plan> plan;
};

inline float* output(const LinearRecurrenceParams& p) {
  return static_cast<float*>(p.o);
}

// Start of o's row of (batch, token, head), seq first.
inline float* row(const LinearRecurrenceParams& p, long long b, long long t, long long h) {
  return output(p) + b * p.value_strides.batch + t * p.value_strides.seq +
         h * p.value_strides.heads;
}

inline void expect_fault(const Fault& fault, std::string_view check, const std::string& part,
                         const std::string& honest = "recurrent") {
  Bench bench(small_problem());
  const Variant variant = faulty(fault, honest);
  const Verification result = bench.verify(variant);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.check, check);
  EXPECT_NE(result.fault.find(part), std::string::npos) << result.fault;
}

}  // namespace gla_bench
