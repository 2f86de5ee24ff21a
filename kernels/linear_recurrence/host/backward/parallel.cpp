// The backward of the quadratic form, in blocks through OpenBLAS.
//
// A task owns one (sequence, head) pair, cut into blocks. A pair of blocks I > J meets in two
// products, the scores A = q_I k_J^T and their gradients C = do_I v_J^T, with q and k times their
// decays and those of the blocks in between. Then
//   dq_I += C k_J,  dk_J += C^T q_I,  dv_J += A^T do_I,
// and sum_i q_I (.) (C k_J) is the gradient of every gate of the blocks in between. The diagonal
// blocks are chunks (host/backward/chunk.hpp). The initial state is one more block before the
// first, and the gradient of the final state one behind the last. The work grows with T^2.
//
// Prepared for each token, float32, heads first: q, k (with their decays in the block), v and do.

#include <algorithm>

#include "kernels/linear_recurrence/host/backward/chunk.hpp"
#include "kernels/linear_recurrence/host/backward/variant.hpp"
#include "kernels/linear_recurrence/host/backward/variants.hpp"
#include "kernels/linear_recurrence/host/blas.hpp"
#include "kernels/linear_recurrence/host/chunk.hpp"
#include "kernels/linear_recurrence/host/math.hpp"

namespace gla_bench::linear_recurrence {
namespace {

using namespace host;

struct Blocks {
  const GradientCall& call;
  Pieces pieces;
  long long longest;
  float *operands, *gradients, *decays;

  Blocks(const GradientCall& c, const Tile& tile)
      : call(c),
        pieces(c, tile.at("block")),
        longest(std::min<long long>(tile.at("block"), c.longest())),
        operands(static_cast<float*>(c.p.work[0])),
        gradients(static_cast<float*>(c.p.work[1])),
        decays(static_cast<float*>(c.p.work[2])) {}

  long long operand_row() const { return 2 * (call.keys + call.width); }
  long long gradient_row() const { return call.keys + call.width; }
  float* operand(const Piece& block) const {
    return operands + call.row(block.pair, block.first) * operand_row();
  }
  BlasOperand q(const Piece& block) const { return {operand(block), operand_row()}; }
  BlasOperand k(const Piece& block) const { return {operand(block) + call.keys, operand_row()}; }
  BlasOperand v(const Piece& block) const {
    return {operand(block) + 2 * call.keys, operand_row()};
  }
  BlasOperand d_o(const Piece& block) const {
    return {operand(block) + 2 * call.keys + call.width, operand_row()};
  }
  // What keys have from later blocks, without their own decays, and values.
  float* written(const Piece& block) const {
    return gradients + call.row(block.pair, block.first) * gradient_row();
  }
  float* dv(const Piece& block) const { return written(block) + call.keys; }
  float* decay(long long block) const { return decays + block * 2 * call.keys; }
  // The gradient of every gate of a block from what passes all of it.
  float* through(long long block) const { return decay(block) + call.keys; }
  Rows rows(const Piece& block) const { return call.rows(block.pair, block.first, block.rows); }
};

BlasOperand transposed(BlasOperand x) {
  x.transposed = !x.transposed;
  return x;
}

struct Work {
  Chunk forward;
  GradientChunk chunk;
  std::vector<float> q;                // of a block of queries, with the decays behind it
  std::vector<float> scores, changes;  // A and C
  std::vector<float> product, read;    // [block, K]
  std::vector<float> left, part;       // [K]: decays in between, and a gate's gradient
  std::vector<float> initial, d_initial, d_final;  // [K, width]

