#include "harness/commands/shared/dtype_argument.hpp"

#include <string>
#include <vector>

#include "core/problem.hpp"
#include "harness/support/text.hpp"

namespace gla_bench::commands {

CLI::Validator dtype_argument() {
  std::vector<std::string> names;
  for (const DType dtype : problem_dtypes) names.emplace_back(name(dtype));
  const std::string list = join(names);
  const auto to_name = [list](std::string& text) -> std::string {
    const std::optional<DType> dtype = parse_dtype(text);
    if (!dtype) return "found \"" + text + "\", expected one of " + list;
    text = name(*dtype);
    return "";
  };
  return CLI::Validator(to_name, "{" + list + "}");
}

}  // namespace gla_bench::commands
