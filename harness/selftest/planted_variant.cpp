#include "harness/selftest/planted_variant.hpp"

#include "core/operator.hpp"
#include "kernels/linear_recurrence/family.hpp"

namespace gla_bench::planted {
namespace {

// More memory than any machine has, so much that no allocator promises it.
constexpr std::size_t too_much = std::size_t{1} << 60;

std::vector<Region> regions(Fault fault, const Problem& problem) {
  const Shape& s = problem.shape;
  const auto columns = static_cast<std::size_t>(s.batch * s.heads * s.value_dim);
  return {{"scratch", fault == memory_exhaustion ? too_much : columns * sizeof(float)}};
}

bool in_bfloat16(Fault fault) {
  return fault == rounds || fault == truncates;
}

}  // namespace

Variant common_variant(Fault fault, std::string_view name) {
  Variant variant;
  variant.op = "gla";
  variant.name = name;
  variant.summary = "planted: " + variant.name;
  variant.space = {{"chunk", {32}, "tokens of a chunk"}};
  // What is in bfloat16 may round its products, too: its bounds have room for that.
  variant.arithmetic = [fault](const Problem&, const Tile&) {
    return in_bfloat16(fault) ? Arithmetic::bfloat16 : Arithmetic::float32;
  };
  variant.reject = [fault](const Problem& problem, const Tile&,
                           const Limits&) -> std::optional<std::string> {
    const DType dtype = in_bfloat16(fault) ? DType::bfloat16 : DType::float32;
    if (problem.dtype != dtype || problem.shape.key_dim != keys)
      return "planted for " + std::string(gla_bench::name(dtype)) + " and key_dim " +
             std::to_string(keys);
    return std::nullopt;
  };
  variant.traffic = [](const Problem& problem, const Tile&) -> Traffic {
    const double bytes = find_operator("gla")->work(problem).floor_bytes;
    return {bytes, bytes};
  };
  variant.flops = [](const Problem& problem, const Tile&) {
    return find_operator("gla")->work(problem).flops;
  };
  variant.workspace = [fault](const Problem& problem, const Tile&) {
    return regions(fault, problem);
  };
  variant.bind = [fault](const Problem& problem, const Tile&, const Address& address) {
    return linear_recurrence::bind(problem, address, regions(fault, problem));
  };
  return variant;
}

}  // namespace gla_bench::planted
