#include "harness/calls/question.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "harness/support/text.hpp"
#include "harness/tensors/staging.hpp"
#include "harness/tensors/tensor_extents.hpp"

namespace gla_bench::calls {
namespace {

/// Options that tensors tell of by their dtypes and strides.
constexpr std::array<std::string_view, 4> told_by_tensors{"gate_dtype", "state_dtype",
                                                          "state_layout", "packed"};

std::string list_text(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const std::int64_t value : values)
    text.append(text.size() > 1 ? ", " : "").append(std::to_string(value));
  return text + "]";
}

std::string describe(const GivenTensor& tensor) {
  return tensor.called + " is " + std::string(name(tensor.dtype)) + " " +
         list_text(tensor.extents) + " with strides " + list_text(tensor.strides);
}

/// What an extent may be at most holds for every variant.
void check_extents(const Operator& op, const Problem& problem) {
  for (const ExtentAxis& axis : extent_axes)
    if (const std::int64_t value = problem.shape.*axis.extent; value > axis.most)
      throw InputError(op.name + ": found " + std::string(axis.name) + "=" + std::to_string(value) +
                       ", expected at most " + std::to_string(axis.most));
  if (!(largest_tensor(problem.shape) <= most_elements))
    throw InputError(gla_bench::describe(problem) + "; expected at most 2^48 elements per tensor");
}

/// Axes of one element may have any stride, and so may all axes of an empty tensor.
bool same_strides(const GivenTensor& given, const std::vector<std::int64_t>& expected) {
  if (std::find(given.extents.begin(), given.extents.end(), 0) != given.extents.end()) return true;
  for (std::size_t axis = 0; axis < expected.size(); ++axis)
    if (given.extents[axis] != 1 && given.strides[axis] != expected[axis]) return false;
  return true;
}

/// The option of the problem that would make a tensor of this dtype right: ", or float32 with ..".
std::string other_dtypes(const Operator& op, const Problem& problem, const TensorSpec& spec) {
  std::string text;
  for (const OptionAxis& axis : op.options) {
    if (std::find(told_by_tensors.begin(), told_by_tensors.end(), axis.name) ==
        told_by_tensors.end())
      continue;
    for (const std::string& value : axis.values) {
      Problem other = problem;
      other.options[axis.name] = value;
      for (const TensorSpec& as : op.tensors(other))
        if (as.name == spec.name && as.dtype != spec.dtype)
          text += " or " + std::string(name(as.dtype));
    }
  }
  return text;
}

/// How far tensors agree with a problem: how many of them, and what is wrong with the next one.
struct Agreement {
  std::size_t tensors = 0;
  std::string wrong;
  bool dtype = false;  ///< what is wrong is a dtype
};

Agreement agreement(const Operator& op, const Problem& problem, const Question& question,
                    const Shape& shape) {
  Agreement found;
  for (const TensorSpec& spec : op.tensors(problem)) {
    const auto place = question.tensors.find(spec.name);
    if (place == question.tensors.end()) {
      found.wrong = "there is no tensor '" + spec.name + "', which " + op.name + " has";
      return found;
    }
    const GivenTensor& given = place->second;
    if (given.extents != spec.extents) {
      found.wrong = describe(given) + "; expected the shape " + list_text(spec.extents) + ", for" +
                    extents_text(shape, " ", "=");
      return found;
    }
    if (given.dtype != spec.dtype) {
      found.dtype = true;
      found.wrong = describe(given) + "; expected " + std::string(name(spec.dtype)) +
                    other_dtypes(op, problem, spec) + " beside " +
                    std::string(name(problem.dtype)) + " inputs";
      return found;
    }
    if (const auto strides = strides_of(spec, problem.layout); !same_strides(given, strides)) {
      found.wrong = describe(given) + "; expected the strides " + list_text(strides) + " of " +
                    std::string(name(problem.layout)) + " memory, as the tensors before it have; " +
                    "nothing is copied here, so `.contiguous()` is yours to call";
      return found;
    }
    ++found.tensors;
  }
  return found;
}

/// The problem in each layout and with all values of the options that tensors tell of, the usual
/// ones first.
std::vector<Problem> possible_problems(const Operator& op, const Problem& problem) {
  std::vector<Problem> list{problem};
  const auto multiply = [&](auto values, auto set) {
    std::vector<Problem> more;
    for (const auto& value : values)
      for (Problem one : list) {
        set(one, value);
        more.push_back(std::move(one));
      }
    list = std::move(more);
  };
  for (const OptionAxis& axis : op.options) {
    const bool told = std::find(told_by_tensors.begin(), told_by_tensors.end(), axis.name) !=
                      told_by_tensors.end();
    if (!told || problem.options.contains(axis.name)) continue;
    multiply(axis.values, [&](Problem& one, const std::string& value) {
      if (value != axis.values.front()) one.options[axis.name] = value;
    });
  }
  multiply(std::array{Layout::seq_first, Layout::head_first},
           [](Problem& one, Layout layout) { one.layout = layout; });
  return list;
}

const Operator& operator_of(const Question& question) {
  if (const Operator* op = find_operator(question.op)) return *op;
  std::vector<std::string> names;
  for (const Operator& op : operators()) names.push_back(op.name);
  throw InputError("found the operator '" + question.op + "', expected one of " + join(names));
}

std::map<std::string, std::string> options_of(const Operator& op, const Question& question) {
  std::map<std::string, std::string> chosen;
  for (const auto& [name, text] : question.options) {
    const auto axis =
        std::find_if(op.options.begin(), op.options.end(),
                     [&, &key = name](const OptionAxis& one) { return one.name == key; });
    if (axis == op.options.end()) {
      std::vector<std::string> names;
      for (const OptionAxis& one : op.options) names.push_back(one.name);
      throw InputError("found the option '" + name + "', expected one of " + join(names));
    }
    const std::optional<std::string> value = option_value(*axis, text);
    if (!value)
      throw InputError("found " + name + "='" + text + "', expected " + join(axis->values, " or "));
    if (*value != axis->values.front()) chosen[name] = *value;
  }
  return chosen;
}

DType dtype_of(const Operator& op, const Problem& problem, const Question& question) {
  const auto given = question.tensors.find(dtype_input(op, problem));
  if (given == question.tensors.end())
    throw InputError("there is no tensor '" + dtype_input(op, problem) + "', which " + op.name +
                     " has");
  for (const DType dtype : problem_dtypes)
    if (dtype == given->second.dtype) return dtype;
  throw DtypeError(describe(given->second) + "; expected float32, bfloat16 or float16");
}

Shape shape_of(const Operator& op, const Problem& problem, const Question& question) {
  const auto given = [&](std::string_view name) -> const std::vector<std::int64_t>* {
    const auto place = question.tensors.find(std::string(name));
    return place == question.tensors.end() ? nullptr : &place->second.extents;
  };
  try {
    return solve_extents(op, problem, given);
  } catch (const ExtentError& error) {
    const auto place = question.tensors.find(error.input);
    if (place == question.tensors.end()) throw;
    throw InputError(describe(place->second) + "; " + error.what());
  }
}

}  // namespace

