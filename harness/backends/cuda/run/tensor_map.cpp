#include "harness/backends/cuda/run/tensor_map.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>

#include "core/error.hpp"
#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {
namespace {

using Encode = decltype(&cuTensorMapEncodeTiled);

Encode find_encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion(cuTensorMapEncodeTiled)");
  if (found != cudaDriverEntryPointSuccess || function == nullptr)
    throw RunError("the driver has no cuTensorMapEncodeTiled: it is older than CUDA 12");
  return reinterpret_cast<Encode>(function);
}

/// Found through the runtime, because the program does not link the driver.
Encode encoder() {
  static const Encode found = find_encoder();
  return found;
}

CUtensorMapDataType type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DType::bfloat16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::float16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::int32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
  }
  return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

CUtensorMapSwizzle swizzle_of(int bytes) {
  switch (bytes) {
    case 32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case 64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case 128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

}  // namespace

void encode_tensor_map(const TensorMap& map, void* begin, ParamBytes& params) {
  CUtensorMap encoded;
  const std::size_t axes = map.extents.size();
  if (map.offset + sizeof encoded > params.size() || axes == 0 || map.strides.size() + 1 != axes ||
      map.box.size() != axes)
    throw RunError("the tensor map of '" + map.buffer + "' does not fit its parameters or axes");
  const std::vector<cuuint64_t> extents(map.extents.begin(), map.extents.end());
  std::vector<cuuint64_t> strides;
  for (const std::int64_t stride : map.strides)
    strides.push_back(static_cast<cuuint64_t>(stride) * size_of(map.dtype));
  const std::vector<cuuint32_t> box(map.box.begin(), map.box.end()), steps(axes, 1);
  const CUresult status =
      encoder()(&encoded, type_of(map.dtype), static_cast<cuuint32_t>(axes), begin, extents.data(),
                strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle_of(map.swizzle_bytes), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    throw RunError("cuTensorMapEncodeTiled of '" + map.buffer + "': error " +
                   std::to_string(static_cast<int>(status)));
  std::memcpy(params.data() + map.offset, &encoded, sizeof encoded);
}

}  // namespace gla_bench::cuda
