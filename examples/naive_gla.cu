// naive_gla: gated linear attention, token by token.
//
//   S = diag(exp(g)) S + k v^T,   o = scale S^T q
//
// A thread owns one column of one sequence's and head's state, and keeps it in registers. A block
// owns a slice of the columns: grid (slices of the columns, heads, sequences). Nothing is staged, so
// every thread of a block reads the same q, k and g.
//
// The harness defines io_t, the dtype of the problem, and the macros that naive_gla.json lists under
// "constants". The arguments are those of "arguments" there, in the same order.

extern "C" __global__ void naive_gla(const io_t* q, const io_t* k, const io_t* v, const io_t* g,
                                     const float* initial_state, io_t* o, float* final_state,
                                     long long seq, float scale, long long key_batch,
                                     long long key_token, long long key_head,
                                     long long value_batch, long long value_token,
                                     long long value_head, long long gate_batch,
                                     long long gate_token, long long gate_head,
                                     long long output_batch, long long output_token,
                                     long long output_head) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const long long head = blockIdx.y, sequence = blockIdx.z;
  if (column >= VALUE_DIM) return;

  // Strides of tensors differ between layouts; states are [sequences, heads, KEY_DIM, VALUE_DIM].
  q += sequence * key_batch + head * key_head;
  k += sequence * key_batch + head * key_head;
  v += sequence * value_batch + head * value_head + column;
  g += sequence * gate_batch + head * gate_head;
  o += sequence * output_batch + head * output_head + column;
  const long long state = (sequence * gridDim.y + head) * KEY_DIM * VALUE_DIM + column;

  float s[KEY_DIM];
  for (int i = 0; i < KEY_DIM; ++i)
    s[i] = initial_state != nullptr ? initial_state[state + i * VALUE_DIM] : 0.0f;

  for (long long token = 0; token < seq; ++token) {
    const float value = static_cast<float>(v[token * value_token]);
    float sum = 0.0f;
    for (int i = 0; i < KEY_DIM; ++i) {
      const float decay = expf(static_cast<float>(g[token * gate_token + i]));
      const float key = static_cast<float>(k[token * key_token + i]);
      const float query = static_cast<float>(q[token * key_token + i]);
      s[i] = decay * s[i] + key * value;
      sum += query * s[i];
    }
    o[token * output_token] = static_cast<io_t>(scale * sum);
  }

  if (final_state == nullptr) return;
  for (int i = 0; i < KEY_DIM; ++i) final_state[state + i * VALUE_DIM] = s[i];
}
