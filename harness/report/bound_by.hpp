#pragma once
// What a measured candidate is held up by: device memory, the units that calculate, or neither of
// them. Pure functions of numbers; a part of every report.

#include <optional>
#include <string>
#include <string_view>

#include "harness/records/record.hpp"
#include "harness/support/facts.hpp"

namespace gla_bench {

enum class BoundBy {
  memory,        ///< its bytes come and go nearly as fast as a large copy's
  tensor_cores,  ///< its products are nearly as fast as a large matrix product
  arithmetic,    ///< its operations are nearly as fast as the plain (not tensor) units allow
  latency        ///< far below both: waiting, on a chain of steps, a launch, too few blocks
};
std::string_view name(BoundBy bound);

/// Where the bytes of a call are known from.
enum class BytesFrom {
  counted,   ///< the device counted them
  modelled,  ///< the variant's model
  floor      ///< neither: what any implementation moves at least
};

/// What a call does, and what the device does at its best. NaN or 0 where a figure is not known.
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
  std::optional<BoundBy> by;  ///< nothing: what is known does not say
  double of_copy = 0;         ///< bytes a second over the copy rate; NaN where not known
  double of_peak = 0;         ///< operations a second over the peak; NaN where not known
  std::string why;  ///< "94 % of the copy rate (counted bytes), 31 % of the tensor cores' peak
                    ///< (modelled operations)"
};

/// From this share of a ceiling on it is taken to be what holds a candidate up.
constexpr double near_ceiling = 0.6;

/// The nearer one of the two ceilings where its share is `near` or more, else latency. Nothing
/// where a share that would have to be below `near` is not known; bytes that are the floor's are a
/// lower bound, which proves nearness but not distance.
BoundVerdict bound_by(const RoofFigures& figures, double near = near_ceiling);

/// A record's figures with its file's ceilings. The copy rate and the rate of matrix products are
/// measured ones (environment.hpp); a tf32 product has half of the latter. Operations in float32
/// have on a GPU two for each of its float32 lanes and cycle at its highest clock, on the host the
/// rate of its matrix products. A time that is suspect is not known.
RoofFigures roof_figures(const Record& record, const Facts& environment);

/// Both.
BoundVerdict bound_by(const Record& record, const Facts& environment);

}  // namespace gla_bench
