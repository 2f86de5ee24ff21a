#pragma once
// Treats some rows of a problem's batch as a problem of their own.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/operator.hpp"

namespace gla_bench {

/// Rows [first, first + count) of the batch.
struct BatchRows {
  std::int64_t first = 0, count = 0;
};

/// The problem with a batch of `count`.
Problem with_batch(const Problem& problem, std::int64_t count);

/// The number of elements of each tensor that belong to one row of the batch. It is 0 for a tensor
/// that does not grow with the batch and that all rows share.
std::map<std::string, std::int64_t> elements_per_row(const Operator& op, const Problem& problem);

/// These rows of the inputs. @throws InputError for a missing input
HostTensors rows_of(const Operator& op, const Problem& problem, const HostTensors& inputs,
                    BatchRows rows);

/// Copies the outputs of with_batch(problem, rows.count) into the outputs of the whole problem,
/// which already have their full sizes. An output that does not grow with the batch is copied as it
/// is.
template <class Real>
void put_rows(const std::map<std::string, std::int64_t>& per_row, BatchRows rows,
              const std::map<std::string, std::vector<Real>>& part,
              std::map<std::string, std::vector<Real>>& whole) {
  for (const auto& [name, values] : part)
    std::copy(values.begin(), values.end(), whole.at(name).begin() + rows.first * per_row.at(name));
}

}  // namespace gla_bench
