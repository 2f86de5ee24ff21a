// Python's module gla_bench._core: the program inside an interpreter, where it can call functions
// of Python as candidates. The module's other half is python/gla_bench/_functions.py.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "harness/commands/program.hpp"
#include "harness/config/candidates/functions.hpp"
#include "python/ops.hpp"
#ifdef GLA_BENCH_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gla_bench {
namespace {

namespace nb = nanobind;

/// What Python raised, as the last line of its traceback and the place in the function's file.
std::string raised(const nb::python_error& error) {
  const nb::object text =
      nb::module_::import_("gla_bench._functions").attr("raised")(error.value());
  return nb::cast<std::string>(text);
}

nb::dlpack::dtype dlpack_type(DType dtype, bool numpy) {
  using Code = nb::dlpack::dtype_code;
  const auto type = [](Code code, std::uint8_t bits) {
    return nb::dlpack::dtype{static_cast<std::uint8_t>(code), bits, 1};
  };
  switch (dtype) {
    case DType::float32:
      break;
    case DType::bfloat16:
      // NumPy has no such type; it gets the bits, and views them as the one of ml_dtypes.
      return numpy ? type(Code::UInt, 16) : type(Code::Bfloat, 16);
    case DType::float16:
      return type(Code::Float, 16);
    case DType::int32:
      return type(Code::Int, 32);
  }
  return type(Code::Float, 32);
}

/// The GPU that memory lies on, as the program counts them.
int device_of(const void* data) {
#ifdef GLA_BENCH_WITH_CUDA
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, data) == cudaSuccess) return attributes.device;
#endif
  static_cast<void>(data);
  return 0;
}

/// A view of the program's memory, which the caller keeps alive.
nb::object view(const FunctionTensor& tensor, const FunctionCall& call) {
  const std::vector<std::size_t> extents(tensor.extents.begin(), tensor.extents.end());
  const bool numpy = call.framework == "numpy";
  const bool cuda = call.backend == BackendId::cuda;
  const int kind = cuda ? nb::device::cuda::value : nb::device::cpu::value;
  // The owner is only there because a view has one.
  const nb::object owner = nb::none();
  if (numpy)
    return nb::cast(
        nb::ndarray<nb::numpy>(tensor.data, extents.size(), extents.data(), owner,
                               tensor.strides.data(), dlpack_type(tensor.dtype, true), kind, 0),
        nb::rv_policy::reference);
  return nb::cast(
      nb::ndarray<>(tensor.data, extents.size(), extents.data(), owner, tensor.strides.data(),
                    dlpack_type(tensor.dtype, false), kind, cuda ? device_of(tensor.data) : 0),
      nb::rv_policy::reference);
}

class PythonFunction final : public BoundFunction {
 public:
  explicit PythonFunction(nb::object bound) : bound_(std::move(bound)) {}
  ~PythonFunction() override {
    const nb::gil_scoped_acquire interpreter;
    bound_.reset();
  }
  PythonFunction(const PythonFunction&) = delete;
  PythonFunction& operator=(const PythonFunction&) = delete;

  void call(void* stream) override { invoke("call", stream); }
  void finish(void* stream) override { invoke("finish", stream); }

 private:
  void invoke(const char* method, void* stream) {
    const nb::gil_scoped_acquire interpreter;
    try {
      bound_.attr(method)(reinterpret_cast<std::uintptr_t>(stream));
    } catch (const nb::python_error& error) {
      throw RunError(raised(error));
    }
  }

  nb::object bound_;
};

class PythonRuntime final : public FunctionRuntime {
 public:
  std::string manifest_of(const std::string& function) override {
    const nb::gil_scoped_acquire interpreter;
    try {
      return nb::cast<std::string>(functions().attr("manifest_of")(function));
    } catch (const nb::python_error& error) {
      throw InputError(function + ": " + raised(error));
    }
  }

  void expect(const std::string& framework) override { frameworks_.insert(framework); }

  std::map<std::string, std::string> versions() override {
    const nb::gil_scoped_acquire interpreter;
    std::map<std::string, std::string> list;
    nb::list expected;
    for (const std::string& framework : frameworks_) expected.append(framework);
    const nb::dict found = nb::cast<nb::dict>(functions().attr("versions")(expected));
    for (const auto& [key, value] : found)
      list[nb::cast<std::string>(key)] = nb::cast<std::string>(value);
    return list;
  }

  std::unique_ptr<BoundFunction> bind(const FunctionCall& call) override {
    const nb::gil_scoped_acquire interpreter;
    try {
      nb::list tensors;
      for (const FunctionTensor& tensor : call.tensors)
        tensors.append(nb::make_tuple(tensor.name, std::string(name(tensor.dtype)),
                                      view(tensor, call), tensor.output));
      nb::dict numbers;
      for (const auto& [key, value] : call.numbers) numbers[key.c_str()] = value;
      return std::make_unique<PythonFunction>(
          functions().attr("Bound")(call.function, call.framework, std::string(name(call.backend)),
                                    tensors, call.arguments, call.returned, numbers, call.scale));
    } catch (const nb::python_error& error) {
      throw RunError(raised(error));
    }
  }

 private:
  static nb::object functions() { return nb::module_::import_("gla_bench._functions"); }

  std::set<std::string> frameworks_;
};

int run(std::vector<std::string> arguments) {
  static PythonRuntime runtime;
  set_function_runtime(&runtime);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release without_interpreter;
  return commands::run_program(static_cast<int>(arguments.size()), pointers.data(), nullptr);
}

}  // namespace
}  // namespace gla_bench

NB_MODULE(_core, module) {
  module.def("main", &gla_bench::run, nanobind::arg("arguments"),
             "Runs the program gla-bench in this process. arguments: its command line, the "
             "program's name first. Returns its exit code.");
  gla_bench::add_ops(module);
}
