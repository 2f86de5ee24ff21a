// The models of why and at what cost: roofline, bytes, tiles, costs, errors, peers, headroom, and
// two runs compared.

import assert from 'assert';
import test from 'node:test';

import * as comparison from '../../page/figures/comparison.js';
import {frontOf} from '../../page/figures/costs.js';
import * as error from '../../page/figures/error.js';

import {bytes, decided, headroom, pareto, peers, roofline, stages, tiles} from './decided.js';
import {peerRow, refusedRow, row} from './figure_rows.js';

const plain = {
  chosen: {},
  comparison: null
};

test('every figure says in a sentence why it shows nothing', () => {
  for (const figure
         of [roofline, bytes, stages, tiles, pareto, error, peers, headroom, comparison]) {
    assert.ok(figure.model([], plain).empty.length > 10, figure.id);
    const refused = figure.model([refusedRow({})], plain);
    assert.ok(refused.empty.length > 10, figure.id);
  }
});

test('a roofline point: intensity by counted bytes, rate, share of the lower roof', () => {
  const [panel] = roofline
                    .model([row({
                      flops: 1e12,
                      measured_bytes: 1e10,
                      cold_ms: 10,
                      copy_gbs: 4000,
                      peak_tflops: 800,
                      bound_by: 'memory'
                    })],
                      plain)
                    .panels;
  const [point] = panel.points;
  assert.strictEqual(point.intensity, 100);
  assert.strictEqual(point.rate, 100);
  assert.strictEqual(point.source, 'counted');
  assert.strictEqual(point.ofRoof, 0.25);  // memory allows 100 FLOP/byte * 4 TB/s = 400 TFLOP/s
  assert.strictEqual(panel.ridge, 200);
  assert.deepStrictEqual(panel.held, [['memory', 1]]);
});

test(
  'a roofline takes the model where nothing was counted, and leaves out what has neither', () => {
    const [panel] =
      roofline
        .model(
          [
            row({variant: 'a', flops: 1e12, measured_bytes: null, model_bytes: 1e9, cold_ms: 10}),
            row({variant: 'b', flops: null}),
            row({variant: 'c', measured_bytes: null, model_bytes: null}), peerRow({})
          ],
          plain)
        .panels;
    assert.deepStrictEqual(
      panel.points.map(point => [point.row.variant, point.source]), [['a', 'modelled']]);
    // Compute allows 800 TFLOP/s at this intensity of 1000.
    assert.strictEqual(panel.points[0].ofRoof, 100 / 800);
    const winners = roofline
                      .model([row({variant: 'a', cold_ms: 1}), row({variant: 'b', cold_ms: 2})],
                        {chosen: {which: 'winners'}})
                      .panels[0]
                      .points;
    assert.deepStrictEqual(winners.map(point => point.row.variant), ['a']);
  });

test('a roofline without rates of the device has no roof', () => {
  const [panel] = roofline.model([row({copy_gbs: null, peak_tflops: null})], plain).panels;
  assert.strictEqual(panel.points[0].ofRoof, null);
  assert.strictEqual(panel.ridge, null);
});

test('bytes are multiples of the floor; counts far from the model are marked', () => {
  const shown = bytes.model(
    [
      row({variant: 'a', cold_ms: 1, floor_bytes: 1e9, measured_bytes: 1.2e9, model_bytes: 1e9}),
      row({variant: 'b', cold_ms: 2, floor_bytes: 1e9, measured_bytes: null, model_bytes: 3e9}),
      row({variant: 'c', cold_ms: 3, floor_bytes: 1e9, measured_bytes: 2e10, model_bytes: 2e10}),
      peerRow({})
    ],
    plain);
  const [panel] = shown.panels;
  assert.deepStrictEqual(
    panel.bars.map(bar => [bar.row.variant, bar.measured, bar.modelled, bar.doubtful]),
    [['a', 1.2, 1, true], ['b', null, 3, false], ['c', 20, 20, false]]);
  assert.strictEqual(panel.high, 8);
});

