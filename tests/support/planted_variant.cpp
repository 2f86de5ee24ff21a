#include "tests/support/planted_variant.hpp"

#include <cstring>
#include <limits>

#include "core/error.hpp"
#include "harness/tensors/staging.hpp"

namespace gla_bench {
namespace {

const Operator& gla() {
  return *find_operator("gla");
}

// Addresses of the operator's tensors, in the order of its specs.
ParamBytes bind_all(const Problem& problem, const Tile&, const Address& address) {
  std::vector<void*> addresses;
  for (const TensorSpec& spec : gla().tensors(problem)) addresses.push_back(address(spec.name));
  ParamBytes bytes(addresses.size() * sizeof(void*));
  std::memcpy(bytes.data(), addresses.data(), bytes.size());
  return bytes;
}

struct Place {
  TensorSpec spec;
  std::span<std::byte> bytes;
};

std::vector<Place> places(const HostCall& call) {
  std::vector<TensorSpec> specs = gla().tensors(call.problem);
  std::vector<void*> addresses(specs.size());
  std::memcpy(addresses.data(), call.params.data(), call.params.size());
  std::vector<Place> list;
  for (std::size_t i = 0; i < specs.size(); ++i)
    list.push_back(
        {specs[i],
         {static_cast<std::byte*>(addresses[i]), static_cast<std::size_t>(specs[i].bytes())}});
  return list;
}

void plant(Fault fault, const TensorSpec& spec, std::vector<float>& values) {
  if (spec.name != "o") return;
  if (fault == Fault::nan) values.back() = std::numeric_limits<float>::quiet_NaN();
  if (fault == Fault::off_by_little) values.back() += 0.5F;
}

void compute(Fault fault, const HostCall& call) {
  if (fault == Fault::throws) throw RunError("planted: it does not run");
  HostTensors inputs;
  for (const Place& place : places(call)) {
    if (place.spec.role != TensorSpec::Role::input) continue;
    std::vector<float>& values = inputs[place.spec.name];
    values.resize(static_cast<std::size_t>(place.spec.elements()));
    unpack(place.spec, call.problem.layout, place.bytes, values);
    if (fault == Fault::input_changed) place.bytes.back() ^= std::byte{1};
  }
  const ReferenceTensors outputs = gla().reference(call.problem, inputs);
  for (const Place& place : places(call)) {
    if (place.spec.role != TensorSpec::Role::output) continue;
    if (fault == Fault::unwritten && place.spec.name == "o") continue;
    const std::vector<double>& exact = outputs.at(place.spec.name);
    std::vector<float> values;
    for (const double value : exact) values.push_back(round_to(place.spec.dtype, value));
    plant(fault, place.spec, values);
    pack(place.spec, call.problem.layout, values, place.bytes);
    if (fault == Fault::overrun) *(place.bytes.data() + place.bytes.size()) ^= std::byte{1};
  }
}

std::optional<std::string> reject_small(Fault fault, const Tile& tile) {
  if (fault == Fault::refuses) return "planted: it refuses everything";
  if (tile.at("chunk") < 16) return "chunk " + std::to_string(tile.at("chunk")) + " is below 16";
  return std::nullopt;
}

}  // namespace

Variant planted_variant(Fault fault, const std::string& name) {
  Variant variant;
  variant.op = "gla";
  variant.name = name;
  variant.summary = "the reference, with a fault";
  variant.space = {{"chunk", {8, 16, 32}, "tokens per step"}};
  variant.sources = {"linear_recurrence/params.h"};
  variant.arithmetic = [](const Problem&, const Tile&) { return Arithmetic::float32; };
  variant.reject = [fault](const Problem&, const Tile& tile, const Limits&) {
    return reject_small(fault, tile);
  };
  variant.traffic = [](const Problem&, const Tile&) { return Traffic{3000, 1000}; };
  variant.flops = [](const Problem&, const Tile&) { return 5000.0; };
  variant.workspace = [](const Problem&, const Tile&) { return std::vector<Region>{}; };
  variant.bind = bind_all;
  variant.code = [fault](const HostCall& call) { compute(fault, call); };
  return variant;
}

}  // namespace gla_bench
