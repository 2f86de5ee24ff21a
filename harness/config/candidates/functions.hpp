#pragma once
// Candidates that are functions of another language. They run in a process that has the language's
// runtime, which that process hands over before it reads any candidate (python/core.cpp).

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/operator.hpp"
#include "core/variant.hpp"

namespace gla_bench {

/// A tensor as a function gets it: a view of memory that the program owns.
struct FunctionTensor {
  std::string name;
  DType dtype = DType::float32;
  void* data = nullptr;
  std::vector<std::int64_t> extents;  ///< in logical order, whatever the layout is
  std::vector<std::int64_t> strides;  ///< elements from one index of each axis to the next
  bool output = false;
};

/// What a function is called with.
struct FunctionCall {
  std::string function;   ///< "folder/file.py:name"
  std::string framework;  ///< of its tensors: one of function_frameworks
  BackendId backend = BackendId::host;
  std::vector<FunctionTensor> tensors;          ///< all of the problem, in the operator's order
  std::vector<std::string> arguments;           ///< the names of what it takes
  std::vector<std::string> returned;            ///< the operator's outputs that are none of them
  std::map<std::string, std::int64_t> numbers;  ///< the values of those that are whole numbers
  double scale = 1;                             ///< the problem's, for the argument `scale`
};

/// What tensors are handed over as.
inline constexpr std::string_view function_frameworks[] = {"numpy", "torch", "cupy", "jax",
                                                           "dlpack"};

/// A function with its arguments.
class BoundFunction {
 public:
  virtual ~BoundFunction() = default;
  /// One call. What the function returns is kept. @param stream of the device; null on the host
  /// @throws RunError with what the function raised
  virtual void call(void* stream) = 0;
  /// Copies what the last call returned to those outputs that are none of the arguments.
  /// @throws RunError where that is not what the problem asks for
  virtual void finish(void* stream) = 0;
};

class FunctionRuntime {
 public:
  virtual ~FunctionRuntime() = default;
  /// The manifest of a function that describes itself, as JSON. @throws InputError
  virtual std::string manifest_of(const std::string& function) = 0;
  /// A function with tensors of the framework may be bound later.
  virtual void expect(const std::string& framework) = 0;
  /// The versions of the language and of the frameworks that are expected, by name.
  virtual std::map<std::string, std::string> versions() = 0;
  /// @throws RunError for a function that cannot be loaded
  virtual std::unique_ptr<BoundFunction> bind(const FunctionCall& call) = 0;
};

/// Null in a process that can call no function.
FunctionRuntime* function_runtime();
/// To be called once, before any candidate is read. The runtime must outlive the process's work.
void set_function_runtime(FunctionRuntime* runtime);

/// A function's file and name.
struct FunctionPlace {
  std::string file, name;
};

/// Takes "folder/file.py:name" apart; nothing for any other text.
std::optional<FunctionPlace> function_place(std::string_view text);

/// Fills in what calls a function: bind, code and after_call. Its calls throw RunError in a process
/// without runtime. @param call all but the tensors and numbers, which are those of each problem
/// @param numbers of a problem and a tile, by the names of the function's arguments
void call_function(
    Variant& variant, const Operator& op, const FunctionCall& call,
    std::function<std::map<std::string, std::int64_t>(const Problem&, const Tile&)> numbers);

}  // namespace gla_bench