test('bytes: problems with counts first, then large ones; doubtful ones on demand', () => {
  const rows = [
    row({seq: 1, floor_bytes: 9, measured_bytes: null, model_bytes: 9}),
    row({seq: 2, floor_bytes: 4, measured_bytes: 4, model_bytes: 4}),
    row({seq: 3, floor_bytes: 5, measured_bytes: 5, model_bytes: 5}),
    row({seq: 4, floor_bytes: 1, measured_bytes: 4, model_bytes: 1})
  ];
  const lengths = order => bytes.model(rows, {chosen: {order}}).panels.map(panel => panel.row.seq);
  assert.deepStrictEqual(lengths('largest'), [3, 2, 4, 1]);
  assert.strictEqual(lengths('doubtful')[0], 4);
});

const tiled = [
  row({tile: {chunk: 16, warps: 4, same: 1}, cold_ms: 4}),
  row({tile: {chunk: 16, warps: 8, same: 1}, cold_ms: 3}),
  row({tile: {chunk: 64, warps: 4, same: 1}, cold_ms: 1}),
  row({tile: {chunk: 64, warps: 8, same: 1}, cold_ms: 1.5}),
  row({tile: {chunk: 64, warps: 8, same: 1, extra: 2}, cold_ms: 1.4}),
  refusedRow({tile: {chunk: 128, warps: 4, same: 1}})
];

test('axes come by what they are worth; those with one value are none', () => {
  const axes = tiles.axesOf(decided(tiled));
  assert.deepStrictEqual(axes.map(axis => axis.axis), ['chunk', 'warps']);
  assert.deepStrictEqual(
    axes[0].values.map(one => [one.value, one.over, one.tiles]), [[16, 3, 2], [64, 1, 3]]);
  assert.strictEqual(axes[1].worth, 1.4);
});

test('a cell of the tile space is its best tile, or why there is none', () => {
  const shown = tiles.model(tiled, plain);
  assert.deepStrictEqual([shown.x, shown.y], ['chunk', 'warps']);
  assert.deepStrictEqual([shown.columns, shown.lines], [[16, 64, 128], [4, 8]]);
  const at = (x, y) => shown.cells.find(cell => cell.x === x && cell.y === y);
  assert.strictEqual(at(64, 8).ms, 1.4);
  assert.strictEqual(at(64, 8).tiles, 2);
  assert.strictEqual(at(64, 4).row, shown.best);
  assert.strictEqual(at(128, 4).over, null);
  assert.strictEqual(at(128, 4).why, 'too many registers');
  assert.strictEqual(at(128, 8), undefined);
  const turned = tiles.model(tiled, {chosen: {x: 'warps', y: 'warps'}});
  assert.deepStrictEqual([turned.x, turned.y], ['warps', 'chunk']);
});

test('a single axis makes a map of one line; the variant with most tiles is shown first', () => {
  const one = [1, 2, 3, 4].map(n => row({variant: 'one', tile: {n}, cold_ms: n}));
  const shown = tiles.model(one, plain);
  assert.deepStrictEqual([shown.y, shown.lines.length, shown.columns], [null, 1, [1, 2, 3, 4]]);
  assert.strictEqual(tiles.model(one.concat(tiled), plain).variant, 'chunk');
  assert.strictEqual(tiles.model(one.concat(tiled), {chosen: {variant: 'one'}}).variant, 'one');
});

test('the front holds what no faster candidate covers', () => {
  const at = (time, workspace, share) => ({time, workspace, share});
  const points = [
    at(3, 5, 1), at(1, 10, 1), at(2, 5, 1), at(1.5, 20, 1), at(4, 5, 0.5), at(2.2, 4.99, 1),
    at(0.5, null, 1)
  ];
  assert.deepStrictEqual(frontOf(points, ['time', 'workspace']).map(point => point.time), [1, 2]);
  assert.deepStrictEqual(
    frontOf(points, ['time', 'workspace', 'share']).map(point => point.time), [1, 2, 4]);
  assert.deepStrictEqual(frontOf([], ['time']), []);
});

