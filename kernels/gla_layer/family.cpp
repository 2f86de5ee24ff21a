#include "kernels/gla_layer/family.hpp"

#include <algorithm>

#include "core/operator.hpp"

namespace gla_bench::gla_layer {
namespace {

constexpr float epsilon = 1e-5f;

// The product of [rows, k] and [k, n], both contiguous.
MatrixProduct product(std::int64_t m, std::int64_t k, std::int64_t n, MatrixOperand a,
                      MatrixOperand b, MatrixOperand c) {
  MatrixProduct result;
  result.m = m;
  result.k = k;
  result.n = n;
  a.ld = k;
  b.ld = c.ld = n;
  result.a = std::move(a);
  result.b = std::move(b);
  result.c = std::move(c);
  return result;
}

MatrixOperand operand(const std::string& buffer, DType dtype) {
  MatrixOperand result;
  result.buffer = buffer;
  result.dtype = dtype;
  return result;
}

double matrix_bytes(const Problem& problem, std::int64_t rows, std::int64_t columns) {
  return static_cast<double>(rows) * static_cast<double>(columns) *
         static_cast<double>(size_of(problem.dtype));
}

}  // namespace

Extents extents(const Problem& problem) {
  const Shape& s = problem.shape;
  return {s.batch * s.seq,     s.model_dim,          s.heads, s.key_dim, s.value_dim,
          s.heads * s.key_dim, s.heads * s.value_dim};
}

std::vector<Region> regions(const Problem& problem, Form form) {
  const Extents n = extents(problem);
  const auto bytes = [&](std::int64_t columns, std::size_t size) {
    return static_cast<std::size_t>(n.rows) * static_cast<std::size_t>(columns) * size;
  };
  const std::size_t io = size_of(problem.dtype);
  std::vector<Region> list{{"q", bytes(n.keys, io)},   {"k", bytes(n.keys, io)},
                           {"v", bytes(n.values, io)}, {"r", bytes(n.values, io)},
                           {"low", bytes(rank, io)},   {"g", bytes(n.keys, io)},
                           {"o", bytes(n.values, io)}, {"gated", bytes(n.values, io)}};
  if (form == Form::fused) return list;
  list.push_back({"gate_sums", bytes(n.keys, sizeof(float))});
  list.push_back({"swish", bytes(n.values, sizeof(float))});
  list.push_back({"normed", bytes(n.values, sizeof(float))});
  return list;
}

GlaLayerParams params(const Problem& problem, const Address& address) {
  const Extents n = extents(problem);
  GlaLayerParams p{};
  p.x = address("x");
  p.w_q = address("w_q");
  p.w_k = address("w_k");
  p.w_v = address("w_v");
  p.w_1 = address("w_1");
  p.w_2 = address("w_2");
  p.b_g = address("b_g");
  p.w_r = address("w_r");
  p.b_r = address("b_r");
  p.w_o = address("w_o");
  p.y = address("y");
  p.q = address("q");
  p.k = address("k");
  p.v = address("v");
  p.r = address("r");
  p.low = address("low");
  p.g = address("g");
  p.o = address("o");
  p.gated = address("gated");
  p.gate_sums = static_cast<float*>(address("gate_sums"));
  p.swish = static_cast<float*>(address("swish"));
  p.normed = static_cast<float*>(address("normed"));
  p.rows = n.rows;
  p.model = n.model;
  p.heads = static_cast<int>(n.heads);
  p.key_dim = static_cast<int>(n.key_dim);
  p.value_dim = static_cast<int>(n.value_dim);
  p.gate_factor = option(problem, "gate_divisor") == "1" ? 1.0f : 1.0f / 16;
  p.epsilon = epsilon;
  return p;
}

std::vector<Constant> constants(const Problem& problem, const Tile& tile) {
  std::vector<Constant> list{{"dim", "key_dim", static_cast<int>(problem.shape.key_dim)},
                             {"dim", "value_dim", static_cast<int>(problem.shape.value_dim)}};
  for (const auto& [axis, value] : tile)
    if (axis == "tokens") list.push_back({"tile", axis, value});
  return list;
}

std::vector<Step> projections(const Problem& problem, Arithmetic arithmetic) {
  const Extents n = extents(problem);
  const DType io = problem.dtype;
  struct Projection {
    const char *weight, *result;
    std::int64_t columns;
  };
  std::vector<Step> steps;
  for (const auto& [weight, result, columns] :
       {Projection{"w_q", "q", n.keys}, Projection{"w_k", "k", n.keys},
        Projection{"w_v", "v", n.values}, Projection{"w_r", "r", n.values},
        Projection{"w_1", "low", rank}}) {
    MatrixProduct step = product(n.rows, n.model, columns, operand("x", io), operand(weight, io),
                                 operand(result, io));
    step.arithmetic = arithmetic;
    step.stage = "projections";
    steps.push_back(std::move(step));
  }
  return steps;
}

Step gate_product(const Problem& problem, Arithmetic arithmetic) {
  const Extents n = extents(problem);
  const DType io = problem.dtype;
  MatrixProduct step = product(n.rows, rank, n.keys, operand("low", io), operand("w_2", io),
                               operand("gate_sums", DType::float32));
  step.arithmetic = arithmetic;
  step.stage = "gate";
  return step;
}

Step output_product(const Problem& problem, Arithmetic arithmetic) {
  const Extents n = extents(problem);
  const DType io = problem.dtype;
  MatrixProduct step = product(n.rows, n.values, n.model, operand("gated", io), operand("w_o", io),
                               operand("y", io));
  step.arithmetic = arithmetic;
  step.stage = "output";
  return step;
}

double row_bytes(const Problem& problem, std::int64_t columns) {
  return matrix_bytes(problem, extents(problem).rows, columns);
}

double float_bytes(const Problem& problem, std::int64_t columns) {
  return static_cast<double>(extents(problem).rows) * static_cast<double>(columns) * 4;
}

Traffic projection_traffic(const Problem& problem) {
  const Extents n = extents(problem);
  const std::int64_t columns = 2 * n.keys + 2 * n.values + rank;
  return {5 * row_bytes(problem, n.model) + matrix_bytes(problem, n.model, columns),
          row_bytes(problem, columns)};
}

Traffic output_traffic(const Problem& problem) {
  const Extents n = extents(problem);
  return {row_bytes(problem, n.values) + matrix_bytes(problem, n.values, n.model),
          row_bytes(problem, n.model)};
}

std::vector<StageTraffic> stages(const Problem& problem, Form form, const Traffic& gla) {
  const Extents n = extents(problem);
  const double values = row_bytes(problem, n.values), keys = row_bytes(problem, n.keys);
  Traffic gate{row_bytes(problem, rank) + matrix_bytes(problem, rank + 1, n.keys), keys};
  Traffic norm{2 * values + matrix_bytes(problem, 1, n.values), values};
  if (form == Form::composed) {
    const double sums = float_bytes(problem, n.keys), between = float_bytes(problem, n.values);
    gate.read_bytes += sums;
    gate.write_bytes += sums;
    norm.read_bytes += 2 * between;
    norm.write_bytes += 2 * between;
  }
  return {{"projections", projection_traffic(problem)},
          {"gate", gate},
          {"gla", gla},
          {"norm_gate", norm},
          {"output", output_traffic(problem)}};
}

double flops_around(const Problem& problem) {
  const Extents n = extents(problem);
  const std::int64_t columns = 2 * n.keys + 3 * n.values + rank;
  return 2 * static_cast<double>(n.rows) * static_cast<double>(n.model * columns + rank * n.keys);
}

std::optional<std::string> refuse_problem(const Problem& problem, Direction direction) {
  const Shape& s = problem.shape;
  if (problem.direction != direction) return std::string(name(direction)) + " only";
  if (problem.layout != Layout::seq_first) return "head_first: projections give tokens first";
  if (s.batch < 1 || s.seq < 1 || s.heads < 1 || s.model_dim < 1)
    return "batch, seq, heads and model_dim must be at least 1";
  if (s.key_dim < 1 || s.key_dim > 512 || s.value_dim < 1 || s.value_dim > 512)
    return "key_dim and value_dim must be in 1..512";
  if (s.heads > 65536 || s.model_dim > (1 << 20)) return "heads or model_dim too large";
  if (s.sequences > 0) return "has no cu_seqlens: all sequences have one length";
  return std::nullopt;
}

}  // namespace gla_bench::gla_layer
