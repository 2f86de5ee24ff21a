#include "harness/support/statistics/quantiles.hpp"

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace gla_bench {

double normal_cdf(double z) {
  return boost::math::cdf(boost::math::normal(), z);
}

double normal_quantile(double p) {
  return boost::math::quantile(boost::math::normal(), p);
}

double student_quantile(double p, double degrees) {
  return boost::math::quantile(boost::math::students_t(degrees), p);
}

}  // namespace gla_bench
