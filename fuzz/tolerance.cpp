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
  const BaselineError baseline{1e-3, 2e-3, 0.5, 4096, 64};
  for (const Arithmetic arithmetic :
       {Arithmetic::float32, Arithmetic::tf32, Arithmetic::float16, Arithmetic::bfloat16})
    for (const DType output : {DType::float32, DType::bfloat16, DType::float16}) {
      const double most = cap(tolerance, arithmetic, output);
      if (!(bounds(tolerance, arithmetic, output, baseline).rel_l2 <= most)) std::abort();
    }
  return 0;
}
