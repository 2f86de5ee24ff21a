#include "harness/config/candidates/functions.hpp"

#include <cstring>
#include <mutex>

#include "core/error.hpp"
#include "harness/config/candidates/problem_numbers.hpp"

namespace gla_bench {
namespace {

FunctionRuntime* the_runtime = nullptr;

FunctionRuntime& runtime() {
  if (the_runtime == nullptr)
    throw RunError("a function of Python runs in a process of Python alone");
  return *the_runtime;
}

/// The bound functions of one variant. Params are bytes, so that they hold a function's number.
class Bound {
 public:
  ParamBytes add(std::unique_ptr<BoundFunction> function) {
    const std::lock_guard lock(guard_);
    // Nothing says when params are no longer needed. The oldest are.
    while (functions_.size() >= most) functions_.erase(functions_.begin());
    functions_[++last_] = std::move(function);
    ParamBytes params(sizeof last_);
    std::memcpy(params.data(), &last_, sizeof last_);
    return params;
  }

  BoundFunction& of(const ParamBytes& params) {
    const std::lock_guard lock(guard_);
    std::uint64_t number = 0;
    if (params.size() == sizeof number) std::memcpy(&number, params.data(), sizeof number);
    const auto found = functions_.find(number);
    if (found == functions_.end()) throw RunError("a function is called that is not bound");
    return *found->second;
  }

 private:
  static constexpr std::size_t most = 4096;
  std::mutex guard_;
  std::map<std::uint64_t, std::unique_ptr<BoundFunction>> functions_;
  std::uint64_t last_ = 0;
};

std::vector<FunctionTensor> tensors_of(const Operator& op, const Problem& problem,
                                       const Address& address) {
  std::vector<FunctionTensor> tensors;
  for (const TensorSpec& spec : op.tensors(problem)) {
    FunctionTensor tensor{spec.name,    spec.dtype, address(spec.name),
                          spec.extents, {},         spec.role == TensorSpec::Role::output};
    for (std::size_t axis = 0; axis < spec.extents.size(); ++axis)
      tensor.strides.push_back(stride_of(spec, problem.layout, axis));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

FunctionRuntime* function_runtime() {
  return the_runtime;
}

void set_function_runtime(FunctionRuntime* runtime) {
  the_runtime = runtime;
}

std::optional<FunctionPlace> function_place(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !text.substr(0, colon).ends_with(".py"))
    return std::nullopt;
  return FunctionPlace{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

void call_function(
    Variant& variant, const Operator& op, const FunctionCall& call,
    std::function<std::map<std::string, std::int64_t>(const Problem&, const Tile&)> numbers) {
  if (the_runtime != nullptr) the_runtime->expect(call.framework);
  const auto bound = std::make_shared<Bound>();
  variant.bind = [bound, &op, call, numbers = std::move(numbers)](
                     const Problem& problem, const Tile& tile, const Address& address) {
    FunctionCall full = call;
    full.tensors = tensors_of(op, problem, address);
    full.numbers = numbers(problem, tile);
    full.scale = scale_of(op, problem);
    return bound->add(runtime().bind(full));
  };
  variant.after_call = [bound](const ParamBytes& params, void* stream) {
    bound->of(params).finish(stream);
  };
  if (variant.backend == BackendId::host) {
    variant.code = [bound](const HostCall& now) { bound->of(now.params).call(nullptr); };
    return;
  }
  variant.code = [bound](const Problem&, const Tile&) {
    const auto enqueue = [bound](const ParamBytes& params, void* stream) {
      bound->of(params).call(stream);
    };
    return Recipe{{}, {}, {StreamCall{enqueue}}};
  };
}

}  // namespace gla_bench
