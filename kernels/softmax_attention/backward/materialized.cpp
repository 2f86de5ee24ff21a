// The host side of materialized.cuh: its products through cuBLAS, and its launches.

#include "kernels/softmax_attention/backward/layout.h"
#include "kernels/softmax_attention/backward/steps.hpp"
#include "kernels/softmax_attention/family.hpp"
#include "kernels/softmax_attention/variants.hpp"

namespace gla_bench::softmax_attention {
namespace {

TileSpace space() {
  return {{"tf32", {0, 1}, "float32 products with P and dS in tf32"}};
}

Arithmetic arithmetic(const Problem& problem, const Tile& tile) {
  return product_arithmetic(problem, choice(tile, "tf32") != 0 ? 1 : 3);
}

/// The number of elements from one row of scores to the next.
std::int64_t score_ld(const Problem& problem) {
  return ceil_div(problem.shape.keys_seq(), 8) * 8;
}

double rows(const Problem& problem) {
  return lse_bytes(problem) / 4;
}

/// The number of elements of one score matrix [B,H,T,ld].
double score_elements(const Problem& problem) {
  return rows(problem) * static_cast<double>(score_ld(problem));
}

/// The number of elements of dq, dk and dv together.
double result_elements(const Problem& problem) {
  return (query_bytes(problem) + key_bytes(problem) + value_bytes(problem)) /
         static_cast<double>(size_of(problem.dtype));
}

std::vector<Region> workspace(const Problem& problem, const Tile&) {
  const auto scores = static_cast<std::size_t>(score_elements(problem));
  std::vector<Region> regions = backward_regions(problem);
  regions.push_back({"scores", 2 * 4 * scores});
  if (problem.dtype != DType::float32)
    regions.push_back({"operands", 2 * size_of(problem.dtype) * scores});
  regions.push_back({"results", 4 * static_cast<std::size_t>(result_elements(problem))});
  return regions;
}

/// The matrix products, batched over heads whose addresses are evenly spaced. These are the heads
/// with the same place in their group, either of one sequence or, in the head-first layout, of all
/// sequences.
class Products {
 public:
  Products(const Problem& problem, const Tile& tile)
      : problem_(problem),
        params_(attention_params(problem, [](std::string_view) { return nullptr; }, {})),
        arithmetic_(arithmetic(problem, tile)),
        s_(problem.shape) {}

  std::vector<Step> scores() {
    each([this] {
      add(s_.seq, s_.keys_seq(), s_.key_dim, query("q"), key("k", true),
          score("scores", DType::float32, 0));
      add(s_.seq, s_.keys_seq(), s_.value_dim, query("do"), key("v", true),
          score("scores", DType::float32, 1));
    });
    return std::move(list_);
  }

  std::vector<Step> results() {
    each([this] {
      add(s_.keys_seq(), s_.value_dim, s_.seq, operand(0, true), query("do"),
          key_result(s_.value_dim, keys() * s_.key_dim));
      add(s_.keys_seq(), s_.key_dim, s_.seq, operand(1, true), query("q"),
          key_result(s_.key_dim, 0));
      const std::int64_t matrix = s_.seq * s_.key_dim;
      add(s_.seq, s_.key_dim, s_.keys_seq(), operand(1, false), key("k", false),
          {"results", DType::float32, (sequence_ * s_.heads + place_) * matrix, s_.key_dim,
           group() * matrix, false});
    });
    return std::move(list_);
  }

 private:
  bool head_first() const { return problem_.layout == Layout::head_first; }
  std::int64_t group() const { return softmax_attention::group(problem_); }
  std::int64_t queries() const { return s_.batch * s_.heads * s_.seq; }
  std::int64_t keys() const { return s_.batch * s_.keys_heads() * s_.keys_seq(); }

  template <class Form>
  void each(Form form) {
    for (sequence_ = 0; sequence_ < (head_first() ? 1 : s_.batch); ++sequence_)
      for (place_ = 0; place_ < group(); ++place_) form();
  }

