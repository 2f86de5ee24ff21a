#include "kernels/softmax_attention/family.hpp"

#include <cstring>
#include <stdexcept>

#include "core/operator.hpp"
#include "kernels/memory.hpp"
#include "reference/attention/paged.hpp"
#include "reference/attention/ragged.hpp"

namespace gla_bench::softmax_attention {
namespace {

double product(auto... extents) {
  return (static_cast<double>(extents) * ...);
}

double io_bytes(const Problem& problem) {
  return static_cast<double>(size_of(problem.dtype));
}

float scale(const Problem& problem) {
  return static_cast<float>(scale_of(*find_operator(problem.op), problem));
}

/// Puts the addresses of workspace regions into parameters, which have places for a few.
template <std::size_t places>
void bind_regions(void* (&work)[places], const Address& address,
                  const std::vector<Region>& regions) {
  if (regions.size() > places)
    throw std::logic_error(std::to_string(regions.size()) +
                           " regions, parameters have places for " + std::to_string(places));
  for (std::size_t i = 0; i < regions.size(); ++i) work[i] = address(regions[i].name);
}

template <class Params>
ParamBytes bytes_of(const Params& params) {
  ParamBytes bytes(sizeof params);
  std::memcpy(bytes.data(), &params, sizeof params);
  return bytes;
}

}  // namespace

Decay decay_of(const Problem& problem) {
  if (problem.op != "decay_attention") return Decay::none;
  return option(problem, "decay") == "constant" ? Decay::constant : Decay::per_token;
}

bool causal(const Problem& problem) {
  return problem.op == "decay_attention" || flag(problem, "causal");
}

bool writes_lse(const Problem& problem) {
  return problem.direction == Direction::forward && flag(problem, "lse");
}

std::int64_t group(const Problem& problem) {
  return problem.shape.heads / problem.shape.keys_heads();
}

double pairs(const Problem& problem) {
  double sum = 0;
  for (const attention::Lengths& one : attention::lengths(problem)) {
    const auto queries = static_cast<double>(one.queries), keys = static_cast<double>(one.keys);
    // Query i sees i + 1 + Tk - T keys; with fewer keys than queries the first T - Tk see none.
    const double seen =
        keys < queries ? keys * (keys + 1) / 2 : queries * (2 * keys - queries + 1) / 2;
    sum += static_cast<double>(one.times) * (causal(problem) ? seen : queries * keys);
  }
  return sum * static_cast<double>(problem.shape.heads);
}

bool ragged(const Problem& problem) {
  return problem.shape.sequences > 0;
}

std::int64_t blocks_of(const Problem& problem, std::int64_t tokens, std::int64_t rows) {
  const Shape& s = problem.shape;
  return ragged(problem) ? tokens / rows + s.sequences : s.batch * ceil_div(tokens, rows);
}

std::int64_t sequences(const Problem& problem) {
  return ragged(problem) ? problem.shape.sequences : problem.shape.batch;
}

bool paged(const Problem& problem) {
  return attention::page_size(problem) > 0;
}

double index_bytes(const Problem& problem) {
  if (paged(problem)) return attention::table_bytes(problem);
  return ragged(problem) ? product(2, problem.shape.sequences + 1, 4) : 0;
}

std::optional<std::string> refuse_pages(const Problem& problem) {
  if (!paged(problem)) return std::nullopt;
  return "has no block_table: all keys of a sequence lie side by side";
}

SoftmaxParams softmax_params(const Problem& problem, const Address& address,
                             const std::vector<Region>& regions) {
  SoftmaxParams p{};
  p.x = address("x");
  p.y = address("y");
  bind_regions(p.work, address, regions);
  p.rows = problem.shape.batch;
  p.columns = problem.shape.columns;
  p.scale = scale(problem);
  return p;
}

AttentionParams attention_params(const Problem& problem, const Address& address,
                                 const std::vector<Region>& regions) {
  const Shape& s = problem.shape;
  const Decay decay = decay_of(problem);
  AttentionParams p{};
  p.q = address("q");
  p.k = address("k");
  p.v = address("v");
  if (decay == Decay::per_token) p.log_decay = address("log_decay");
  if (decay == Decay::constant)
    p.constant_log_decay = static_cast<const float*>(address("log_decay"));
  p.o = address("o");
  p.lse = static_cast<float*>(address("lse"));
  p.d_o = address("do");
  p.dq = address("dq");
  p.dk = address("dk");
  p.dv = address("dv");
  p.d_log_decay = static_cast<float*>(address("dlog_decay"));
  bind_regions(p.work, address, regions);
  const bool in_pages = paged(problem);
  const std::int64_t keys = in_pages ? attention::page_size(problem) : s.keys_seq();
  const std::int64_t key_heads = s.keys_heads();
  p.query_strides = input_strides(problem, s.seq, s.heads, s.key_dim);
  p.key_strides = input_strides(problem, keys, key_heads, s.key_dim);
  p.value_strides = input_strides(problem, keys, key_heads, s.value_dim);
  p.output_strides = dense_strides(problem, s.seq, s.heads, s.value_dim);
  p.decay_strides = dense_strides(problem, keys, s.heads, 1);
  p.lse_strides = dense_strides(problem, s.seq, s.heads, 1);
  p.dq_strides = dense_strides(problem, s.seq, s.heads, s.key_dim);
  p.dk_strides = dense_strides(problem, keys, key_heads, s.key_dim);
  p.dv_strides = dense_strides(problem, keys, key_heads, s.value_dim);
  p.batch = s.batch;
  p.seq = s.seq;
  p.key_seq = s.keys_seq();
  p.heads = s.heads;
  p.key_heads = s.keys_heads();
  p.key_dim = static_cast<int>(s.key_dim);
  p.value_dim = static_cast<int>(s.value_dim);
  p.scale = scale(problem);
  p.cu_seqlens = static_cast<const int*>(address("cu_seqlens"));
  p.cu_seqlens_k = static_cast<const int*>(address("cu_seqlens_k"));
  p.sequences = s.sequences;
  p.block_table = static_cast<const int*>(address("block_table"));
  p.cache_seqlens = static_cast<const int*>(address("cache_seqlens"));
  p.pages_of_sequence = in_pages ? attention::pages_of_sequence(problem) : 0;
  p.page_size = static_cast<int>(attention::page_size(problem));
  return p;
}

ParamBytes bind(const Problem& problem, const Address& address,
                const std::vector<Region>& regions) {
  if (problem.op == "softmax") return bytes_of(softmax_params(problem, address, regions));
  return bytes_of(attention_params(problem, address, regions));
}

std::vector<Constant> constants(const Problem& problem, const Tile& tile) {
  std::vector<Constant> list;
  if (problem.op != "softmax")
    list = {{"dim", "key_dim", static_cast<int>(problem.shape.key_dim)},
            {"dim", "value_dim", static_cast<int>(problem.shape.value_dim)},
            {"trait", "causal", causal(problem)},
            {"trait", "decay", static_cast<int>(decay_of(problem))},
            {"trait", "lse", problem.direction == Direction::backward || writes_lse(problem)},
            {"trait", "group", static_cast<int>(group(problem))},
            {"trait", "float32_gates", gate_dtype(problem) == DType::float32},
            {"trait", "packed_inputs", packed_inputs(problem)},
            {"trait", "ragged", ragged(problem)},
            {"trait", "page_size", static_cast<int>(attention::page_size(problem))}};
  for (const auto& [axis, value] : tile) list.push_back({"tile", axis, value});
  return list;
}

double row_bytes(const Problem& problem) {
  return product(problem.shape.batch, problem.shape.columns) * io_bytes(problem);
}

double query_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  return product(s.batch, s.seq, s.heads, s.key_dim) * io_bytes(problem);
}

