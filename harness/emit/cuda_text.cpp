// The .cu file of a launcher.

#include <algorithm>
#include <array>
#include <charconv>

#include "harness/backends/sources/architecture.hpp"
#include "harness/emit/launcher.hpp"

namespace gla_bench {
namespace {

using Value = CallValue<ExtentFormula>;
using LaunchStep = CallLaunch<ExtentFormula>;

constexpr std::string_view helpers = R"(
struct alignas(64) Parameters {
  unsigned char bytes[parameter_bytes] = {};

  template <class Value>
  void put(size_t offset, Value value) {
    memcpy(bytes + offset, &value, sizeof value);
  }
};

/// Where regions begin in the workspace. Each is aligned to 256 bytes.
constexpr long long aligned(long long bytes) {
  return (bytes + 255) / 256 * 256;
}

cudaError_t start_kernel(const void* kernel, long long x, long long y, long long z, dim3 block,
                  size_t shared_bytes, bool overlaps, void** arguments, cudaStream_t stream) {
  if (x < 1 || y < 1 || z < 1 || x > 0x7fffffff || y > 65535 || z > 65535)
    return cudaErrorInvalidConfiguration;
  if (shared_bytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = overlaps ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}
)";

constexpr std::string_view map_helper = R"(
/// The driver's encoder, found through the runtime, so that nothing links the driver.
decltype(&cuTensorMapEncodeTiled) encoder() {
  static const auto function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    const bool there = error == cudaSuccess && result == cudaDriverEntryPointSuccess;
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(there ? found : nullptr);
  }();
  return function;
}

/// Describes a tensor for bulk copies. Strides are in bytes, of each axis after the first.
template <int axes>
cudaError_t encode(Parameters& parameters, size_t offset, CUtensorMapDataType type,
                   const void* begin, const cuuint64_t (&extents)[axes],
                   const cuuint64_t (&strides)[axes], const cuuint32_t (&box)[axes],
                   CUtensorMapSwizzle swizzle) {
  if (encoder() == nullptr) return cudaErrorNotSupported;
  cuuint32_t steps[axes];
  for (cuuint32_t& step : steps) step = 1;
  CUtensorMap map;
  const CUresult result =
      encoder()(&map, type, axes, const_cast<void*>(begin), extents, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) return cudaErrorInvalidValue;
  parameters.put(offset, map);
  return cudaSuccess;
}
)";

/// What the functions of one file have in common.
struct Writer {
  const LauncherRequest& request;
  const Launcher& launcher;
  const Call<ExtentFormula>& call;
  std::vector<std::string> names;

  std::string formula(const ExtentFormula& of) const { return text_of(of, names); }

  bool is_tensor(const std::string& buffer) const {
    return std::any_of(call.tensors.begin(), call.tensors.end(),
                       [&](const auto& tensor) { return tensor.like.name == buffer; });
  }
  std::string address(const std::string& buffer) const {
    return (is_tensor(buffer) ? "p." : "at.") + member_name(buffer);
  }
  /// Declares the extents under their names.
  std::string extents() const {
    std::string text;
    for (const std::string& name : names)
      text += "  [[maybe_unused]] const long long " + name + " = p." + name + ";\n";
    return text;
  }
};

std::string hex_text(std::uint64_t value) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
  return "0x" + std::string(text.data(), end);
}

std::string regions_text(const Writer& out) {
  std::string text = "/// The addresses of the workspace's regions.\nstruct Regions {\n";
  for (const auto& region : out.call.regions)
    text += "  void* " + member_name(region.name) + " = nullptr;\n";
  text += "  long long all_bytes = 0;\n};\n\nRegions regions_of(const " + out.launcher.struct_name +
          "& p, void* workspace) {\n" + out.extents() +
          "  [[maybe_unused]] auto* const begin = static_cast<unsigned char*>(workspace);\n"
          "  Regions at;\n";
  for (const auto& region : out.call.regions)
    text += "  if (begin != nullptr) at." + member_name(region.name) +
            " = begin + at.all_bytes;\n  at.all_bytes += aligned(" + out.formula(region.bytes) +
            ");\n";
  return text + "  static_cast<void>(p);\n  return at;\n}\n";
}

