#pragma once
// One call of a CUDA candidate as data whose numbers are either those of one problem or formulas of
// run-time extents. What is the same in both is kept as the recipe has it.

#include <array>
#include <string>
#include <variant>
#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"
#include "harness/emit/extent_formula.hpp"

namespace gla_bench {

/// Where a kernel's argument, or a part of its parameters, comes from.
enum class Origin {
  address,  ///< of a tensor or workspace region
  number,   ///< which depends on extents
  scale,    ///< the problem's scale, a float
  constant  ///< the same whatever the extents are
};

/// An argument of a kernel that takes several, or a part of its parameters.
template <class Number>
struct CallValue {
  Origin origin = Origin::constant;
  std::size_t offset = 0;      ///< in the parameters; 0 for an argument
  std::size_t bytes = 8;       ///< 4 or 8
  std::string buffer = {};     ///< of an address
  std::uint64_t constant = 0;  ///< its bits
  Number number = {};
};

template <class Number>
struct CallLaunch {
  KernelLaunch like;
  std::array<Number, 3> grid = {};
  std::vector<CallValue<Number>> arguments = {};  ///< empty: the kernel takes the parameters
};

struct CallZero {
  std::string buffer;
};

template <class Number>
struct CallMap {
  TensorMap like;
  std::vector<Number> extents = {}, strides = {};
};

/// An input or output, with its extents as it is stored.
template <class Number>
struct CallTensor {
  TensorSpec like;
  std::vector<Number> extents = {};
  Number pitch = {};  ///< TensorSpec::token_pitch
};

template <class Number>
struct CallRegion {
  std::string name;
  Number bytes = {};
};

template <class Number>
struct Call {
  std::string source;  ///< the text that is compiled (prologue.hpp)
  std::vector<std::variant<CallLaunch<Number>, CallZero>> steps = {};
  std::vector<CallMap<Number>> maps = {};
  std::vector<CallTensor<Number>> tensors = {};
  std::vector<CallRegion<Number>> regions = {};
  std::size_t parameter_bytes = 0;
  std::vector<CallValue<Number>> parameters = {};
};

/// Calls `visit` with each number of the call, always in the same order.
template <class AnyCall, class Visit>
void for_each_number(AnyCall& call, Visit visit) {
  const auto values = [&](auto& list) {
    for (auto& value : list)
      if (value.origin == Origin::number) visit(value.number);
  };
  for (auto& step : call.steps)
    if (auto* launch = std::get_if<0>(&step)) {
      for (auto& extent : launch->grid) visit(extent);
      values(launch->arguments);
    }
  for (auto& map : call.maps) {
    for (auto& extent : map.extents) visit(extent);
    for (auto& stride : map.strides) visit(stride);
  }
  for (auto& tensor : call.tensors) {
    for (auto& extent : tensor.extents) visit(extent);
    visit(tensor.pitch);
  }
  for (auto& region : call.regions) visit(region.bytes);
  values(call.parameters);
}

/// The call of one problem. @throws InputError for a step that no launcher of one file can do: a
/// matrix product through cuBLAS, kernels of another unit, a function of another language
Call<std::int64_t> call_of(const Operator& op, const Candidate& candidate);

/// Everything of a call but its numbers. Calls with the same form differ in numbers alone.
std::string form_of(const Call<std::int64_t>& call);

/// The call with the next formula in place of each number.
Call<ExtentFormula> with_formulas(const Call<std::int64_t>& call,
                                  const std::vector<ExtentFormula>& formulas);

}  // namespace gla_bench
