#pragma once
// "--gpus 0,2" or "--gpus all".

#include <string_view>
#include <vector>

namespace gla_bench {

/// The GPU numbers in the order of the text; empty for "all". @throws InputError for any other
/// text, and for a repeated number
std::vector<int> parse_gpus(std::string_view text);

}  // namespace gla_bench
