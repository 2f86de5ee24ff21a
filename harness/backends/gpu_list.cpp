#include "harness/backends/gpu_list.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/error.hpp"

namespace gla_bench {

std::vector<int> parse_gpus(std::string_view text) {
  if (text == "all") return {};
  std::vector<int> list;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view part = text.substr(start, end - start);
    int number = -1;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc{} || stop != part.data() + part.size() || number < 0)
      throw InputError("--gpus: found \"" + std::string(text) +
                       "\", expected \"all\" or numbers of GPUs as in 0,1,2");
    if (std::find(list.begin(), list.end(), number) != list.end())
      throw InputError("--gpus: " + std::to_string(number) + " stands twice");
    list.push_back(number);
    start = end + 1;
  }
  return list;
}

}  // namespace gla_bench
