#pragma once
// An operator's definition for a CUDA device, described as data. The backend executes it without
// knowing which operator it is. Operators with such kernels have one in reference/, next to the
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

/// The contents of memory regions by name.
using RegionBytes = std::map<std::string, std::vector<std::byte>>;

/// What to compile and launch, in order, for one problem in one arithmetic. On the device every
/// tensor is in logical order. Inputs are float32. Outputs are real_t, which is double for the
/// float64 reference and float for the plain computation.
struct ReferenceRecipe {
  std::string source;  ///< path of the .cuh from the root: "reference/attention/attention.cuh"
  /// The constants other than real_t and rounding::mantissa, which are added for the arithmetic.
  std::vector<Constant> constants;
  std::vector<KernelLaunch> launches;
  std::vector<Region> workspace = {};
  /// Outputs that DeviceReference::finish computes on the host. They have no memory on the device.
  std::vector<std::string> host_outputs = {};
  /// Returns the parameters of the launches, from the addresses of tensors and workspace regions.
  /// The address of a tensor or region that does not exist is null.
  std::function<ParamBytes(const Address&)> bind;
};

/// The kernels of one operator. An empty `arithmetic` in these functions means the float64
/// reference.
struct DeviceReference {
  /// Whether the rows of the problem's batch are independent. Then the backend may compute a few
  /// rows at a time, as problems with a smaller batch.
  std::function<bool(const Problem&)> splits_batch;
  /// Returns nothing for a problem that the kernels cannot compute.
  std::function<std::optional<ReferenceRecipe>(const Problem&,
                                               std::optional<Arithmetic> arithmetic)>
      recipe;
  /// The initial contents of workspace regions. Other regions start as zeros; without this
  /// function, all do. @throws std::out_of_range for a missing input
  std::function<RegionBytes(const Problem&, const HostTensors& inputs,
                            std::optional<Arithmetic> arithmetic)>
      prepare = {};
  /// The values in real_t of each of the recipe's host_outputs, from the final contents of the
  /// workspace. Required if there are host_outputs.
  std::function<RegionBytes(const Problem&, const HostTensors& inputs, const RegionBytes& workspace,
                            std::optional<Arithmetic> arithmetic)>
      finish = {};
};

}  // namespace gla_bench