  void add(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixOperand& a,
           const MatrixOperand& b, const MatrixOperand& c) {
    MatrixProduct product;
    product.m = m;
    product.n = n;
    product.k = k;
    product.batch = s_.keys_heads() * (head_first() ? s_.batch : 1);
    product.a = a;
    product.b = b;
    product.c = c;
    // dk and dv sum the contributions of all heads of a group, one place in the group after the
    // other.
    product.beta = c.buffer == "results" && m == s_.keys_seq() && a.transposed && place_ > 0;
    // These products stay in full float32. Rounding the inputs of S and dP to tf32 would show in
    // large logits and where dP - D cancels.
    const bool tf32 = arithmetic_ == Arithmetic::tf32 && c.buffer == "results";
    product.arithmetic =
        tf32 || problem_.dtype != DType::float32 ? arithmetic_ : Arithmetic::float32;
    list_.push_back(product);
  }

  MatrixOperand query(const char* tensor) const {
    const TokenStrides& strides =
        tensor == std::string_view("q") ? params_.query_strides : params_.output_strides;
    return {
        tensor,      problem_.dtype,          sequence_ * strides.batch + place_ * strides.heads,
        strides.seq, group() * strides.heads, false};
  }

  MatrixOperand key(const char* tensor, bool transposed) const {
    const TokenStrides& strides =
        tensor == std::string_view("k") ? params_.key_strides : params_.value_strides;
    return {tensor,      problem_.dtype, sequence_ * strides.batch,
            strides.seq, strides.heads,  transposed};
  }

  /// Matrix n of a region with extents [.., B, H, T, ld].
  MatrixOperand score(const char* region, DType dtype, int n) const {
    const std::int64_t ld = score_ld(problem_), matrix = s_.seq * ld;
    return {
        region,           dtype, n * queries() * ld + (sequence_ * s_.heads + place_) * matrix, ld,
        group() * matrix, false};
  }

  /// The operand P (n = 0) or dS (n = 1).
  MatrixOperand operand(int n, bool transposed) const {
    MatrixOperand x =
        score(problem_.dtype == DType::float32 ? "scores" : "operands", problem_.dtype, n);
    x.transposed = transposed;
    return x;
  }

  /// dk or dv; the result starts `before` elements after the start of dk.
  MatrixOperand key_result(std::int64_t dim, std::int64_t before) const {
    const std::int64_t matrix = s_.keys_seq() * dim;
    return {"results",
            DType::float32,
            queries() * s_.key_dim + before + sequence_ * s_.keys_heads() * matrix,
            dim,
            matrix,
            false};
  }

