#pragma once
// How far a candidate may be from float64. The bounds depend on the arithmetic that it declares, on
// the output's dtype, and on the error of a plain computation from the same inputs.

#include <cstdint>
#include <map>
#include <string>

#include "core/problem.hpp"

namespace gla_bench {

/// Errors of the plain computation on one output, and the sizes that its floors depend on.
struct BaselineError {
  double rel_l2 = 0;
  double worst_chunk_rel_l2 = 0;
  double max_abs = 0;
  std::int64_t elements = 1;
  std::int64_t smallest_chunk = 1;  ///< elements of the smallest chunk
};

/// The bounds of one output.
struct Bounds {
  double rel_l2 = 0;
  double worst_chunk_rel_l2 = 0;
  double max_abs = 0;
};

/// The policy of configs/tolerance.json. The error of an output is governed by the coarser of the
/// arithmetic and the output's dtype, so the numbers of the coarser one apply:
///
///   cap   = the larger of cap(arithmetic) and cap(dtype of the output), for rel_l2;
///           times `worst_chunk` for a chunk, times `max_abs` for the largest single error
///   floor = u (steady + small / sqrt(n)), u the unit roundoff, n the elements of the tensor or of
///           its smallest chunk; for max_abs u (steady + small) max(1, sqrt(2 ln n)), what the
///           largest of n normal errors is expected to be
///   bound = min(cap, max(factor * error of the plain computation, floor))
///
/// The floor is there because the plain computation may have no rounding error at all. That may be
/// luck (one element, whole numbers). It may also be because the recurrence adds k v^T to the state
/// without rounding the operands, where every chunk form has to round the decayed keys first. The
/// floor allows each element one whole rounding.
struct Tolerance {
  struct PerArithmetic {
    double cap = 0;           ///< rel_l2 of an output
    double factor = 0;        ///< times the plain computation's rel_l2
    double chunk_factor = 0;  ///< times its worst chunk
    double max_factor = 0;    ///< times its max_abs
    double steady = 0;        ///< floor in unit roundoffs, however many elements
    double small = 0;         ///< further unit roundoffs, over sqrt(elements)
  };
  std::map<Arithmetic, PerArithmetic> arithmetic;
  double worst_chunk = 0;  ///< cap of a chunk over the cap of the tensor
  double max_abs = 0;      ///< cap of max_abs over the cap of the tensor

  const PerArithmetic& of(Arithmetic value) const { return arithmetic.at(value); }
};

/// The policy inside the binary (configs/tolerance.json as it was at build time).
const Tolerance& default_tolerance();

/// @throws InputError naming the file, the JSON pointer, what stood there and what was expected.
Tolerance load_tolerance(const std::string& path);

/// Parses a policy; `origin` names it in messages. @throws InputError
Tolerance parse_tolerance(const std::string& text, const std::string& origin);

/// The arithmetic whose cap stands for rounding an output to this dtype.
Arithmetic arithmetic_of(DType dtype);

/// Largest relative error of one rounding: 2^-24, 2^-11 (tf32, float16), 2^-8.
double unit_roundoff(Arithmetic arithmetic);

/// The cap for rel_l2 of an output: no bound in a record may be above it.
double cap(const Tolerance& tolerance, Arithmetic arithmetic, DType output);

/// The bounds of an output.
Bounds bounds(const Tolerance& tolerance, Arithmetic arithmetic, DType output,
              const BaselineError& baseline);

}  // namespace gla_bench
