// Tolerance files; of one that is taken every bound is at most its cap.

#include "harness/verify/tolerance.hpp"

#include <cstdlib>

#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gla_bench;
  Tolerance tolerance;
  const auto read = [&] {
    tolerance = parse_tolerance(std::string(fuzz::text_of(data, size)), "input");
  };
  if (!fuzz::takes("input", read)) return 0;
  constexpr OutputErrors stored{1e-3, 2e-3, 0.5}, computed{1e-6, 2e-6, 1e-3};
  const BaselineError baseline{stored, computed, stored, 4096, 64};
  for (const Arithmetic arithmetic :
       {Arithmetic::float32, Arithmetic::tf32, Arithmetic::float16, Arithmetic::bfloat16})
    for (const DType output : {DType::float32, DType::bfloat16, DType::float16})
      for (const int rounded_factors : {0, 1, 3}) {
        const double most = cap(tolerance, arithmetic, output);
        const Bounds bound = bounds(tolerance, arithmetic, output, rounded_factors, baseline);
        if (!(bound.rel_l2 <= most)) std::abort();
      }
  return 0;
}