/// Two halves for a constant whose halves are numbers of their own.
std::string put_number(const Writer& out, const Value& value) {
  const std::string offset = std::to_string(value.offset);
  const ExtentFormula& number = value.number;
  if (number.empty()) return "";
  const bool constant = number.size() == 1 && number.front().factors.empty();
  const auto bits = static_cast<std::uint64_t>(constant ? number.front().coefficient : 0);
  if (bits >> 32 == 0) return "  to.put(" + offset + ", " + out.formula(number) + ");\n";
  std::string text;
  for (const std::size_t half : {std::size_t{0}, std::size_t{4}})
    if (const auto part = static_cast<std::uint32_t>(bits >> (8 * half)); part != 0)
      text += "  to.put(" + std::to_string(value.offset + half) + ", " + hex_text(part) + "u);\n";
  return text;
}

std::string put(const Writer& out, const Value& value) {
  const std::string begin = "  to.put(" + std::to_string(value.offset) + ", ";
  switch (value.origin) {
    case Origin::address:
      return begin + "static_cast<const void*>(" + out.address(value.buffer) + "));\n";
    case Origin::scale:
      return begin + "p.scale);\n";
    case Origin::constant:
      return value.constant == 0 ? "" : begin + hex_text(value.constant) + "u);\n";
    case Origin::number:
      break;
  }
  return put_number(out, value);
}

std::string type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
    case DType::float16:
      return "CU_TENSOR_MAP_DATA_TYPE_FLOAT16";
    case DType::int32:
      return "CU_TENSOR_MAP_DATA_TYPE_INT32";
    case DType::bfloat16:
      break;
  }
  return "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16";
}

std::string map_text(const Writer& out, const CallMap<ExtentFormula>& map) {
  const auto list = [&](const std::vector<ExtentFormula>& formulas, std::size_t times) {
    std::string text;
    for (const ExtentFormula& formula : formulas)
      text += (text.empty() ? "" : ", ") + std::string("cuuint64_t(") + out.formula(formula) +
              (times > 1 ? ") * " + std::to_string(times) : ")");
    return text;
  };
  std::string boxes;
  for (const int box : map.like.box) boxes += (boxes.empty() ? "" : ", ") + std::to_string(box);
  const int swizzle = map.like.swizzle_bytes;
  const std::string strides = list(map.strides, size_of(map.like.dtype));
  return "  {\n    const cuuint64_t extents[] = {" + list(map.extents, 1) +
         "};\n    const cuuint64_t strides[] = {" + strides + (strides.empty() ? "0" : ", 0") +
         "};\n    const cuuint32_t box[] = {" + boxes +
         "};\n    const cudaError_t error = encode(to, " + std::to_string(map.like.offset) + ", " +
         type_of(map.like.dtype) + ", " + out.address(map.like.buffer) +
         ", extents, strides, box, CU_TENSOR_MAP_SWIZZLE_" +
         (swizzle == 0 ? "NONE" : std::to_string(swizzle) + "B") +
         ");\n    if (error != cudaSuccess) return error;\n  }\n";
}

/// Whether a launch takes the parameters.
bool has_parameters(const Writer& out) {
  return std::any_of(out.call.steps.begin(), out.call.steps.end(), [](const auto& step) {
    const auto* launch = std::get_if<LaunchStep>(&step);
    return launch != nullptr && launch->arguments.empty();
  });
}

std::string bind_text(const Writer& out) {
  if (!has_parameters(out)) return "";
  std::string text =
      "\n/// The one argument of the kernels, as they lay it out.\n"
      "cudaError_t bind_parameters(const " +
      out.launcher.struct_name +
      "& p, [[maybe_unused]] const Regions& at, "
      "Parameters& to) {\n" +
      out.extents();
  for (const Value& value : out.call.parameters) text += put(out, value);
  for (const auto& map : out.call.maps) text += map_text(out, map);
  return text + "  return cudaSuccess;\n}\n";
}

std::string argument_text(const Writer& out, const Value& value) {
  switch (value.origin) {
    case Origin::address:
      return "const void* argument = " + out.address(value.buffer);
    case Origin::scale:
      return "float argument = p.scale";
    case Origin::constant:
      return "unsigned argument = " + hex_text(value.constant) + "u";
    case Origin::number:
      break;
  }
  return std::string(value.bytes == 4 ? "int" : "long long") + " argument = static_cast<" +
         (value.bytes == 4 ? "int" : "long long") + ">(" + out.formula(value.number) + ")";
}

