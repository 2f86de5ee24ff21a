#pragma once
// How far a candidate may be from float64. The bounds depend on the arithmetic that it declares, on
// the output's dtype, and on the error of a plain computation from the same inputs.

#include <cstdint>
#include <map>
#include <string>

#include "core/problem.hpp"
#include "core/tensor.hpp"

namespace gla_bench {

/// How far one output is from the reference, by the three measures that have a bound.
struct OutputErrors {
  double rel_l2 = 0;
  double worst_chunk_rel_l2 = 0;
  double max_abs = 0;
};

/// The means of signed errors (value_tests.hpp).
struct SignedMeans {
  double along = 0;  ///< of error times value, over the sum of squares
  double plain = 0;  ///< of errors, over the sum of absolute values
};

/// The share of a tensor's values that would fit a shorter format (value_tests.hpp).
struct CoarseShares {
  double bfloat16 = 0;  ///< with 8 bits of significand
  double float16 = 0;   ///< with 11 bits, which tf32 has as well
};

/// The errors that the bounds of one output are tied to, and the sizes that their floors depend on.
struct BaselineError {
  OutputErrors stored;    ///< of the plain computation, rounded to the output's dtype
  OutputErrors computed;  ///< of the plain computation before that
  OutputErrors rounding;  ///< of the exact result, rounded to the output's dtype
  std::int64_t elements = 1;
  std::int64_t smallest_chunk = 1;  ///< elements of the smallest chunk
  SignedMeans signs = {};           ///< of the plain computation before it is rounded
  CoarseShares coarse = {};         ///< of the plain computation before it is rounded
  /// The largest value over the root mean square, of a running sum (TensorSpec::running_sum); else
  /// 0. What rounds off at a large value stays in the sum where it passes zero again.
  double largest_of_sum = 0;
};

/// The bounds of one output.
struct Bounds : OutputErrors {
  /// What rel_l2 may be before the output is rounded to its dtype, and what that rounding adds.
  double computed = 0, rounding = 0;
  /// Whether that error is of float32's size. Otherwise it comes from rounded factors, whose errors
  /// are independent.
  bool as_float32 = false;
  /// What may have a common sign: an error of float32's size, or `factor` times what the plain
  /// computation's errors have (whole numbers plus a half, all rounded away from zero).
  SignedMeans common = {};
  /// What errors along the values may have in common on top, away from zero and towards it.
  ///
  /// Away from zero: a value that is on the grid already, times a decay just below 1, rounds back
  /// to the value. All batches, keys and values of a token then err by what the decay lacks to 1,
  /// and no number of them averages that out. A chunk's decays are powers of one, so that the mean
  /// over its tokens is a quarter of the unit roundoff at most, for each decayed factor.
  ///
  /// Towards zero: a tensor core drops what does not fit its sum of float32. A sum of n products is
  /// added to in n / 16 steps (n / 8 in tf32), each of which loses half a unit of the last place.
  /// Where all tokens have one decay (TensorSpec::decays_alike), it is rounded to either side for
  /// all of them, so that what values may err outwards they may err inwards as well.
  double outwards = 0, inwards = 0;
};

/// The policy of configs/tolerance.json. Two bounds are computed, and the smaller one counts.
///
/// The first one knows only the sizes of the errors. The error of an output is governed by the
/// coarser of the arithmetic and the output's dtype, so the numbers of the coarser one apply:
///
///   cap   = the larger of cap(arithmetic) and cap(dtype of the output), for rel_l2;
///           times `worst_chunk` for a chunk, times `max_abs` for the largest single error, which
///           in a running sum may always be one rounding of the largest value (largest_of_sum)
///   floor = u (steady + small / sqrt(n)), u the unit roundoff, n the elements of the tensor or of
///           its smallest chunk; for max_abs u (steady + small) max(1, sqrt(2 ln n)), what the
///           largest of n normal errors is expected to be
///   bound = min(cap, max(factor * error of the plain computation, floor))
///
/// The floor is there because the plain computation may have no rounding error at all. That may be
/// luck (one element, whole numbers). It may also be because the recurrence adds k v^T to the state
/// without rounding the operands, where every chunk form has to round the decayed keys first. The
/// floor allows each element one whole rounding.
///
/// The second one takes apart what the output's dtype costs and what the computation may add:
///
///   computed = max(factor * error of the plain computation before it is rounded, floor), with
///              floor as above for float32, and u one_rounding sqrt(f) (1 + small / sqrt(n)) for
///              an arithmetic of 16 bits or tf32, f the factors that it may round
///              (TensorSpec::rounded_factors, and two more for tf32, which rounds the inputs).
///              n counts the elements that share a rounding once (TensorSpec::alike)
///   bound    = rounding + 2 computed, where the computation is exact to float32: an error below
///              the last place that is kept moves few elements, each by its own size at most
///   bound    = sqrt(r^2 + computed^2) otherwise, r = max(slack * rounding,
///              u one_rounding (1 + small / sqrt(n)))
///
/// `rounding` is the error that the exact result has after it is rounded to the output's dtype.
/// With it, a candidate that declares float32 must round its bfloat16 outputs to nearest (0.0017,
/// where truncation has 0.0033), and a float32 output of 16-bit products has no room for a second
/// rounding. Outputs with two and more rounded factors keep the first bound, which is as tight.
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
  /// rel_l2 that one rounding to nearest may have, in unit roundoffs. It has 0.42 of them where
  /// mantissas are as common as logarithms are.
  double one_rounding = 0.53;
  double slack = 1.25;  ///< of the error that rounding the exact result has
  double sigmas = 6;    ///< how far the signed mean may be from 0, in standard deviations

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

/// The bounds of an output with this dtype, of which `rounded_factors` factors may be rounded, each
/// of `alike` elements at once.
Bounds bounds(const Tolerance& tolerance, Arithmetic arithmetic, DType output, int rounded_factors,
              const BaselineError& baseline, std::int64_t alike = 1);
/// The same with what the output's sums and decays give errors in common.
Bounds bounds(const Tolerance& tolerance, Arithmetic arithmetic, const TensorSpec& output,
              const BaselineError& baseline);

}  // namespace gla_bench