test(
  'costs: of the problem with most variants, with a panel for each measure that is known', () => {
    const rows = [
      row({variant: 'a', cold_ms: 1, workspace_bytes: 100, measured_bytes: 10, error: 3, bound: 4}),
      row({variant: 'b', cold_ms: 2, workspace_bytes: 0, measured_bytes: 20, error: 1, bound: 4}),
      row({variant: 'c', cold_ms: 3, workspace_bytes: 0, measured_bytes: 30, error: 2, bound: 4}),
      peerRow({cold_ms: 4}), row({seq: 64, variant: 'a'}), row({seq: 64, variant: 'b'})
    ];
    const shown = pareto.model(rows, plain);
    assert.strictEqual(shown.total, 4);
    assert.deepStrictEqual(shown.front.map(one => one.row.variant), ['a', 'b']);
    assert.deepStrictEqual(shown.panels.map(panel => [panel.measure, panel.points.length]),
      [['bytes', 3], ['error', 4], ['workspace', 3]]);
    assert.strictEqual(shown.candidates[0].error, 0.75);
    const other = shown.choices[0].options.find(option => option.value.includes('T=64'));
    assert.strictEqual(pareto.model(rows, {chosen: {problem: other.value}}).total, 2);
  });

test('costs draw of a search\'s thousands the fastest and the whole front', () => {
  const many = [];
  for (let i = 0; i < 1000; ++i) {
    many.push(row({tile: {i}, cold_ms: 1 + i, workspace_bytes: i === 999 ? 0 : 8}));
  }
  const shown = pareto.model(many, plain);
  assert.strictEqual(shown.total, 1000);
  assert.strictEqual(shown.candidates.length, 151);
  assert.deepStrictEqual(shown.front.map(one => one.time), [1, 1000]);
});

test('errors: the worst of each variant, dtype and regime, as a share of its bound', () => {
  const shown = error.model(
    [
      row({error: 1e-3, bound: 4e-3}), row({error: 3e-3, bound: 4e-3}),
      row({gate: 'strong', variant: 'b', status: 'wrong', error: 9e-3, bound: 4e-3}),
      row({dtype: 'float32', error: 1e-7, bound: 8e-7}),
      row({dtype: 'float32', variant: 'b', status: 'wrong', error: NaN, bound: 1}),
      refusedRow({variant: 'c'})
    ],
    plain);
  const [panel] = shown.panels;
  assert.deepStrictEqual(panel.columns, [
    {dtype: 'float32', gate: 'mild'}, {dtype: 'bfloat16', gate: 'mild'},
    {dtype: 'bfloat16', gate: 'strong'}
  ]);
  const [b, chunk] = panel.lines;
  assert.deepStrictEqual(panel.lines.map(line => line.variant), ['b', 'chunk']);
  assert.deepStrictEqual(chunk.cells.map(cell => cell && [cell.share, cell.rows, cell.ok]),
    [[0.125, 1, true], [0.75, 2, true], null]);
  assert.deepStrictEqual([Number.isNaN(b.cells[0].share), b.cells[0].ok], [true, false]);
  assert.deepStrictEqual([b.cells[2].share, b.cells[2].ok], [2.25, false]);
});

test('errors: a NaN is worse than any number, a missing error of a wrong row is no pass', () => {
  assert.ok(Number.isNaN(error.shareOf(row({error: 'nan', bound: 1}))));
  assert.ok(Number.isNaN(error.shareOf(row({error: null, status: 'wrong'}))));
  assert.strictEqual(error.shareOf(row({error: null})), null);
  const shown =
    error.model([row({error: NaN, bound: 1, status: 'wrong'}), row({error: 0.5, bound: 1})], plain);
  assert.ok(Number.isNaN(shown.panels[0].lines[0].cells[0].share));
});