std::string launch_text(const Writer& out, const LaunchStep& launch) {
  std::string text, arguments;
  for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
    const std::string name = "argument_" + std::to_string(i);
    std::string line = argument_text(out, launch.arguments[i]);
    line.replace(line.find("argument"), 8, name);
    text += "    " + line + ";\n";
    arguments += (i == 0 ? "" : ", ") +
                 std::string("const_cast<void*>(static_cast<const void*>(&") + name + "))";
  }
  if (launch.arguments.empty()) arguments = "parameters.bytes";
  const Dim3& block = launch.like.block;
  return "  {\n" + text + "    void* arguments[] = {" + arguments +
         "};\n    const cudaError_t error =\n        start_kernel(reinterpret_cast<const void*>(&" +
         launch.like.entry + "), " + out.formula(launch.grid[0]) + ", " +
         out.formula(launch.grid[1]) + ", " + out.formula(launch.grid[2]) +
         ",\n              dim3(" + std::to_string(block.x) + ", " + std::to_string(block.y) +
         ", " + std::to_string(block.z) + "), " + std::to_string(launch.like.shared_bytes) + ", " +
         (launch.like.overlaps ? "true" : "false") +
         ", arguments, stream);\n    if (error != cudaSuccess) return error;\n  }\n";
}

std::string zero_text(const Writer& out, const CallZero& zero) {
  for (const auto& region : out.call.regions)
    if (region.name == zero.buffer)
      return "  if (const cudaError_t error = cudaMemsetAsync(at." + member_name(zero.buffer) +
             ", 0, static_cast<size_t>(" + out.formula(region.bytes) +
             "), stream);\n      error != cudaSuccess)\n    return error;\n";
  return "";
}

std::string refusal_text(const Writer& out) {
  const std::string& name = out.launcher.name;
  const RunTimeCall& call = out.launcher.run_time;
  std::string text =
      "const char* " + name + "_refusal(const " + out.launcher.struct_name +
      "* problem) {\n  if (problem == nullptr) return \"problem is NULL\";\n  const " +
      out.launcher.struct_name + "& p = *problem;\n" + out.extents();
  std::string blocks;
  std::vector<std::string> tokens;
  for (const RunTimeExtent& extent : call.extents) {
    const std::string least = std::to_string(extent.least), most = std::to_string(extent.most);
    text += "  if (" + extent.name + " < " + least + "LL || " + extent.name + " > " + most +
            "LL)\n    return \"" + extent.name + " is not " +
            (extent.is_fixed() ? least + ", the only one that this kernel takes"
                               : "from " + least + " to " + most) +
            "\";\n";
    const std::string& of = extent.name;
    if (extent.counts_tokens()) tokens.push_back(of);
    if (extent.counts_blocks())
      blocks += (blocks.empty() ? "" : " * ") + of +
                (extent.group > 1 ? " * " + std::to_string(extent.group) + "LL" : "");
  }
  text += "  if (" + blocks + " > " + std::to_string(call.most_blocks) + "LL) return \"more than " +
          std::to_string(call.most_blocks) + " of " + blocks + "\";\n";
  for (const std::string& of : tokens)
    text += "  if (" + blocks + " * " + of + " > " + std::to_string(call.most_tokens) +
            "LL)\n    return \"more than " + std::to_string(call.most_tokens) + " of " + blocks +
            " * " + of + "\";\n";
  for (const auto& tensor : out.call.tensors) {
    const TensorSpec& like = tensor.like;
    const std::string member = member_name(like.name), of = member_name(like.in_place_of);
    text += "  if (p." + member + " == nullptr) return \"" + member + " is NULL\";\n";
    if (like.token_pitch == 0)
      text += "  if (reinterpret_cast<uintptr_t>(p." + member + ") % 16 != 0)\n    return \"" +
              member + " is not aligned to 16 bytes\";\n";
    if (!like.in_place_of.empty())
      text += "  if (p." + member + " != p." + of + ")\n    return \"" + member + " is not " + of +
              ", which this kernel updates in place\";\n";
  }
  return text + "  return nullptr;\n}\n";
}