double key_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  return product(attention::keys_in_all(problem), s.keys_heads(), s.key_dim) * io_bytes(problem);
}

double value_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  return product(attention::keys_in_all(problem), s.keys_heads(), s.value_dim) * io_bytes(problem);
}

double output_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  return product(s.batch, s.seq, s.heads, s.value_dim) * io_bytes(problem);
}

double decay_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  switch (decay_of(problem)) {
    case Decay::none:
      return 0;
    case Decay::constant:
      return product(s.heads, 4);
    case Decay::per_token:
      return product(attention::keys_in_all(problem), s.heads) *
             static_cast<double>(size_of(gate_dtype(problem)));
  }
  return 0;
}

double decay_gradient_bytes(const Problem& problem) {
  if (decay_of(problem) != Decay::per_token) return decay_bytes(problem);
  const Shape& s = problem.shape;
  return product(s.batch, s.keys_seq(), s.heads, 4);
}

double lse_bytes(const Problem& problem) {
  const Shape& s = problem.shape;
  return product(s.batch, s.seq, s.heads, 4);
}

std::optional<std::string> refuse_problem(const Problem& problem, std::string_view op,
                                          Direction direction) {
  const Shape& s = problem.shape;
  if (problem.op != op) return "is a variant of " + std::string(op);
  if (problem.direction != direction) return std::string(name(direction)) + " only";
  if (op == "softmax")
    return s.batch < 1 || s.columns < 1
               ? std::optional<std::string>("batch and columns must be at least 1")
               : std::nullopt;
  if (s.batch < 1 || s.seq < 1 || s.heads < 1 || s.key_seq < 0 || s.key_heads < 0)
    return "batch, seq, heads, key_seq and key_heads must be at least 1";
  if (s.heads % s.keys_heads() != 0) return "heads is not a multiple of key_heads";
  if (s.key_dim < 1 || s.key_dim > 512)
    return "key_dim " + std::to_string(s.key_dim) + " is not in 1..512";
  if (s.value_dim < 1 || s.value_dim > 512)
    return "value_dim " + std::to_string(s.value_dim) + " is not in 1..512";
  return std::nullopt;
}