std::vector<std::int64_t> strides_of(const TensorSpec& spec, Layout layout) {
  const std::vector<std::int64_t> stored = storage_extents(spec, layout);
  std::vector<std::int64_t> strides(stored.size(), 1);
  for (std::size_t axis = stored.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * stored[axis];
  if (spec.tokens && layout == Layout::head_first && strides.size() > 2)
    std::swap(strides[1], strides[2]);
  if (spec.value_first) std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
  if (spec.token_pitch > 0) {
    strides[1] = spec.token_pitch;
    strides[0] = spec.token_pitch * spec.extents[1];
  }
  return strides;
}

Problem problem_of(const Question& question) {
  const Operator& op = operator_of(question);
  if (std::find(op.directions.begin(), op.directions.end(), question.direction) ==
      op.directions.end())
    throw NoSuchDirection(op.name + " has no " + std::string(name(question.direction)) +
                          " in this program");
  Problem problem;
  problem.op = question.op;
  problem.direction = question.direction;
  problem.scale = question.scale;
  problem.gate = "file";
  problem.options = options_of(op, question);
  const bool backward = question.direction == Direction::backward;
  problem.initial_state = question.tensors.contains("initial_state");
  problem.final_state = question.tensors.contains(backward ? "dfinal_state" : "final_state");
  problem.dtype = dtype_of(op, problem, question);
  problem.shape = shape_of(op, problem, question);
  check_extents(op, problem);
  std::optional<Agreement> best;
  std::optional<std::string> refusal;
  for (const Problem& one : possible_problems(op, problem)) {
    const Agreement found = agreement(op, one, question, problem.shape);
    if (found.wrong.empty()) {
      refusal = op.refuse ? op.refuse(one) : std::nullopt;
      if (!refusal) return one;
    } else if (!best || found.tensors > best->tensors) {
      best = found;
    }
  }
  if (refusal) throw InputError(gla_bench::describe(problem) + ": " + *refusal);
  if (best->dtype) throw DtypeError(best->wrong);
  throw InputError(best->wrong);
}

}  // namespace gla_bench::calls
