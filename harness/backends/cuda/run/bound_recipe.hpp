#pragma once
// A recipe with its kernels loaded, and its launches bound to the addresses of one call.

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/variant.hpp"
#include "harness/backends/cuda/device/library.hpp"
#include "harness/backends/cuda/run/matrix_product.hpp"

namespace gla_bench::cuda {

struct BoundLaunch {
  BoundKernel kernel;
  std::size_t module = 0;
  ParamBytes arguments;  ///< empty: it takes the parameters of its module
};

struct BoundProduct {
  ColumnMajorProduct call;
  void *a = nullptr, *b = nullptr, *c = nullptr;
  std::int64_t batch = 1;
  float alpha = 1, beta = 0;
  Arithmetic arithmetic = Arithmetic::float32;
};

/// What one product of a recipe is issued as (whole_products), in this order.
using BoundProducts = std::vector<BoundProduct>;

struct BoundZero {
  void* data = nullptr;
  std::size_t bytes = 0;
};

using BoundStep = std::variant<BoundLaunch, BoundProducts, BoundZero, StreamCall>;

/// The launches of one call.
struct Binding {
  std::vector<ParamBytes> params;  ///< of the recipe's own source, then of each import
  std::vector<BoundStep> steps;
};

class BoundRecipe {
 public:
  /// `libraries` are those of the recipe's own source, then of each import, loaded into the current
  /// device. Keeps references to the candidate and the recipe.
  BoundRecipe(const Candidate& candidate, const Recipe& recipe, std::vector<LibraryPtr> libraries);

  /// Whether a step is a product through cuBLAS.
  bool multiplies() const { return multiplies_; }

  /// The call on the memory that `address` tells of: tensors by their first elements, and regions
  /// of the workspace. Looks up the kernels, the first time in the driver. @throws BuildError,
  /// RunError
  Binding bind(const Address& address) const;

  /// Looks up the kernels and allows them their shared memory, so that bind() asks the driver for
  /// nothing but tensor maps. Needs no memory.
  void load();

 private:
  std::vector<ParamBytes> params(const Address& address) const;
  std::vector<BoundKernel> kernels(std::span<const ParamBytes> params) const;
  BoundStep bind(const Step& step, const Address& address, const BoundKernel* kernel) const;

  const Candidate& candidate_;
  const Recipe& recipe_;
  std::vector<LibraryPtr> libraries_;
  std::map<std::string, std::size_t, std::less<>> regions_;  // of the workspace, in bytes
  bool multiplies_ = false;
  std::vector<BoundKernel> loaded_;  // of the launches, in their order; from load() on
};

/// Enqueues one step. `cublas` is on the stream; it may be null where no step multiplies.
/// @throws RunError
void enqueue(const Binding& binding, const BoundStep& step, cudaStream_t stream,
             cublasHandle_t cublas);

}  // namespace gla_bench::cuda
