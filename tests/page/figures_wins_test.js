// The models of what wins where: tally, problem by problem, against length, cross-over.

import assert from 'assert';
import test from 'node:test';


import {crossingsOf} from '../../page/figures/operators.js';

import {crossover, operators, tally, time, wins} from './decided.js';
import {peerRow, refusedRow, row, softmaxRow} from './figure_rows.js';

const plain = {
  chosen: {}
};

test('every figure says in a sentence why it shows nothing', () => {
  for (const figure of [tally, wins, time, operators, crossover]) {
    assert.ok(figure.model([], plain).empty.length > 10, figure.id);
    assert.ok(figure.model([refusedRow({}), peerRow({})], plain).empty.length > 10, figure.id);
  }
});

test('the tally counts each problem once, for its winner', () => {
  const {bars} = tally.model([
    row({seq: 64, variant: 'a', cold_ms: 1}), row({seq: 64, variant: 'b', cold_ms: 2}),
    row({seq: 128, variant: 'a', cold_ms: 1}), row({seq: 128, variant: 'a', cold_ms: 1.2}),
    row({seq: 256, variant: 'b', cold_ms: 1, floor_ms: 0.25}),
    row({seq: 256, variant: 'a', cold_ms: 1.001}), row({dtype: 'float32', variant: 'b', cold_ms: 1})
  ]);
  assert.deepStrictEqual(
    bars.map(bar => [bar.name, bar.problems]), [['gla forward bf16', 3], ['gla forward fp32', 1]]);
  assert.deepStrictEqual(
    bars[0].parts.map(part => [part.variant, part.count, part.tied]), [['a', 2, 0], ['b', 1, 1]]);
  assert.deepStrictEqual(bars[0].parts.map(part => [part.from, part.to]), [[0, 2 / 3], [2 / 3, 1]]);
  assert.strictEqual(bars[0].ofFloor, 0.5);
});

test('problem by problem: factors over the winner, ties, peers and the floor', () => {
  const shown = wins.model(
    [
      row({variant: 'a', cold_ms: 1, floor_ms: 0.5}), row({variant: 'b', cold_ms: 1.004}),
      row({variant: 'c', cold_ms: 3}), peerRow({cold_ms: 5})
    ],
    plain);
  assert.strictEqual(shown.lines.length, 1);
  const [line] = shown.lines;
  assert.strictEqual(line.winner.variant, 'a');
  assert.deepStrictEqual(line.tied.map(other => other.variant), ['b']);
  assert.strictEqual(line.nextRow.variant, 'c');
  assert.strictEqual(line.next, 3);
  assert.strictEqual(line.peerOver, 5);
  assert.strictEqual(line.ofFloor, 0.5);
  assert.deepStrictEqual(line.others.map(other => other.over), [1.004, 3, 5]);
  assert.ok(shown.widest > 5 && shown.widest < 6);
});

test('orders put first what they promise; pages hold the rest', () => {
  const rows = [];
  for (let i = 1; i <= 40; ++i) {
    rows.push(row({seq: i, cold_ms: 1, floor_ms: 0.9 - i / 100, floor_bytes: i}),
      row({seq: i, variant: 'b', cold_ms: 1 + i / 20, floor_bytes: i}));
  }
  const first = (order, page) => wins.model(rows, {chosen: {order, page}}).lines[0].row.seq;
  assert.strictEqual(first('largest'), 40);
  assert.strictEqual(first('headroom'), 40);
  assert.strictEqual(first('close'), 1);
  assert.strictEqual(first('clear'), 40);
  assert.strictEqual(first('largest', '1'), 22);
  assert.strictEqual(first('no such order'), 40);
  // Without peers that order is not offered.
  const [order] = wins.model(rows, plain).choices;
  assert.ok(!order.options.some(option => option.value === 'peers'));
});

test('a very slow variant stands at the edge', () => {
  const shown = wins.model([row({cold_ms: 1}), row({variant: 'b', cold_ms: 900})], plain);
  assert.strictEqual(shown.widest, 20);
});

test('series join lengths of one family only, by each variant\'s fastest tile', () => {
  const shown = time.model(
    [
      row({seq: 64, cold_ms: 1, cold_low: 0.9, cold_high: 1.1}), row({seq: 64, cold_ms: 1.5}),
      row({seq: 256, cold_ms: 3, floor_ms: 2}), row({seq: 128, cold_ms: 2, floor_ms: 1}),
      row({batch: 2, seq: 128, cold_ms: 7}), peerRow({seq: 64, cold_ms: 5})
    ],
    plain);
  assert.strictEqual(shown.panels.length, 1);
  const [panel] = shown.panels;
  assert.deepStrictEqual(panel.lengths, [64, 128, 256]);
  const [ours, peer] = panel.lines;
  assert.deepStrictEqual(
    ours.points.map(point => [point.length, point.value]), [[64, 1], [128, 2], [256, 3]]);
  assert.deepStrictEqual([ours.points[0].low, ours.points[0].high], [0.9, 1.1]);
  assert.strictEqual(ours.points[1].low, null);
  assert.ok(peer.peer && peer.points.length === 1);
  assert.deepStrictEqual(
    panel.floor, [{length: 64, value: 0.5}, {length: 128, value: 1}, {length: 256, value: 2}]);
});

