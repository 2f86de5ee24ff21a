// racy_rwkv6: naive_rwkv6 without one of its two barriers, an example of a kernel that is refused.
//
// Rows of q, k and w are staged for each token in the same shared memory. A warp that is done with a
// token writes the next token's rows while another warp still reads this one's.

extern "C" __global__ void racy_rwkv6(const io_t* q, const io_t* k, const io_t* v, const io_t* w,
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
    // Missing here: __syncthreads().
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
