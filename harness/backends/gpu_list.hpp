#pragma once
// "--gpus 0,2" or "--gpus all".

#include <string_view>
#include <vector>

namespace gla_bench {

/// The numbers in the text's order; empty for "all". @throws InputError for anything else, and for
/// a number that stands twice
std::vector<int> parse_gpus(std::string_view text);

}  // namespace gla_bench