test('over the floor a series is a factor, and its floor is 1', () => {
  const shown = time.model(
    [
      row({seq: 64, cold_ms: 1, floor_ms: 0.5, cold_low: 0.8, cold_high: 1.2}),
      row({seq: 128, cold_ms: 2, floor_ms: 0.5})
    ],
    {chosen: {scale: 'floor'}});
  const [panel] = shown.panels;
  assert.deepStrictEqual(panel.lines[0].points.map(point => point.value), [2, 4]);
  assert.deepStrictEqual([panel.lines[0].points[0].low, panel.lines[0].points[0].high], [1.6, 2.4]);
  assert.deepStrictEqual(panel.floor.map(point => point.value), [1, 1]);
});

test('a softmax has columns for its length; one length is no series', () => {
  const shown = time.model([softmaxRow({columns: 64}), softmaxRow({columns: 128})], plain);
  assert.deepStrictEqual(shown.panels[0].lengths, [64, 128]);
  assert.ok(/no series/.test(time.model([row({batch: 1}), row({batch: 2})], plain).empty));
});

test('lengths that hardly differ are no series', () => {
  assert.ok(time.model([row({seq: 1000}), row({seq: 1024})], plain).empty);
  assert.ok(!time.model([row({seq: 1000}), row({seq: 1500})], plain).empty);
});

test('families with most lengths and variants come first', () => {
  const shown = time.model(
    [
      row({seq: 1}), row({seq: 2}), row({batch: 2, seq: 1}), row({batch: 2, seq: 2}),
      row({batch: 2, seq: 3})
    ],
    plain);
  assert.deepStrictEqual(shown.panels.map(panel => panel.row.batch), [2, 1]);
  assert.strictEqual(shown.common, 'gla forward bf16 H=16 K=V=128 mild');
  assert.deepStrictEqual(shown.panels.map(panel => panel.name), ['B=2', 'B=1']);
});

test('a map has a place for each length and batch times heads', () => {
  const shown = crossover.model(
    [
      row({seq: 64, batch: 1, heads: 8, variant: 'a', cold_ms: 1}),
      row({seq: 64, batch: 1, heads: 8, variant: 'b', cold_ms: 2}),
      row({seq: 128, batch: 1, heads: 8, variant: 'a', cold_ms: 3}),
      row({seq: 128, batch: 1, heads: 8, variant: 'b', cold_ms: 2}),
      row({seq: 128, batch: 4, heads: 8, variant: 'b', cold_ms: 2}),
      row({seq: 128, batch: 4, heads: 8, variant: 'a', cold_ms: 2.001})
    ],
    plain);
  const [panel] = shown.panels;
  assert.deepStrictEqual([panel.lengths, panel.widths], [[64, 128], [8, 32]]);
  assert.deepStrictEqual(
    panel.places.map(place => [place.length, place.width,
                       place.winners.map(one => one.variant).join(), place.factor]),
    [[64, 8, 'a', 2], [128, 8, 'b', 1.5], [128, 32, 'b', null]]);
  assert.deepStrictEqual(panel.places[2].tied.map(one => one.variant), ['a']);
});

test('problems of one place are told apart only where their winners differ', () => {
  const place = winner => crossover
                            .model(
                              [
                                row({seq: 128, batch: 4, heads: 8, variant: 'a', cold_ms: 1}),
                                row({seq: 128, batch: 8, heads: 4, variant: winner, cold_ms: 1}),
                                row({seq: 256, batch: 4, heads: 8, variant: 'a', cold_ms: 1})
                              ],
                              plain)
                            .panels[0]
                            .places[0];
  assert.strictEqual(place('a').winners.length, 1);
  assert.deepStrictEqual(place('b').winners.map(one => one.variant), ['a', 'b']);
  assert.strictEqual(place('b').contests.length, 2);
});

test('what differs in more than length and width makes another map', () => {
  const shown = crossover.model(
    [
      row({seq: 64}), row({seq: 128}), row({seq: 64, gate: 'strong'}),
      row({seq: 128, gate: 'strong'}), row({seq: 64, key_dim: 64})
    ],
    plain);
  assert.strictEqual(shown.panels.length, 2);
  assert.deepStrictEqual(shown.panels.map(panel => panel.name), ['mild', 'strong']);
});