std::string functions_text(const Writer& out) {
  const std::string& name = out.launcher.name;
  const std::string pointer = "const " + out.launcher.struct_name + "* problem";
  std::string text = "\nextern \"C\" {\n\n" + refusal_text(out);
  text += "\nsize_t " + name + "_workspace_bytes(" + pointer +
          ") {\n  return static_cast<size_t>(regions_of(*problem, nullptr).all_bytes);\n}\n";
  text += "\ncudaError_t " + name + "(" + pointer +
          ", void* workspace, size_t workspace_bytes,\n            cudaStream_t stream) {\n"
          "  if (" +
          name + "_refusal(problem) != nullptr) return cudaErrorInvalidValue;\n  const " +
          out.launcher.struct_name + "& p = *problem;\n" + out.extents() +
          "  [[maybe_unused]] const Regions at = regions_of(p, workspace);\n"
          "  if (at.all_bytes > 0 && (workspace == nullptr || workspace_bytes < "
          "static_cast<size_t>(at.all_bytes) ||\n                       "
          "reinterpret_cast<uintptr_t>(workspace) % 256 != 0))\n"
          "    return cudaErrorInvalidValue;\n";
  if (has_parameters(out))
    text +=
        "  Parameters parameters;\n"
        "  if (const cudaError_t error = bind_parameters(p, at, parameters); error != cudaSuccess) "
        "return "
        "error;\n";
  for (const auto& step : out.call.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step))
      text += launch_text(out, *launch);
    else
      text += zero_text(out, std::get<CallZero>(step));
  }
  return text + "  return cudaSuccess;\n}\n\n}  // extern \"C\"\n";
}

/// The macro that nvcc defines where it compiles for features of this architecture alone; empty for
/// an architecture without such.
std::string feature_macro(int arch) {
  if (!architecture_name(arch).ends_with('a')) return "";
  return "__CUDA_ARCH_FEAT_SM" + std::to_string(arch) + "_ALL";
}

/// The includes of <...> at the beginning of a text, and the rest.
std::pair<std::string, std::string> includes_apart(const std::string& text) {
  std::size_t at = 0;
  while (text.compare(at, 8, "#include") == 0) at = text.find('\n', at) + 1;
  return {text.substr(0, at), text.substr(at)};
}

}  // namespace

std::string cuda_text(const LauncherRequest& request, const Launcher& launcher) {
  const Call<ExtentFormula>& call = launcher.run_time.call;
  const Writer out{request, launcher, call, extent_names(launcher.run_time)};
  const SourceTexts& texts = request.candidate.variant->texts;
  const auto [includes, kernels] =
      includes_apart((texts ? SourceStore(*texts) : request.store).in_one(call.source));
  const std::string feature = feature_macro(request.limits.arch);
  std::string text = "// The kernels of " + launcher.name +
                     ".h and their launcher, in one file.\n#include \"" + launcher.name +
                     ".h\"\n\n" + (call.maps.empty() ? "" : "#include <cuda.h>  // types alone\n") +
                     includes +
                     "#include <cuda_runtime.h>\n#include <stdint.h>\n#include <string.h>\n\n";
  if (!feature.empty())
    text +=
        "// nvcc -arch may also ask for code of the plain architecture, which lacks what the "
        "kernels use.\n#if !defined(__CUDA_ARCH__) || defined(" +
        feature + ")\n\n";
  text +=
      "// A kernel uses but a part of what its headers have, and not all of it can be reached.\n"
      "#ifdef __NVCC__\n#pragma nv_diagnostic push\n#pragma nv_diag_suppress 177\n#endif\n\n"
      "// Nothing in here is seen by other files, so that several of them may be in one "
      "program.\nnamespace {\n\n" +
      kernels + "\n}  // namespace\n\n// ---- The launcher.\n\nnamespace {\n";
  text += "\nconstexpr size_t parameter_bytes = " +
          std::to_string(std::max<std::size_t>(call.parameter_bytes, 1)) + ";\n" +
          std::string(helpers) + std::string(call.maps.empty() ? "" : map_helper) + "\n" +
          regions_text(out) + bind_text(out) + "\n}  // namespace\n" + functions_text(out) +
          "\n#ifdef __NVCC__\n#pragma nv_diagnostic pop\n#endif\n";
  return text + (feature.empty() ? "" : "\n#endif\n");
}

}  // namespace gla_bench
