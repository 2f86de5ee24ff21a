#include "harness/report/shown_name.hpp"

namespace gla_bench {

std::string shown_name(const Record& record) {
  const bool rounds = record.verification && record.verification->arithmetic == Arithmetic::tf32;
  return record.variant + (rounds ? " (tf32)" : "");
}

}  // namespace gla_bench
