// Rows for the tests of the figures: a right and timed one, but for what a test says.

let made = 0;

/** As the data of a page have them. */
export const extents = [['batch', 'B', 'blocks'], ['seq', 'T', 'amount'], ['heads', 'H', 'blocks'],
  ['key_dim', 'K', 'head_dimension'], ['value_dim', 'V', 'head_dimension'],
  ['key_seq', 'Tk', 'amount'], ['key_heads', 'Hk', 'blocks'], ['model_dim', 'd', 'dimension'],
  ['columns', 'columns', 'amount'], ['sequences', 'N', 'amount']]
  .map(([name, symbol, role]) => ({name, symbol, role}));

export function row(fields) {
  const one = Object.assign({
    id: made++,
    file: 'a.json',
    row: made,
    operator: 'gla',
    direction: 'forward',
    dtype: 'bfloat16',
    layout: 'seq_first',
    batch: 1,
    seq: 1024,
    heads: 16,
    key_dim: 128,
    value_dim: 128,
    key_seq: null,
    key_heads: null,
    columns: null,
    sequences: null,
    model_dim: null,
    gate: 'mild',
    seed: 1,
    initial_state: false,
    final_state: true,
    scale: null,
    options: {},
    backend: 'cuda',
    device: 'NVIDIA H200',
    variant: 'chunk',
    tile: {chunk: 64},
    peer: false,
    status: 'measured',
    right: true,
    suspect: false,
    reason: null,
    cold_ms: 1,
    cold_low: null,
    cold_high: null,
    floor_ms: 0.5,
    floor_bytes: 2e9,
    model_bytes: 3e9,
    measured_bytes: 3.1e9,
    workspace_bytes: 0,
    flops: 1e12,
    copy_gbs: 4000,
    peak_tflops: 800,
    error: 1e-3,
    bound: 4e-3,
    joules: null,
    bound_by: null
  },
    fields);
  one.extents = extents.filter(({name}) => one[name] > 0)
    .map(extent => Object.assign({value: one[extent.name]}, extent));
  return one;
}

/** A row of a peer: no tile, no bytes, no floor of its own. */
export function peerRow(fields) {
  return row(Object.assign({
    variant: 'fla.chunk',
    peer: true,
    tile: {},
    file: 'peer.json',
    floor_ms: null,
    floor_bytes: null,
    model_bytes: null,
    measured_bytes: null,
    workspace_bytes: null,
    flops: null,
    copy_gbs: null,
    peak_tflops: null
  },
    fields));
}

/** A candidate that was refused: nothing of it was timed. */
export function refusedRow(fields) {
  return row(Object.assign({
    status: 'rejected',
    right: null,
    reason: 'too many registers',
    cold_ms: null,
    model_bytes: null,
    measured_bytes: null,
    workspace_bytes: null,
    flops: null,
    error: null,
    bound: null
  },
    fields));
}

/** A softmax: rows and columns, no sequence. */
export function softmaxRow(fields) {
  return row(Object.assign({
    operator: 'softmax',
    seq: null,
    heads: null,
    key_dim: null,
    value_dim: null,
    batch: 256,
    columns: 4096,
    gate: 'normal',
    variant: 'online'
  },
    fields));
}