  const Problem& problem_;
  AttentionParams params_;  ///< for the strides
  Arithmetic arithmetic_;
  const Shape& s_;
  std::int64_t sequence_ = 0;  ///< the only sequence, or the first of all of them
  std::int64_t place_ = 0;     ///< of the query head in its group
  std::vector<Step> list_;
};

double column_blocks(const Problem& problem) {
  const Shape& s = problem.shape;
  return static_cast<double>(s.batch) * static_cast<double>(s.heads) *
         static_cast<double>(ceil_div(s.keys_seq(), 64));
}

double result_rows(const Problem& problem) {
  const Shape& s = problem.shape;
  return rows(problem) + 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.keys_heads()) *
                             static_cast<double>(s.keys_seq());
}

std::optional<std::string> reject(const Problem& problem, const Tile& tile, const Limits&) {
  if (choice(tile, "tf32") != 0 && problem.dtype != DType::float32)
    return "tf32=1 is for float32 problems";
  if (auto reason = refuse_backward(problem)) return reason;
  if (auto reason = refuse_blocks(rows(problem))) return reason;
  if (auto reason = refuse_blocks(column_blocks(problem))) return reason;
  if (auto reason = refuse_blocks(result_rows(problem))) return reason;
  if (score_elements(problem) > 1e15) return "too many scores to keep";
  return std::nullopt;
}

std::vector<Step> products(const Problem& problem, const Tile& tile) {
  std::vector<Step> list = Products(problem, tile).scores();
  for (const Step& step : Products(problem, tile).results()) list.push_back(step);
  return list;
}

double flops(const Problem& problem, const Tile&) {
  const Shape& s = problem.shape;
  return 2.0 * rows(problem) * static_cast<double>(s.keys_seq()) *
         static_cast<double>(3 * s.key_dim + 2 * s.value_dim);
}

/// Each product reads every operand once and writes its result once.
Traffic product_traffic(const Problem& problem, const Tile& tile) {
  Traffic bytes;
  for (const Step& step : products(problem, tile)) {
    const auto& p = std::get<MatrixProduct>(step);
    const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
    const auto k = static_cast<double>(p.k), batch = static_cast<double>(p.batch);
    const double result = batch * m * n * static_cast<double>(size_of(p.c.dtype));
    bytes.read_bytes += batch * (m * k + k * n) * static_cast<double>(size_of(p.a.dtype));
    if (p.beta > 0) bytes.read_bytes += result;
    bytes.write_bytes += result;
  }
  return bytes;
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  Traffic bytes = product_traffic(problem, tile);
  const Traffic beside = traffic_beside(problem, DecaySums::ordered);
  const double io = static_cast<double>(size_of(problem.dtype));
  const double scores = score_elements(problem), results = result_elements(problem);
  bytes.read_bytes += beside.read_bytes + 8 * scores + 8 * rows(problem) + 4 * results;
  bytes.write_bytes += beside.write_bytes + 2 * io * scores + io * results;
  const Decay decay = decay_of(problem);
  if (decay == Decay::none) return bytes;
  bytes.read_bytes += 4 * scores;
  bytes.write_bytes += (problem.dtype == DType::float32 ? 0 : 4 * scores) +
                       8 * scores / static_cast<double>(problem.shape.seq) +
                       (decay == Decay::per_token ? 8 * rows(problem) : 0);
  return bytes;
}

Recipe recipe(const Problem& problem, const Tile& tile) {
  // The kernels do not depend on the tile, so float32 and tf32 products share one binary.
  Recipe r{"softmax_attention/backward/materialized.cuh", constants(problem, {}), {}};
  for (const Constant& place : backward_places(workspace(problem, tile)))
    r.constants.push_back(place);
  r.steps = steps_before(problem, DecaySums::ordered);
  for (const Step& step : Products(problem, tile).scores()) r.steps.push_back(step);
  const auto launch = [&](const char* entry, double blocks) {
    r.steps.push_back(backward_launch(entry, blocks, BackwardRows::threads));
  };
  launch("attention_backward_weigh", rows(problem));
  if (decay_of(problem) != Decay::none)
    launch("attention_backward_sum_columns", column_blocks(problem));
  for (const Step& step : Products(problem, tile).results()) r.steps.push_back(step);
  const auto warps = std::int64_t{BackwardRows::threads} / 32;
  launch("attention_backward_results",
         static_cast<double>(ceil_div(static_cast<std::int64_t>(result_rows(problem)), warps)));
  for (const Step& step : steps_after(problem)) r.steps.push_back(step);
  return r;
}

}  // namespace

Variant backward_materialized(std::string_view op) {
  return cuda_variant(
      op, Direction::backward,
      {"materialized",
       "scores, P, dP and dS in device memory, five products through cuBLAS",
       space(),
       {"softmax_attention/backward/materialized.cuh",
        "softmax_attention/backward/materialized.cpp", "softmax_attention/backward/steps.cpp"},
       arithmetic,
       reject,
       traffic,
       flops,
       workspace,
       recipe});
}

}  // namespace gla_bench::softmax_attention
