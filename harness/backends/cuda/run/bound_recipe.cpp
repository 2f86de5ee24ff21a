#include "harness/backends/cuda/run/bound_recipe.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"
#include "harness/backends/cuda/run/arguments.hpp"
#include "harness/backends/cuda/run/tensor_map.hpp"
#include "harness/backends/cuda/toolkit/cublas_library.hpp"

namespace gla_bench::cuda {
namespace {

cudaDataType data_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return CUDA_R_32F;
    case DType::bfloat16:
      return CUDA_R_16BF;
    case DType::float16:
      return CUDA_R_16F;
    case DType::int32:
      return CUDA_R_32I;
  }
  return CUDA_R_32F;
}

// Accumulation is always float32. The choice is whether float32 operands may be rounded.
cublasComputeType_t compute_type(DType operands, Arithmetic arithmetic) {
  if (operands != DType::float32) return CUBLAS_COMPUTE_32F;
  switch (arithmetic) {
    case Arithmetic::float32:
      return CUBLAS_COMPUTE_32F_PEDANTIC;
    case Arithmetic::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Arithmetic::bfloat16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case Arithmetic::float16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
  }
  return CUBLAS_COMPUTE_32F_PEDANTIC;
}

cublasOperation_t operation(bool transpose) {
  return transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
}

void multiply(const BoundProduct& product, cublasHandle_t handle) {
  const ColumnMajorProduct& call = product.call;
  check(cublas().gemm_strided_batched(
            handle, operation(call.transpose_a), operation(call.transpose_b), call.m, call.n,
            call.k, &product.alpha, product.a, data_type(call.a.dtype), call.a.ld, call.a.stride,
            product.b, data_type(call.b.dtype), call.b.ld, call.b.stride, &product.beta, product.c,
            data_type(call.c.dtype), call.c.ld, call.c.stride, product.batch,
            compute_type(call.a.dtype, product.arithmetic), CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
}

void* operand_address(const Address& address, const MatrixOperand& operand) {
  auto* begin = static_cast<std::byte*>(address(operand.buffer));
  if (begin == nullptr)
    throw RunError("matrix product: no tensor or workspace region '" + operand.buffer + "'");
  return begin + operand.offset * static_cast<std::int64_t>(size_of(operand.dtype));
}

BoundProducts bound_products(const MatrixProduct& product, const Address& address) {
  BoundProducts list;
  for (const MatrixProduct& part : whole_products(product)) {
    const ColumnMajorProduct call = column_major(part);
    list.push_back({call, operand_address(address, call.a), operand_address(address, call.b),
                    operand_address(address, call.c), part.batch, static_cast<float>(part.alpha),
                    static_cast<float>(part.beta), part.arithmetic});
  }
  return list;
}

// Stands for every address where only the sizes of parameters matter.
constexpr std::uintptr_t no_memory = 4096;

}  // namespace

BoundRecipe::BoundRecipe(const Candidate& candidate, const Recipe& recipe,
                         std::vector<LibraryPtr> libraries)
    : candidate_(candidate), recipe_(recipe), libraries_(std::move(libraries)) {
  for (const Region& region : workspace_of(candidate)) regions_[region.name] = region.bytes;
  multiplies_ = std::any_of(recipe.steps.begin(), recipe.steps.end(), [](const Step& step) {
    return std::holds_alternative<MatrixProduct>(step);
  });
}

std::vector<ParamBytes> BoundRecipe::params(const Address& address) const {
  std::vector<ParamBytes> list{
      candidate_.variant->bind(candidate_.problem, candidate_.tile, address)};
  for (const Module& module : recipe_.imports) list.push_back(module.bind(address));
  return list;
}

std::vector<BoundKernel> BoundRecipe::kernels(std::span<const ParamBytes> params) const {
  std::vector<BoundKernel> list;
  for (const Step& step : recipe_.steps)
    if (const auto* launch = std::get_if<KernelLaunch>(&step)) {
      const auto module = static_cast<std::size_t>(launch->module);  // exists: check_recipe
      list.push_back(bind_kernel(*libraries_[module], *launch, params[module].size()));
    }
  return list;
}

void BoundRecipe::load() {
  const Address anywhere = [](std::string_view) { return reinterpret_cast<void*>(no_memory); };
  loaded_ = kernels(params(anywhere));
}

BoundStep BoundRecipe::bind(const Step& step, const Address& address,
                            const BoundKernel* kernel) const {
  if (const auto* launch = std::get_if<KernelLaunch>(&step))
    return BoundLaunch{*kernel, static_cast<std::size_t>(launch->module),
                       bytes_of(launch->arguments, address)};
  if (const auto* product = std::get_if<MatrixProduct>(&step))
    return bound_products(*product, address);
  if (const auto* call = std::get_if<StreamCall>(&step)) return *call;
  const auto& zero = std::get<Zero>(step);
  const auto region = regions_.find(zero.buffer);
  if (region == regions_.end())
    throw RunError("zeroing: no workspace region '" + zero.buffer + "'");
  return BoundZero{address(zero.buffer), region->second};
}

Binding BoundRecipe::bind(const Address& address) const {
  Binding binding{params(address), {}};
  for (const TensorMap& map : recipe_.tensor_maps) {
    void* begin = address(map.buffer);
    if (begin == nullptr)
      throw RunError("tensor map: no tensor or workspace region '" + map.buffer + "'");
    const auto module = static_cast<std::size_t>(map.module);  // exists: check_recipe
    encode_tensor_map(map, begin, binding.params[module]);
  }
  const std::vector<BoundKernel> fresh =
      loaded_.empty() ? kernels(binding.params) : std::vector<BoundKernel>{};
  const BoundKernel* kernel = loaded_.empty() ? fresh.data() : loaded_.data();
  binding.steps.reserve(recipe_.steps.size());
  for (const Step& step : recipe_.steps) {
    const bool launches = std::holds_alternative<KernelLaunch>(step);
    binding.steps.push_back(bind(step, address, kernel));
    if (launches) ++kernel;
  }
  return binding;
}

void enqueue(const Binding& binding, const BoundStep& step, cudaStream_t stream,
             cublasHandle_t cublas) {
  if (const auto* kernel = std::get_if<BoundLaunch>(&step))
    launch(kernel->kernel,
           (kernel->arguments.empty() ? binding.params[kernel->module] : kernel->arguments).data(),
           stream);
  else if (const auto* products = std::get_if<BoundProducts>(&step))
    for (const BoundProduct& product : *products) multiply(product, cublas);
  else if (const auto* call = std::get_if<StreamCall>(&step))
    call->call(binding.params.front(), stream);
  else if (const auto& zero = std::get<BoundZero>(step); zero.bytes > 0)
    check(cudaMemsetAsync(zero.data, 0, zero.bytes, stream), "cudaMemsetAsync");
}

}  // namespace gla_bench::cuda