test('error panels stand side by side as long as there is room', () => {
  const sizes = [{width: 100, height: 50}, {width: 100, height: 80}, {width: 150, height: 10}];
  assert.deepStrictEqual(
    error.shelves(sizes, 260), {places: [{x: 0, y: 0}, {x: 100, y: 0}, {x: 0, y: 80}], height: 90});
});

test('peers: bars over the floor, gain of ours, failures named', () => {
  const shown = peers.model(
    [
      row({variant: 'a', cold_ms: 1, floor_ms: 0.5}), row({variant: 'b', cold_ms: 2}),
      peerRow({variant: 'p.x', cold_ms: 4}), peerRow({variant: 'p.y', cold_ms: 3}),
      peerRow({variant: 'p.z', status: 'timeout', cold_ms: null, reason: 'not done in 40 s'}),
      row({seq: 64, cold_ms: 1})
    ],
    plain);
  assert.strictEqual(shown.groups.length, 1);
  const [group] = shown.groups;
  assert.deepStrictEqual(group.bars.map(bar => [bar.row.variant, bar.over, bar.overOurs]),
    [['a', 2, null], ['p.y', 6, 3], ['p.x', 8, 4]]);
  assert.strictEqual(group.gain, 3);
  assert.deepStrictEqual(group.failed.map(one => one.reason), ['not done in 40 s']);
  assert.ok(shown.note.includes('3.00×'));
});

test('peers alone are shown over the floor where there is one, else not at all', () => {
  assert.strictEqual(
    peers.model([peerRow({floor_ms: 0.5, cold_ms: 2})], plain).groups[0].bars[0].over, 4);
  assert.ok(peers.model([peerRow({})], plain).empty);
});

test('headroom: the floor\'s share of each winner\'s time', () => {
  const shown = headroom.model(
    [
      row({cold_ms: 2, floor_ms: 0.5}), row({variant: 'b', cold_ms: 1}),
      row({seq: 64, cold_ms: 4, floor_ms: 1}), row({direction: 'backward', floor_ms: null})
    ],
    plain);
  assert.strictEqual(shown.panels.length, 1);
  assert.deepStrictEqual(shown.panels[0].points.map(point => [point.row.variant, point.share]),
    [['b', 0.5], ['chunk', 0.25]]);
});

test('stages stand one behind the other, of the fastest tile of each variant', () => {
  const of = (...ms) => ms.map((one, i) => ({name: `s${i}`, ms: one, bytes: 0}));
  const shown = stages.model(
    [
      row({variant: 'a', cold_ms: 2, stages: of(9, 9)}),
      row({variant: 'a', cold_ms: 1, stages: of(1, 3)}), row({variant: 'b', stages: of(2)}),
      row({variant: 'c', cold_ms: 5, stages: of(4, 2)}), row({variant: 'd'})
    ],
    plain);
  const [panel] = shown.panels;
  assert.deepStrictEqual(panel.bars.map(bar => [bar.row.variant, bar.total]), [['a', 4], ['c', 6]]);
  assert.deepStrictEqual(panel.bars[0].parts.map(part => [part.from, part.to, part.share]),
    [[0, 1, 0.25], [1, 4, 0.75]]);
  assert.strictEqual(panel.high, 6);
});

test('headroom under the nearer ceiling, where that is known', () => {
  const rows = [
    row({of_copy: 0.2, of_peak: 0.7}), row({seq: 64, of_copy: 0.9, of_peak: null}), row({seq: 32})
  ];
  const shown = headroom.model(rows, {chosen: {of: 'ceiling'}});
  assert.deepStrictEqual(shown.panels[0].points.map(point => point.share), [0.7, 0.9]);
  assert.strictEqual(shown.axis, 'of ceiling');
  // Nothing known of either: the floor is all that is offered.
  const plainRows = [row({}), row({seq: 64})];
  assert.strictEqual(headroom.model(plainRows, {chosen: {of: 'ceiling'}}).axis, 'of floor');
  assert.ok(headroom.model([row({})], plain).empty);
});
