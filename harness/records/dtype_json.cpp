#include "harness/records/dtype_json.hpp"

namespace gla_bench {

DType read_dtype(const JsonNode& node) {
  if (node.is_string())
    if (const std::optional<DType> dtype = parse_dtype(node.text())) return *dtype;
  std::vector<std::string> names;
  for (const DType dtype : problem_dtypes) names.emplace_back(name(dtype));
  return *parse_dtype(node.one_of(names, "a dtype"));
}

}  // namespace gla_bench
