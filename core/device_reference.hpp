#pragma once
// An operator's definition for a CUDA device, as data: the backend executes it without knowing
// which operator it is. One per operator that has kernels for it, in reference/ beside the
// operator.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/problem.hpp"
#include "core/tensor.hpp"
#include "core/variant.hpp"

namespace gla_bench {

/// Contents of memory regions by their names.
using RegionBytes = std::map<std::string, std::vector<std::byte>>;

/// What to compile and to launch, in order, for one problem in one arithmetic. On the device every
/// tensor is in logical order, inputs in float32 and outputs in real_t, which is double for the
/// float64 reference and float for the plain computation.
struct ReferenceRecipe {
  std::string source;  ///< path of the .cuh from the root: "reference/attention/attention.cuh"
  /// Besides real_t and rounding::mantissa, which the compiler adds for the arithmetic.
  std::vector<Constant> constants;
  std::vector<KernelLaunch> launches;
  std::vector<Region> workspace = {};
  /// Outputs that DeviceReference::finish makes: they have no memory on the device.
  std::vector<std::string> host_outputs = {};
  /// The parameters of the launches, from addresses of tensors and workspace regions; an address is
  /// null where there is no tensor or region of that name.
  std::function<ParamBytes(const Address&)> bind;
};

/// `arithmetic` in these functions is nothing for the float64 reference.
struct DeviceReference {
  /// The rows of the batch do not depend on each other: the backend may compute some at a time, as
  /// problems of a smaller batch.
  bool splits_batch = false;
  /// Nothing for a problem that the kernels cannot compute.
  std::function<std::optional<ReferenceRecipe>(const Problem&,
                                               std::optional<Arithmetic> arithmetic)>
      recipe;
  /// First contents of workspace regions; the others begin as zeros, all of them without this
  /// function. @throws std::out_of_range for a missing input
  std::function<RegionBytes(const Problem&, const HostTensors& inputs,
                            std::optional<Arithmetic> arithmetic)>
      prepare = {};
  /// Values in real_t of each of the recipe's host_outputs, from the last contents of the
  /// workspace. Needed where there are host_outputs.
  std::function<RegionBytes(const Problem&, const HostTensors& inputs, const RegionBytes& workspace,
                            std::optional<Arithmetic> arithmetic)>
      finish = {};
};

}  // namespace gla_bench
