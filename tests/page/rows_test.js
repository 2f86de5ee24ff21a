// The page's data -> rows.

import assert from 'node:assert';
import test from 'node:test';
import {deflateSync} from 'node:zlib';
import {extents} from './figure_rows.js';
import {commandOf, decode, isFailure, shapeLabel, shellQuoted, unpacked, wasTried}
  from '../../page/rows.js';

const problem = '{"operator":"gla","direction":"forward","dtype":"bfloat16","layout":"seq_first",' +
  '"shape":{"batch":1,"seq":64,"heads":2,"key_dim":16,"value_dim":8},"gate":"mild","seed":1,' +
  '"initial_state":false,"final_state":true,"options":{"in_place":"true"}}';

/** A column of texts as the program writes it: each once, and their places. */
function texts(at, ...values) {
  return {texts: values, at};
}

function data(change = {}) {
  return Object.assign({
    format: 3, program: '0.1.0', count: 3, extents,
    files: [{name: 'a.json', count: 2, notes: [],
      environment: {device: 'toy', copy_gb_per_s: 10, matrix_tflop_per_s: 5, l2_bytes: 100}},
    {name: 'peers.json', count: 1, notes: [], environment: {device: 'toy'}}],
    columns: {
      problem: texts([0, 0, 0], problem), variant: texts([0, 0, 1], 'recurrent', 'p.gla'),
      backend: texts([0, 0, 0], 'cuda'), tile_text: texts([0, 0, 1], '{"block_v":8}', '{}'),
      device: texts([0, 0, 0], 'toy'), status: texts([0, 1, 0], 'measured', 'rejected'),
      reason: texts([null, 0, null], 'too large'), source_hash: texts([0, 0, 0], 'ab'),
      standing: texts([0, 1, 2], 'winner', 'not_timed', 'peer'),
      bound_by: texts([0, null, null], 'memory'), hot_ms: [null, null, null],
      cold_ms: [0.5, null, 2], cold_half: [0.25, null, 2], floor_bytes: [1e6, 1e6, 1e6],
      flops: [2e9, null, null], of_floor: [0.2, null, 0.05],
      floor_ms: [0.1, null, 0.1], tflop_per_s: [4, null, null], error: [0.002, null, 'nan'],
      peer: [false, false, true], right: [true, null, true], suspect: [false, null, true],
      dram_read_bytes: [5e5, null, null], dram_write_bytes: [25e4, null, null]
    },
    tensors: {'o/error': [1e-3, null, 'nan'], 'o/bound': [4e-3, null, 4e-3],
      'state/error': [2e-3, null, null], 'state/bound': [4e-3, null, null]},
    stages: {2: [['first', 1.5, 100]]}, comparison: null
  }, change);
}

test('what the program packed is read back', async () => {
  const text = JSON.stringify(data());
  assert.deepStrictEqual(await unpacked(deflateSync(text).toString('base64')), data());
  assert.deepStrictEqual(await unpacked(deflateSync('["\u00e4"]').toString('base64')), ['\u00e4']);
  await assert.rejects(unpacked(Buffer.from('{}').toString('base64')));
});

test('a column of another length is refused', () => {
  const {columns} = data();
  columns.hot_ms = [1, 2];
  assert.throws(() => decode(data({columns})), /hot_ms holds 2 values, expected 3/);
});

test('data of another format are refused', () => {
  assert.throws(() => decode(data({format: 1})), /found data of format 1, expected 3/);
});

test('a row has its fields, and null for what is not there', () => {
  const [first, second] = decode(data());
  assert.strictEqual(first.cold_ms, 0.5);
  assert.strictEqual(first.shape, 'B=1 T=64 H=2 K=16 V=8');
  assert.strictEqual(first.key_seq, null);
  assert.deepStrictEqual(first.options, {in_place: 'true'});
  assert.strictEqual(first.options_label, 'in_place=true');
  assert.deepStrictEqual(first.tile, {block_v: 8});
  assert.strictEqual(first.reason, null);
  assert.strictEqual(first.hot_ms, null);
  assert.strictEqual(first.bound_by, 'memory');
  assert.strictEqual(second.bound_by, null);
  assert.strictEqual(first.suspect, false);
  assert.strictEqual(second.suspect, null, 'nothing was timed');
  assert.strictEqual(second.cold_ms, null);
  assert.strictEqual(second.reason, 'too large');
  assert.strictEqual(second.counters, null);
  assert.deepStrictEqual(second.tensors, []);
});

test('what follows from a row and its device', () => {
  const [first, second, peer] = decode(data());
  assert.deepStrictEqual([first.counters.dram_read_bytes, first.counters.l2_bytes], [5e5, null]);
  assert.strictEqual(first.floor_ms, 0.1);
  assert.deepStrictEqual([first.cold_low, first.cold_high], [0.375, 0.625]);
  assert.deepStrictEqual([peer.cold_low, peer.cold_high], [0, 6]);
  assert.strictEqual(second.cold_low, null);
  assert.strictEqual(first.of_floor, 0.2);
  assert.strictEqual(first.tflop_per_s, 4);
  assert.strictEqual(second.of_floor, null);
  assert.strictEqual(peer.of_floor, 0.05);
  assert.deepStrictEqual(first.tensors.map(tensor => tensor.name), ['o', 'state']);
  assert.deepStrictEqual(peer.tensors.length, 1);
  assert.strictEqual(peer.copy_gbs, 10, 'the rate that another file of the device measured');
  assert.ok(Number.isNaN(peer.error));
  assert.deepStrictEqual(peer.stages, [{name: 'first', ms: 1.5, bytes: 100}]);
  assert.deepStrictEqual([peer.file, peer.row, peer.id], ['peers.json', 1, 2]);
});

test('the command is that of the record', () => {
  const [first, , peer] = decode(data());
  assert.strictEqual(first.command, 'gla-bench repeat \'{"variant":"recurrent","backend":"cuda",' +
    `"tile":{"block_v":8},${problem.slice(1)}'`);
  assert.strictEqual(commandOf(peer), null);
  assert.strictEqual(shellQuoted('it\'s'), '\'it\'\\\'\'s\'');
});

test('rows keep their numbers where others of the file were left out', () => {
  const {files} = data();
  files[0].places = [4, 7];
  assert.deepStrictEqual(decode(data({files})).map(row => row.row), [4, 7, 1]);
});

test('a row has the extents that its shape states, by the table of the data', () => {
  const [first] = decode(data());
  assert.deepStrictEqual(first.extents.map(({name, value, role}) => [name, value, role]),
    [['batch', 1, 'blocks'], ['seq', 64, 'amount'], ['heads', 2, 'blocks'],
      ['key_dim', 16, 'head_dimension'], ['value_dim', 8, 'head_dimension']]);
  assert.strictEqual(shapeLabel(first.extents.slice(1, 3)), 'T=64 H=2');
  const renamed = [{name: 'heads', symbol: 'h', role: 'blocks'}];
  assert.strictEqual(decode(data({extents: renamed}))[0].shape, 'h=2', 'no other names than those');
});

test('which rows count', () => {
  const [first, second, peer] = decode(data());
  assert.deepStrictEqual([first, second, peer].map(wasTried), [true, false, true]);
  assert.ok(isFailure({status: 'crashed'}) && !isFailure(first));
});

test('no records are no rows', () => {
  assert.deepStrictEqual(decode({format: 3, count: 0, extents, files: [], columns: {problem: []},
    tensors: {}, stages: {}}), []);
});