test('one problem is no tally', () => {
  assert.ok(tally.model([row({variant: 'a'}), row({variant: 'b'})]).empty);
});

/** Attention in T * T / 64 and `gla` in 4 T, in thousandths, at five lengths. */
function twoOperators() {
  const rows = [];
  for (const seq of [64, 128, 256, 512, 1024]) {
    rows.push(row({operator: 'attention', gate: 'normal', seq, cold_ms: seq * seq / 64e3}),
      row({seq, cold_ms: 4 * seq / 1e3}), row({seq, variant: 'slow', cold_ms: 8 * seq / 1e3}));
  }
  return rows;
}

test('operators of one shape are lines of one panel, each by its fastest variant', () => {
  const rows = twoOperators().concat([
    row({operator: 'attention', gate: 'normal', batch: 2, seq: 64}),
    row({operator: 'attention', gate: 'normal', seq: 64, key_seq: 999, cold_ms: 0.001}),
    peerRow({operator: 'retention', gate: 'retnet', seq: 64}),
    peerRow({operator: 'retention', gate: 'retnet', seq: 512})
  ]);
  const shown = operators.model(rows, plain);
  assert.strictEqual(shown.panels.length, 1);
  const [panel] = shown.panels;
  assert.strictEqual(panel.name, 'forward bf16 B=1 H=16 K=V=128');
  assert.deepStrictEqual(panel.lines.map(line => line.variant), ['attention', 'gla mild']);
  assert.deepStrictEqual(panel.lengths, [64, 128, 256, 512, 1024]);
  assert.deepStrictEqual(panel.lines[1].points.map(point => point.value),
    [0.256, 0.512, 1.024, 2.048, 4.096]);
  assert.deepStrictEqual(shown.names, ['attention', 'gla mild']);
});

test('where one operator overtakes another stands below the figure', () => {
  const shown = operators.model(twoOperators(), plain);
  assert.ok(shown.note.includes('gla mild overtakes attention at T = 260'), shown.note);
  const [crossing] = shown.panels[0].crossings;
  assert.ok(Math.abs(crossing.from - 256) < 1e-6, String(crossing.from));
});

test('a crossing lies between the lengths where the order changes, and ties decide nothing', () => {
  const line = (variant, ...values) => ({variant, points: values.map(
    (value, i) => ({length: 2 ** (i + 6), value}))});
  const names = found => found.map(({faster, slower, from}) => [faster, slower, Math.round(from)]);
  assert.deepStrictEqual(names(crossingsOf(line('a', 1, 4), line('b', 2, 2))), [['b', 'a', 91]]);
  assert.deepStrictEqual(names(crossingsOf(line('b', 2, 2), line('a', 1, 4))), [['b', 'a', 91]]);
  assert.deepStrictEqual(crossingsOf(line('a', 1, 2, 4), line('b', 2, 2, 8)), []);
  assert.deepStrictEqual(crossingsOf(line('a', 1, 2, 4), line('b', 2, 1.97, 8)), []);
  assert.deepStrictEqual(names(crossingsOf(line('a', 1, 4, 1), line('b', 2, 2, 2))),
    [['b', 'a', 91], ['a', 'b', 181]]);
  assert.deepStrictEqual(crossingsOf(line('a', 1), {variant: 'b', points: []}), []);
});

test('regimes of one operator are named, and one operator alone is no panel', () => {
  const rows = [];
  for (const seq of [64, 256]) {
    rows.push(row({seq}), row({operator: 'decay_attention', gate: 'none', seq}),
      row({operator: 'decay_attention', gate: 'typical', seq, options: {lse: true}}));
  }
  assert.deepStrictEqual(operators.model(rows, plain).panels[0].lines.map(line => line.variant),
    ['decay_attention none', 'decay_attention typical lse', 'gla mild']);
  // A state that is not asked for makes another line, not a second point at the same length.
  const without = rows.concat([row({seq: 64, final_state: false, cold_ms: 0.5}),
    row({seq: 256, final_state: false, cold_ms: 0.5})]);
  assert.deepStrictEqual(operators.model(without, plain).panels[0].lines.map(
    line => [line.variant, line.points.length]), [['decay_attention none', 2],
    ['decay_attention typical lse', 2], ['gla mild', 2], ['gla mild no final state', 2]]);
  const alone = rows.filter(one => one.operator === 'decay_attention');
  assert.ok(/No two operators/.test(operators.model(alone, plain).empty));
});
