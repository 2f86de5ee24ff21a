#pragma once
// Which problems have a right answer: what no arithmetic can get right within its bounds is not
// drawn (ProblemSpace::is_well_posed).

#include <cstdint>

#include "core/operator.hpp"

namespace gla_bench {

/// Keys, or queries, where the other side is long.
constexpr std::int64_t few_keys = 8;
/// Rows of the outputs, and of one sequence's gradients. The mean of signed errors is judged by how
/// far independent errors stray, and the errors of a few rows are not independent. The gradient of
/// a query that attends to a single key is a difference of equal numbers; among others it is small.
constexpr std::int64_t least_rows = 16;
/// Tokens of gradients of the layer. Where a token sees little but itself, its output is its value
/// times a number, which the norm removes: gradients of queries are differences of equal numbers.
constexpr std::int64_t least_tokens_of_layer_gradients = 16;

/// Whether an output is one number for each head.
bool has_gradients_of_constants(const Operator& op, const Problem& problem);

/// Whether keys have enough channels for the gradients of quotients, where the problem asks for
/// such gradients.
bool dims_have_gradients(const Problem& problem);

}  // namespace gla_bench
