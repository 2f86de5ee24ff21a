// naive_rwkv6: the recurrence of RWKV-6, token by token, as it is written down.
//
//   o_t = scale (S + diag(u) k_t v_t^T)^T q_t,   then   S = diag(exp(w_t)) S + k_t v_t^T
//
// q is what RWKV calls the receptance, and w the logarithm of its decay. A block owns one head of one
// sequence: grid (heads, sequences), a thread for each column of V. The thread keeps its column of the
// state in registers; rows of q, k, w and u, which all threads read, are staged in shared memory.
//
// The harness defines io_t, the dtype of the problem, and the macros that naive_rwkv6.json lists under
// "constants". The arguments are those of "arguments" there, in the same order. Tensors are dense:
// [batch, seq, heads, dim], u [heads, dim], states [batch, heads, KEY_DIM, VALUE_DIM].

extern "C" __global__ void naive_rwkv6(const io_t* q, const io_t* k, const io_t* v, const io_t* w,
                                       const io_t* u, const float* initial_state, io_t* o,
                                       float* final_state, int seq, float scale) {
  __shared__ float query[KEY_DIM], key[KEY_DIM], decay[KEY_DIM], bonus[KEY_DIM];
  const int head = blockIdx.x, sequence = blockIdx.y, heads = gridDim.x;
  const int column = threadIdx.x;
  const long long state = ((long long)sequence * heads + head) * KEY_DIM * VALUE_DIM + column;

  float s[KEY_DIM];
  for (int i = 0; i < KEY_DIM; ++i)
    s[i] = initial_state != nullptr ? initial_state[state + i * VALUE_DIM] : 0.0f;
  for (int i = column; i < KEY_DIM; i += VALUE_DIM)
    bonus[i] = static_cast<float>(u[head * KEY_DIM + i]);

  for (int token = 0; token < seq; ++token) {
    const long long row = ((long long)sequence * seq + token) * heads + head;
    __syncthreads();  // nobody reads the last token's rows any more
    for (int i = column; i < KEY_DIM; i += VALUE_DIM) {
      query[i] = static_cast<float>(q[row * KEY_DIM + i]);
      key[i] = static_cast<float>(k[row * KEY_DIM + i]);
      decay[i] = expf(static_cast<float>(w[row * KEY_DIM + i]));
    }
    __syncthreads();
    const float value = static_cast<float>(v[row * VALUE_DIM + column]);
    float sum = 0.0f;
    for (int i = 0; i < KEY_DIM; ++i) {
      const float update = key[i] * value;
      sum += query[i] * (s[i] + bonus[i] * update);
      s[i] = decay[i] * s[i] + update;
    }
    o[row * VALUE_DIM + column] = static_cast<io_t>(scale * sum);
  }

  if (final_state == nullptr) return;
  for (int i = 0; i < KEY_DIM; ++i) final_state[state + i * VALUE_DIM] = s[i];
}
