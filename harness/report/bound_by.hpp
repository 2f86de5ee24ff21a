#pragma once
// What bounds a measured candidate: device memory, the arithmetic units, or neither of them
// (latency). Pure functions of numbers; a part of every report.

#include <optional>
#include <string>
#include <string_view>

#include "harness/records/record.hpp"
#include "harness/support/facts.hpp"

namespace gla_bench {

enum class BoundBy {
  memory,        ///< its bytes move nearly as fast as a large copy's
  tensor_cores,  ///< its products run nearly as fast as a large matrix product
  arithmetic,    ///< its operations run nearly as fast as the plain (not tensor) units allow
  latency  ///< far below both: it waits for a chain of steps or a launch, or has too few blocks
};
std::string_view name(BoundBy bound);

/// The source of the number of bytes of a call.
enum class BytesFrom {
  counted,   ///< the device counted them
  modelled,  ///< the variant's model gives them
  floor      ///< neither: the least that any implementation moves
};

/// What a call does, and what the device can do at best. NaN or 0 where a figure is not known.
struct RoofFigures {
  double cold_ms = 0;
  double bytes = 0;  ///< through device memory, read plus written
  BytesFrom bytes_from = BytesFrom::modelled;
  double flops = 0;
  double copy_gb_per_s = 0;   ///< of a large copy: bytes read plus bytes written, 1e9 a second
  double tflop_per_s = 0;     ///< of the units that the operations run on, 1e12 a second
  bool tensor_cores = false;  ///< those units are tensor cores
};

struct BoundVerdict {
  std::optional<BoundBy> by;  ///< nothing: the known figures do not decide it
  double of_copy = 0;         ///< bytes a second over the copy rate; NaN where not known
  double of_peak = 0;         ///< operations a second over the peak; NaN where not known
  std::string why;  ///< "94 % of the copy rate (counted bytes), 31 % of the tensor cores' peak
                    ///< (modelled operations)"
};

/// A candidate that reaches this share of a ceiling is taken to be bound by it.
constexpr double near_ceiling = 0.6;

/// The nearer one of the two ceilings where its share is `near` or more, else latency. Nothing
/// where an unknown share would have to be below `near`. Bytes that are the floor's are a lower
/// bound: they can prove that a ceiling is near, but not that it is far.
BoundVerdict bound_by(const RoofFigures& figures, double near = near_ceiling);

/// A record's figures with its file's ceilings. The copy rate and the rate of matrix products are
/// measured (environment.hpp); a tf32 product has half of the latter rate. The peak of float32
/// operations on a GPU is two for each float32 lane and cycle at its highest clock. On the host it
/// is the rate of its matrix products. A suspect time counts as unknown.
RoofFigures roof_figures(const Record& record, const Facts& environment);

/// Both.
BoundVerdict bound_by(const Record& record, const Facts& environment);

}  // namespace gla_bench