  Work(const GradientCall& call, long long block)
      : forward(call, block, call.values),
        chunk(call, block),
        q(scratch(block * call.keys)),
        scores(scratch(block * block)),
        changes(scores),
        product(q),
        read(q),
        left(scratch(call.keys)),
        part(left),
        initial(scratch(call.keys * call.width)),
        d_initial(initial),
        d_final(initial) {}
};

void multiply_columns(long long rows, long long columns, const float* factors, float* x) {
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < columns; ++i)
      x[t * columns + i] = without_dust(x[t * columns + i] * factors[i]);
}

// Writes a block's operands, all but do, and clears what will be added up.
void prepare(const Blocks& b, long long number, Work& work) {
  const GradientCall& call = b.call;
  const Piece& block = b.pieces.list[number];
  GradientChunk& chunk = work.chunk;
  chunk.load(call, b.rows(block));
  const long long row = b.operand_row();
  float* to = b.operand(block);
  copy_rectangle(block.rows, call.keys, chunk.prefix.data(), call.keys, to, row);
  copy_rectangle(block.rows, call.keys, chunk.suffix.data(), call.keys, to + call.keys, row);
  copy_rectangle(block.rows, call.width, chunk.v.data(), call.width, to + 2 * call.keys, row);
  std::fill_n(b.written(block), block.rows * b.gradient_row(), 0.0f);
  std::copy_n(chunk.whole.data(), call.keys, b.decay(number));
  std::fill_n(b.through(number), call.keys, 0.0f);
}

// The gradients of outputs with denominators, from the forward of a block of queries.
void form_output_gradients(const Blocks& b, long long number, Work& work) {
  const GradientCall& call = b.call;
  const Piece& block = b.pieces.list[number];
  const long long keys = call.keys, width = call.width, rows = block.rows;
  Chunk& chunk = work.forward;
  chunk.intra(call, b.rows(block));
  scale_by_prefix(call, rows, chunk.e.data(), chunk.q.data(), chunk.whole.data());
  for (long long other = number - 1; other >= b.pieces.begin[block.pair]; --other) {
    const Piece& before = b.pieces.list[other];
    blas_product(rows, before.rows, keys, {chunk.q.data(), keys}, transposed(b.k(before)), 0.0f,
                 work.scores.data(), before.rows);
    blas_product(rows, width, before.rows, {work.scores.data(), before.rows}, b.v(before), 1.0f,
                 chunk.o.data(), width);
    multiply_columns(rows, keys, b.decay(other), chunk.q.data());
  }
  blas_product(rows, width, keys, {chunk.q.data(), keys}, {work.initial.data(), width}, 1.0f,
               chunk.o.data(), width);
  keep_output_gradients(call, b.rows(block), chunk.o.data());
}

void load_gradients_of_outputs(const Blocks& b, long long number, Work& work) {
  const Piece& block = b.pieces.list[number];
  load_output_gradients(b.call, b.rows(block), work.chunk.d_o.data());
  copy_rectangle(block.rows, b.call.width, work.chunk.d_o.data(), b.call.width,
                 b.operand(block) + 2 * b.call.keys + b.call.width, b.operand_row());
}

// part = sum over the rows of q (.) product; read += left (.) product.
void add_product_read(const GradientCall& call, long long rows, Work& work) {
  std::fill(work.part.begin(), work.part.end(), 0.0f);
  for (long long t = 0; t < rows; ++t)
    for (long long i = 0; i < call.keys; ++i) {
      const long long at = t * call.keys + i;
      work.part[i] += work.q[at] * work.product[at];
      work.read[at] += work.left[i] * work.product[at];
    }
}

void add_through(const Blocks& b, long long first, long long last, const float* part) {
  for (long long n = first; n < last; ++n)
    for (long long i = 0; i < b.call.keys; ++i) b.through(n)[i] += part[i];
}

// A block of queries against all before it, and the initial state. Leaves in work.read what the
// queries read, without their own decays.
void meet_earlier(const Blocks& b, long long number, Work& work) {
  const GradientCall& call = b.call;
  const Piece& block = b.pieces.list[number];
  const long long keys = call.keys, width = call.width, rows = block.rows;
  const long long first = b.pieces.begin[block.pair];
  copy_rectangle(rows, keys, b.operand(block), b.operand_row(), work.q.data(), keys);
  std::fill(work.left.begin(), work.left.end(), 1.0f);
  std::fill(work.read.begin(), work.read.end(), 0.0f);
  const BlasOperand q{work.q.data(), keys};
  for (long long other = number - 1; other >= first; --other) {
    const Piece& before = b.pieces.list[other];
    const BlasOperand a{work.scores.data(), before.rows}, c{work.changes.data(), before.rows};
    blas_product(rows, before.rows, keys, q, transposed(b.k(before)), 0.0f, work.scores.data(),
                 before.rows);
    blas_product(rows, before.rows, width, b.d_o(block), transposed(b.v(before)), 0.0f,
                 work.changes.data(), before.rows);
    blas_product(rows, keys, before.rows, c, b.k(before), 0.0f, work.product.data(), keys);
    blas_product(before.rows, keys, rows, transposed(c), q, 1.0f, b.written(before),
                 b.gradient_row());
    blas_product(before.rows, width, rows, transposed(a), b.d_o(block), 1.0f, b.dv(before),
                 b.gradient_row());
    add_product_read(call, rows, work);
    add_through(b, other + 1, number, work.part.data());
    multiply_columns(rows, keys, b.decay(other), work.q.data());
    multiply_columns(1, keys, b.decay(other), work.left.data());
  }
  if (!call.p.initial_state) return;
  blas_product(rows, keys, width, b.d_o(block), {work.initial.data(), width, true}, 0.0f,
               work.product.data(), keys);
  blas_product(keys, width, rows, transposed(q), b.d_o(block), 1.0f, work.d_initial.data(), width);
  add_product_read(call, rows, work);
  add_through(b, first, number, work.part.data());
}

// All blocks of keys, and the initial state, against the gradient of the final state.
void meet_final(const Blocks& b, long long pair, Work& work) {
  const GradientCall& call = b.call;
  const long long keys = call.keys, width = call.width;
  const long long first = b.pieces.begin[pair], last = b.pieces.begin[pair + 1];
  std::fill(work.left.begin(), work.left.end(), 1.0f);
  for (long long number = last; number-- > first;) {
    const Piece& block = b.pieces.list[number];
    copy_rectangle(block.rows, keys, b.operand(block) + keys, b.operand_row(), work.q.data(), keys);
    multiply_columns(block.rows, keys, work.left.data(), work.q.data());
    blas_product(block.rows, keys, width, b.v(block), {work.d_final.data(), width, true}, 0.0f,
                 work.product.data(), keys);
    blas_product(block.rows, width, keys, {work.q.data(), keys}, {work.d_final.data(), width}, 1.0f,
                 b.dv(block), b.gradient_row());
    std::fill(work.read.begin(), work.read.end(), 0.0f);
    add_product_read(call, block.rows, work);
    for (long long t = 0; t < block.rows; ++t)
      for (long long i = 0; i < keys; ++i)
        b.written(block)[t * b.gradient_row() + i] += work.read[t * keys + i];
    add_through(b, number + 1, last, work.part.data());
    multiply_columns(1, keys, b.decay(number), work.left.data());
  }
  for (long long i = 0; i < keys; ++i) {
    work.part[i] = 0;
    for (long long j = 0; j < width; ++j) {
      const long long at = i * width + j;
      work.part[i] += work.left[i] * work.initial[at] * work.d_final[at];
      work.d_initial[at] += work.left[i] * work.d_final[at];
    }
  }
  add_through(b, first, last, work.part.data());
}

// Keys and values of a block have met all later blocks, and gates what passes them.
void finish(const Blocks& b, long long number, Work& work) {
  const GradientCall& call = b.call;
  const Piece& block = b.pieces.list[number];
  GradientChunk& chunk = work.chunk;
  const Rows at = b.rows(block);
  chunk.load(call, at);
  chunk.intra(call);
  copy_rectangle(block.rows, call.keys, b.written(block), b.gradient_row(), work.product.data(),
                 call.keys);
  for (long long t = 0; t < block.rows; ++t)
    for (long long j = 0; j < call.width; ++j)
      chunk.dv[t * call.width + j] += b.dv(block)[t * b.gradient_row() + j];
  chunk.outer(call, work.read.data(), work.product.data(), b.through(number));
  chunk.store(call, at);
}

// From the last block to the first. Gates of a block are passed by what later blocks read, so that
// all of these come before it; what its own queries read passes earlier ones.
void walk(const Blocks& b, long long pair, Work& work) {
  const GradientCall& call = b.call;
  const long long first = b.pieces.begin[pair], last = b.pieces.begin[pair + 1];
  load_initial(call, pair, 0, call.values, work.initial.data());
  load_final_gradient(call, pair, work.d_final.data());
  std::fill(work.d_initial.begin(), work.d_initial.end(), 0.0f);
  work.chunk.sums = HeadSums(call);
  for (long long n = first; n < last; ++n) prepare(b, n, work);
  for (long long n = first; call.extra && n < last; ++n) form_output_gradients(b, n, work);
  for (long long n = first; n < last; ++n) load_gradients_of_outputs(b, n, work);
  meet_final(b, pair, work);
  for (long long n = last; n-- > first;) {
    meet_earlier(b, n, work);
    finish(b, n, work);
  }
  store_initial_gradient(call, pair, work.d_initial.data());
  keep_sums(call, pair, work.chunk.sums);
}

void run(const HostCall& host_call) {
  const SingleThreadedBlas scope;
  const GradientCall call(host_call);
  const Blocks blocks(call, host_call.tile);
#pragma omp parallel
  {
    Work work(call, blocks.longest);
#pragma omp for schedule(dynamic)
    for (long long pair = 0; pair < call.pairs; ++pair) walk(blocks, pair, work);
  }
  store_sums(call);
}

double keys_of(const Problem& problem) {
  return static_cast<double>(problem.shape.key_dim);
}

double decay_bytes(const Problem& problem, const Tile& tile) {
  return static_cast<double>(chunks(problem, tile.at("block"))) * 2 * keys_of(problem) * 4;
}

std::vector<Region> workspace(const Problem& problem, const Tile& tile) {
  const double row = keys_of(problem) + columns(problem);
  return {{"operands", static_cast<std::size_t>(float_rows(problem, 2 * row))},
          {"gradients", static_cast<std::size_t>(float_rows(problem, row))},
          {"decays", static_cast<std::size_t>(decay_bytes(problem, tile))}};
}

// Pairs of different blocks of one sequence and head, over all of them. Ragged sequences are
// counted as one long one.
double block_pairs(const Problem& problem, const Tile& tile) {
  const Shape& s = problem.shape;
  const auto count = static_cast<double>(chunks_in_a_row(problem, tile.at("block")));
  return static_cast<double>(s.heads) * (ragged(problem) ? 1.0 : static_cast<double>(s.batch)) *
         count * (count - 1) / 2;
}

Traffic traffic(const Problem& problem, const Tile& tile) {
  const double row = keys_of(problem) + columns(problem), block = tile.at("block");
  const double walked = block_pairs(problem, tile) * block * row * 4;
  const double kept = kept_output_bytes(problem);
  // Each pair of blocks reads the keys' k and v, and reads and writes their gradients. Blocks are
  // loaded to be prepared and to be finished, and with a normalizer for the forward in between.
  const double outputs =
      kept > 0 ? token_reads(problem) + 2 * value_bytes(problem) + walked + states_read(problem)
               : 0.0;
  return {2 * token_gradient_reads(problem) + output_gradient_bytes(problem) + outputs +
              float_rows(problem, 3 * row) + 2 * walked + states_read(problem) +
              states_written(problem) + decay_bytes(problem, tile),
          float_rows(problem, 4 * row) + walked + decay_bytes(problem, tile) + kept +
              gradient_bytes(problem)};
}

double flops(const Problem& problem, const Tile& tile) {
  const double block = tile.at("block"), k = keys_of(problem), v = columns(problem);
  const double c = std::min(block, static_cast<double>(problem.shape.seq));
  const double of_pair = 2 * block * block * (3 * k + 2 * v);
  const double outputs = kept_output_bytes(problem) > 0 ? 2 * block * block * (k + v) : 0.0;
  return block_pairs(problem, tile) * (of_pair + outputs) +
         tokens(problem) *
             ((c + 1) * (3 * k + 2 * v) + 4 * k * v * (problem.initial_state ? 1 : 0) +
              4 * k * v * (problem.final_state ? 1 : 0));
}

}  // namespace

Variant host_backward_parallel(const Member& member) {
  return backward_variant(
      member,
      {"parallel",
       "the quadratic form's gradients in blocks through OpenBLAS",
       {{"block", {64, 32, 128}, "tokens of a block of queries and of keys"}},
       {"backward/parallel.cpp", "backward/chunk.cpp", "chunk.cpp"},
       traffic,
       flops,
       workspace,
       [](const Problem& problem, const Tile&) { return static_cast<double>(sequences(problem)); },
       run});
}

}  // namespace gla_bench::linear_recurrence
