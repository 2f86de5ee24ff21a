#include "harness/emit/call.hpp"

#include <cstring>
#include <map>

#include "core/error.hpp"
#include "harness/backends/sources/prologue.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

// Scales that no parameter holds by chance, exact in float. What differs between a call with one
// and with the other is the scale.
constexpr double one_scale = 0.7119140625, other_scale = 0.2880859375;

/// Addresses that no other parameter holds by chance, far apart: one for each tensor and region
/// that the candidate has. All others are null.
class Markers {
 public:
  void add(const std::string& name) {
    addresses_.try_emplace(name, 0x5a3c'0000'0000'1000 + (addresses_.size() << 40));
  }
  Address address() const {
    return [this](std::string_view name) -> void* {
      const auto found = addresses_.find(name);
      return found == addresses_.end() ? nullptr : reinterpret_cast<void*>(found->second);
    };
  }
  const std::string* name_at(std::uint64_t address) const {
    for (const auto& [name, value] : addresses_)
      if (value == address) return &name;
    return nullptr;
  }

 private:
  std::map<std::string, std::uint64_t, std::less<>> addresses_;
};

[[noreturn]] void refuse(const Candidate& candidate, const std::string& reason) {
  throw InputError(describe(candidate) + ": cannot be emitted: " + reason);
}

void check_steps(const Candidate& candidate, const Recipe& recipe) {
  if (!recipe.imports.empty())
    refuse(candidate, "it launches kernels of another unit (" + recipe.imports.front().source +
                          "); one file holds one unit");
  for (const Step& step : recipe.steps) {
    if (std::holds_alternative<MatrixProduct>(step))
      refuse(candidate,
             "it multiplies matrices through cuBLAS; only launches of its own kernels "
             "can be written down");
    if (std::holds_alternative<StreamCall>(step))
      refuse(candidate, "it calls a function of another language");
  }
}

Candidate with_scale(Candidate candidate, double scale) {
  candidate.problem.scale = scale;
  return candidate;
}

template <class Type>
Type read(const ParamBytes& bytes, std::size_t offset) {
  Type value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

CallValue<std::int64_t> half_word(const Candidate& candidate, const ParamBytes& one,
                                  const ParamBytes& other, std::size_t offset) {
  CallValue<std::int64_t> value;
  value.offset = offset;
  value.bytes = 4;
  if (std::memcmp(&one[offset], &other[offset], 4) == 0) {
    value.constant = read<std::uint32_t>(one, offset);
    return value;
  }
  if (read<float>(one, offset) != static_cast<float>(one_scale) ||
      read<float>(other, offset) != static_cast<float>(other_scale))
    refuse(candidate, "its parameters depend on the scale in a way of their own");
  value.origin = Origin::scale;
  return value;
}

bool is_zero(const CallValue<std::int64_t>& value) {
  return value.origin == Origin::constant && value.constant == 0;
}

/// The parameters in words of 8 bytes, and in halves where one of them is the scale.
std::vector<CallValue<std::int64_t>> parameters_of(const Candidate& candidate,
                                                   const ParamBytes& one, const ParamBytes& other,
                                                   const Markers& markers) {
  std::vector<CallValue<std::int64_t>> values;
  if (one.size() % 8 != 0) refuse(candidate, "its parameters are no whole words of 8 bytes");
  for (std::size_t offset = 0; offset < one.size(); offset += 8) {
    if (std::memcmp(&one[offset], &other[offset], 8) != 0) {
      for (const std::size_t half : {offset, offset + 4})
        if (auto value = half_word(candidate, one, other, half); !is_zero(value))
          values.push_back(std::move(value));
      continue;
    }
    const auto word = read<std::uint64_t>(one, offset);
    const std::string* name = markers.name_at(word);
    CallValue<std::int64_t> value;
    value.offset = offset;
    value.origin = name != nullptr ? Origin::address : Origin::number;
    if (name != nullptr)
      value.buffer = *name;
    else
      value.number = static_cast<std::int64_t>(word);
    values.push_back(std::move(value));
  }
  return values;
}

CallValue<std::int64_t> argument_of(const Argument& argument) {
  CallValue<std::int64_t> value;
  if (const auto* buffer = std::get_if<BufferAddress>(&argument)) {
    value.origin = Origin::address;
    value.buffer = buffer->name;
  } else if (const auto* real = std::get_if<float>(&argument)) {
    value.bytes = 4;
    value.origin = *real == static_cast<float>(one_scale) ? Origin::scale : Origin::constant;
    std::uint32_t bits = 0;
    std::memcpy(&bits, real, sizeof bits);
    if (value.origin == Origin::constant) value.constant = bits;
  } else {
    const auto* narrow = std::get_if<std::int32_t>(&argument);
    value.bytes = narrow != nullptr ? 4 : 8;
    value.origin = Origin::number;
    value.number = narrow != nullptr ? *narrow : std::get<std::int64_t>(argument);
  }
  return value;
}

CallLaunch<std::int64_t> launch_of(const KernelLaunch& launch) {
  CallLaunch<std::int64_t> call{launch};
  call.grid = {launch.grid.x, launch.grid.y, launch.grid.z};
  for (const Argument& argument : launch.arguments) call.arguments.push_back(argument_of(argument));
  return call;
}

std::string text_of(const CallValue<std::int64_t>& value) {
  return " " + std::to_string(static_cast<int>(value.origin)) + ":" + std::to_string(value.offset) +
         ":" + std::to_string(value.bytes) + ":" + value.buffer + ":" +
         std::to_string(value.constant);
}

template <class Number>
std::vector<CallValue<ExtentFormula>> without_numbers(const std::vector<CallValue<Number>>& list) {
  std::vector<CallValue<ExtentFormula>> copies;
  for (const CallValue<Number>& value : list)
    copies.push_back({value.origin, value.offset, value.bytes, value.buffer, value.constant, {}});
  return copies;
}

}  // namespace

Call<std::int64_t> call_of(const Operator& op, const Candidate& given) {
  const Candidate candidate = with_scale(given, one_scale);
  if (std::holds_alternative<std::function<void(const HostCall&)>>(candidate.variant->code))
    refuse(candidate, "it has no CUDA source");
  const Recipe recipe = recipe_of(candidate);
  check_steps(given, recipe);
  Call<std::int64_t> call;
  for (const Unit& unit : units_of(candidate.problem.dtype, recipe)) call.source += unit.text;
  for (const Step& step : recipe.steps) {
    if (const auto* launch = std::get_if<KernelLaunch>(&step))
      call.steps.push_back(launch_of(*launch));
    else
      call.steps.push_back(CallZero{std::get<Zero>(step).buffer});
  }
  for (const TensorMap& map : recipe.tensor_maps)
    call.maps.push_back({map, map.extents, map.strides});
  const Variant& variant = *candidate.variant;
  for (const Region& region : workspace_of(candidate))
    call.regions.push_back({region.name, static_cast<std::int64_t>(region.bytes)});
  Markers markers;
  for (const TensorSpec& tensor : op.tensors(candidate.problem)) {
    markers.add(tensor.name);
    call.tensors.push_back(
        {tensor, storage_extents(tensor, candidate.problem.layout), tensor.token_pitch});
  }
  for (const auto& region : call.regions) markers.add(region.name);
  const ParamBytes one = variant.bind(candidate.problem, candidate.tile, markers.address());
  const ParamBytes other =
      variant.bind(with_scale(given, other_scale).problem, candidate.tile, markers.address());
  call.parameter_bytes = one.size();
  call.parameters = parameters_of(given, one, other, markers);
  return call;
}

std::string form_of(const Call<std::int64_t>& call) {
  std::string text = call.source;
  for (const auto& step : call.steps) {
    if (const auto* zero = std::get_if<CallZero>(&step)) {
      text += "\nzero " + zero->buffer;
      continue;
    }
    const auto& launch = std::get<CallLaunch<std::int64_t>>(step);
    const Dim3& block = launch.like.block;
    text += "\n" + launch.like.entry + " " + std::to_string(block.x) + " " +
            std::to_string(block.y) + " " + std::to_string(block.z) + " " +
            std::to_string(launch.like.shared_bytes) + (launch.like.overlaps ? " overlaps" : "");
    for (const auto& argument : launch.arguments) text += text_of(argument);
  }
  for (const auto& map : call.maps) {
    text += "\nmap " + map.like.buffer + " " + std::to_string(map.like.offset) + " " +
            std::to_string(map.extents.size()) + " " + std::to_string(map.like.swizzle_bytes) +
            " " + std::string(name(map.like.dtype));
    for (const int box : map.like.box) text += " " + std::to_string(box);
  }
  for (const auto& tensor : call.tensors)
    text += "\ntensor " + tensor.like.name + " " + std::to_string(tensor.extents.size()) +
            (tensor.pitch > 0 ? " sliced" : "");
  for (const auto& region : call.regions) text += "\nregion " + region.name;
  text += "\nparameters " + std::to_string(call.parameter_bytes);
  for (const auto& value : call.parameters) text += text_of(value);
  return text;
}

Call<ExtentFormula> with_formulas(const Call<std::int64_t>& call,
                                  const std::vector<ExtentFormula>& formulas) {
  Call<ExtentFormula> result{call.source};
  for (const auto& step : call.steps) {
    if (const auto* launch = std::get_if<CallLaunch<std::int64_t>>(&step))
      result.steps.push_back(
          CallLaunch<ExtentFormula>{launch->like, {}, without_numbers(launch->arguments)});
    else
      result.steps.push_back(std::get<CallZero>(step));
  }
  for (const auto& map : call.maps)
    result.maps.push_back({map.like, std::vector<ExtentFormula>(map.extents.size()),
                           std::vector<ExtentFormula>(map.strides.size())});
  for (const auto& tensor : call.tensors)
    result.tensors.push_back({tensor.like, std::vector<ExtentFormula>(tensor.extents.size()), {}});
  for (const auto& region : call.regions) result.regions.push_back({region.name, {}});
  result.parameter_bytes = call.parameter_bytes;
  result.parameters = without_numbers(call.parameters);
  std::size_t next = 0;
  for_each_number(result, [&](ExtentFormula& number) { number = formulas.at(next++); });
  return result;
}

}  // namespace gla_bench
