#include "harness/report/flashinfer/solution.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/report/flashinfer/definition.hpp"

namespace gla_bench::flashinfer {
namespace {

/// Where a call finds an extent: as an axis of an input.
std::string extent_text(const Operator& op, const Problem& problem, const std::string& extent) {
  for (const TensorSpec& tensor : op.tensors(problem)) {
    if (tensor.role != TensorSpec::Role::input) continue;
    const std::vector<std::string> axes = axis_names(op, problem, tensor.name);
    const auto found = std::find(axes.begin(), axes.end(), extent);
    if (found != axes.end())
      return member_name(tensor.name) + ".size(" + std::to_string(found - axes.begin()) + ")";
  }
  return "1";
}

Json source(const std::string& path, const std::string& content) {
  return {{"path", path}, {"content", content}};
}

double worst_error(const Verification& verification, double TensorVerdict::*error) {
  double worst = 0;
  for (const auto& [name, verdict] : verification.tensors) worst = std::max(worst, verdict.*error);
  return worst;
}

double worst_absolute(const Verification& verification) {
  double worst = 0;
  for (const auto& [name, verdict] : verification.tensors)
    if (const double error = std::abs(verdict.worst.got - verdict.worst.expected);
        std::isfinite(error))
      worst = std::max(worst, error);
  return worst;
}

}  // namespace

std::string binding_text(const Operator& op, const Problem& problem, const Launcher& launcher) {
  std::string parameters, outputs, members;
  for (const TensorSpec& tensor : op.tensors(problem)) {
    const std::string name = member_name(tensor.name);
    std::string& list = tensor.role == TensorSpec::Role::input ? parameters : outputs;
    list += (list.empty() ? "" : ", ") + std::string("TensorView ") + name;
    members += "  expect_dense(" + name + ", \"" + tensor.name + "\");\n  problem." + name + " = " +
               name + ".data_ptr();\n";
  }
  for (const RunTimeExtent& extent : launcher.run_time.extents)
    members += "  problem." + extent.name + " = " + extent_text(op, problem, extent.name) + ";\n";
  if (takes_scale(launcher.run_time.call))
    members += "  problem.scale = static_cast<float>(scale);\n";
  const std::string first = member_name(op.tensors(problem).front().name);
  const std::string& name = launcher.name;
  return "// Gives " + name + "() to Python by TVM-FFI.\n#include \"" + name +
         ".h\"\n\n#include <tvm/ffi/container/tensor.h>\n#include <tvm/ffi/error.h>\n"
         "#include <tvm/ffi/extra/c_env_api.h>\n#include <tvm/ffi/function.h>\n\nnamespace {\n\n"
         "using tvm::ffi::TensorView;\n\nvoid expect(cudaError_t error) {\n"
         "  if (error != cudaSuccess) TVM_FFI_THROW(RuntimeError) << "
         "cudaGetErrorString(error);\n}\n\n"
         "void expect_dense(const TensorView& tensor, const char* name) {\n"
         "  if (!tensor.IsContiguous()) TVM_FFI_THROW(ValueError) << name << \" is not "
         "dense\";\n}\n\n"
         "void run(" +
         parameters + ", [[maybe_unused]] double scale, " + outputs + ") {\n  " +
         launcher.struct_name + " problem{};\n" + members + "  if (const char* why = " + name +
         "_refusal(&problem)) TVM_FFI_THROW(ValueError) << why;\n"
         "  const DLDevice device = " +
         first +
         ".device();\n  const auto stream = static_cast<cudaStream_t>(\n"
         "      TVMFFIEnvGetStream(device.device_type, device.device_id));\n"
         "  const size_t bytes = " +
         name +
         "_workspace_bytes(&problem);\n  void* workspace = nullptr;\n"
         "  if (bytes > 0) expect(cudaMallocAsync(&workspace, bytes, stream));\n"
         "  const cudaError_t error = " +
         name +
         "(&problem, workspace, bytes, stream);\n"
         "  if (bytes > 0) expect(cudaFreeAsync(workspace, stream));\n  expect(error);\n}\n\n"
         "}  // namespace\n\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);\n";
}

Json solution_of(const Operator& op, const Problem& problem, const Launcher& launcher,
                 const std::string& name, const std::string& definition, const std::string& about) {
  const std::string& file = launcher.name;
  return {{"name", name},
          {"definition", definition},
          {"author", "gla-bench"},
          {"description", about},
          {"spec",
           {{"language", "cuda"},
            {"target_hardware", {"cuda"}},
            {"entry_point", "binding.cpp::run"},
            {"dependencies", Json::array()},
            {"destination_passing_style", true},
            {"binding", "tvm-ffi"}}},
          {"sources",
           {source("binding.cpp", binding_text(op, problem, launcher)),
            source(file + ".h", launcher.header), source(file + ".cu", launcher.cuda)}}};
}

Json trace_of(const Operator& op, const Record& record, const Facts& environment,
              const std::string& solution, const Json& workload) {
  const Verification& verification = record.verification.value();
  Json libs = Json::object();
  for (const char* fact : {"toolkit", "nvrtc", "driver"})
    if (const std::string text = fact_text(environment, fact); !text.empty()) libs[fact] = text;
  libs["gla-bench"] = fact_text(environment, "git_commit");
  return {{"definition", definition_name(op, record.problem)},
          {"workload", workload},
          {"solution", solution},
          {"evaluation",
           {{"status", "PASSED"},
            {"environment", {{"hardware", fact_text(environment, "device")}, {"libs", libs}}},
            {"timestamp", fact_text(environment, "started")},
            {"log", repeat_command(record)},
            {"correctness",
             {{"max_relative_error", worst_error(verification, &TensorVerdict::max_abs)},
              {"max_absolute_error", worst_absolute(verification)},
              {"extra", {{"rel_l2", worst_error(verification, &TensorVerdict::rel_l2)}}}}},
            {"performance",
             {{"latency_ms", record.timing.value().cold.median_ms},
              {"reference_latency_ms", 0.0},
              {"speedup_factor", 0.0}}}}}};
}

}  // namespace gla_bench::flashinfer