std::function<Traffic(const Problem&, const Tile&)> with_indices(
    std::function<Traffic(const Problem&, const Tile&)> traffic) {
  return [traffic = std::move(traffic)](const Problem& problem, const Tile& tile) {
    Traffic all = traffic(problem, tile);
    all.read_bytes += index_bytes(problem);
    return all;
  };
}

Variant cuda_variant(std::string_view op, Direction direction, const CudaForm& form) {
  Variant v;
  v.op = op;
  v.name = form.name;
  v.summary = form.summary;
  v.backend = BackendId::cuda;
  v.direction = direction;
  v.space = form.space;
  v.sources = form.sources;
  v.sources.push_back("softmax_attention/family.cpp");
  v.sources.push_back("refusal.cpp");
  v.arithmetic = form.arithmetic;
  v.workspace = form.workspace ? form.workspace
                               : [](const Problem&, const Tile&) { return std::vector<Region>{}; };
  v.reject = [op = v.op, direction, space = form.space, takes_ragged = form.takes_ragged,
              takes_pages = form.takes_pages, reject = form.reject,
              workspace = v.workspace](const Problem& problem, const Tile& tile,
                                       const Limits& limits) -> std::optional<std::string> {
    if (auto reason = refuse_choice(space, tile)) return reason;
    if (auto reason = refuse_problem(problem, op, direction)) return reason;
    if (auto reason = refuse_architecture(limits)) return reason;
    if (ragged(problem) && !takes_ragged) return "has no cu_seqlens: all sequences have one length";
    if (!takes_pages)
      if (auto reason = refuse_pages(problem)) return reason;
    if (reject)
      if (auto reason = reject(problem, tile, limits)) return reason;
    double bytes = 0;
    for (const Region& region : workspace(problem, tile))
      bytes += static_cast<double>(region.bytes);
    return refuse_workspace(bytes, limits);
  };
  v.traffic = with_indices(form.traffic);
  v.flops = form.flops;
  v.bind = [workspace = v.workspace](const Problem& problem, const Tile& tile,
                                     const Address& address) {
    return softmax_attention::bind(problem, address, workspace(problem, tile));
  };
  v.code = form.recipe;
  return v;
}

}  // namespace gla_bench::softmax_attention
