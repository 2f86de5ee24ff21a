// Numbers in words, places of labels, names of problems, and who wins: what all figures share.

import assert from 'assert';
import test from 'node:test';

import {
  contests,
  countsOf,
  mayWin,
  overFirst,
  runnerUp,
  variantsOf
} from '../../page/figures/contest.js';
import {
  columnsFor,
  fit,
  pageOf,
  placeLabels,
  spread,
  textWidth,
  wrap
} from '../../page/figures/layout.js';
import {
  familyKey,
  fullNamesOf,
  lengthOf,
  mapKey,
  nameOf,
  namesOf,
  problemKey,
  tileName,
  widthOf
} from '../../page/figures/problem.js';
import * as units from '../../page/figures/units.js';

import numbers from '../harness/support/formatted_numbers.json';
import {decided} from './decided.js';
import {peerRow, refusedRow, row, softmaxRow} from './figure_rows.js';

test('times have four digits and the unit that fits', () => {
  assert.strictEqual(units.time(0.01924), '19.24 µs');
  assert.strictEqual(units.time(1.9), '1.900 ms');
  assert.strictEqual(units.time(169e-3), '169.0 µs');
  assert.strictEqual(units.time(2400), '2.400 s');
  assert.strictEqual(units.time(0.0000031), '3.100 ns');
  assert.strictEqual(units.time(0.99996), '1.000 ms');
  assert.strictEqual(units.time(null), '–');
  assert.strictEqual(units.timeTick(0.1), '100 µs');
  assert.strictEqual(units.timeTick(1), '1 ms');
});

test('bytes, factors, shares, changes, errors and extents', () => {
  assert.strictEqual(units.bytes(679477248), '679 MB');
  assert.strictEqual(units.bytes(0), '0 B');
  assert.strictEqual(units.factor(1.321), '1.32×');
  assert.strictEqual(units.factor(72.83), '72.8×');
  assert.strictEqual(units.factor(NaN), '–');
  assert.strictEqual(units.percent(0.574), '57 %');
  assert.strictEqual(units.percent(0.0042), '0.4 %');
  assert.strictEqual(units.percent(0.00004), '0.004 %');
  assert.strictEqual(units.change(1.034), '+3.40 %');
  assert.strictEqual(units.change(0.9), '−10.00 %');
  assert.strictEqual(units.change(2.5), '2.50×');
  assert.strictEqual(units.error(0.00166), '1.7e-3');
  assert.strictEqual(units.error(NaN), 'NaN');
  assert.deepStrictEqual(
    [1, 1000, 1024, 32768, 1048576].map(units.extent), ['1', '1000', '1k', '32k', '1M']);
  assert.strictEqual(units.count(1, 'family', 'families'), '1 family');
  assert.strictEqual(units.count(3, 'family', 'families'), '3 families');
});

test('the digits are those of the program\'s other reports', () => {
  const shown = {ms: units.time, rate: units.rate, percent: units.percent, times: units.factor,
    error: units.error, joules: units.joules, bytes: units.bytes};
  // A time has a unit here, and its factor a sign of its own: the digits are what counts.
  const plain = {ms: text => text.replace(/[^0-9]/g, '').replace(/^0+/, ''),
    times: text => text.replace(/[x×]/, '')};
  assert.ok(numbers.length > 100);
  for (const [kind, value, text] of numbers) {
    const only = plain[kind] || (whole => whole);
    assert.strictEqual(only(shown[kind](value)), only(text), `${kind} of ${value}`);
  }
});

test('ticks are round, lie within the axis and are not too many', () => {
  assert.deepStrictEqual(units.logTicks(0.9, 12, 3), [1, 3, 10]);
  assert.deepStrictEqual(units.logTicks(0.9, 12, 6), [1, 2, 5, 10]);
  assert.deepStrictEqual(units.logTicks(1e-3, 1e3, 7), [1e-3, 1e-2, 0.1, 1, 10, 100, 1000]);
  assert.ok(units.logTicks(1e-9, 1e9, 5).length <= 5);
  assert.deepStrictEqual(units.linearTicks(1, 4), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepStrictEqual(units.linearTicks(7, 4), [0, 2, 4, 6, 8]);
  assert.deepStrictEqual(units.extentTicks([64, 128, 256, 512, 1024], 3), [64, 256, 1024]);
  assert.deepStrictEqual(units.logDomain([0, null, 4, 16], 2), [2, 32]);
  assert.deepStrictEqual(units.logDomain([0, NaN], 2), [1, 10]);
});

test('labels keep apart, in their order, and inside', () => {
  assert.deepStrictEqual(spread([10, 50], 14, 0, 100), [10, 50]);
  assert.deepStrictEqual(spread([20, 20], 14, 0, 100), [13, 27]);
  assert.deepStrictEqual(spread([27, 20, 20], 14, 0, 100).map(Math.round), [36, 8, 22]);
  assert.deepStrictEqual(spread([0, 0, 0], 10, 0, 100), [0, 10, 20]);
  assert.deepStrictEqual(spread([100, 100], 10, 0, 100), [90, 100]);
  // Too many for the room: closer than asked for, but still in order and inside.
  assert.deepStrictEqual(spread([5, 5, 5], 14, 0, 10), [0, 5, 10]);
  assert.deepStrictEqual(spread([], 14, 0, 10), []);
});

test('a label takes the first place that is free', () => {
  const size = {width: 200, height: 100};
  const [alone] = placeLabels([{x: 50, y: 50, text: 'abc'}], [], size, 11);
  assert.deepStrictEqual([alone.x, alone.y, alone.anchor], [61, 50, 'start']);
  const [edge] = placeLabels([{x: 195, y: 50, text: 'abc'}], [], size, 11);
  assert.strictEqual(edge.anchor, 'end');
  const [blocked] = placeLabels([{x: 100, y: 50, text: 'abc'}], [[105, 40, 150, 60]], size, 11);
  assert.deepStrictEqual([blocked.x, blocked.anchor], [89, 'end']);
  const two = placeLabels([{x: 50, y: 50, text: 'abc'}, {x: 50, y: 50, text: 'abc'}], [], size, 11);
  assert.notDeepStrictEqual(two[0], two[1]);
});

test('text fits its room', () => {
  assert.strictEqual(fit('short', 200, 12), 'short');
  const cut = fit('chunk_materialized_with_more', 60, 12);
  assert.ok(cut.endsWith('…') && textWidth(cut, 12) <= 60);
  const lines = wrap('one two three four', 60, 12);
  assert.strictEqual(lines.join(' '), 'one two three four');
  assert.ok(lines.length > 1 && lines.every(line => textWidth(line, 12) <= 60));
});

test('panels and pages', () => {
  assert.deepStrictEqual(columnsFor(4, 900, 430, 28, 3), {columns: 2, width: 436});
  assert.deepStrictEqual(columnsFor(1, 900, 430, 28), {columns: 1, width: 900});
  assert.strictEqual(columnsFor(4, 200, 430, 28).columns, 1);
  assert.deepStrictEqual(pageOf([1, 2, 3, 4, 5], '1', 2), {items: [3, 4], page: 1, pages: 3});
  assert.deepStrictEqual(pageOf([1, 2, 3], 'x', 2).items, [1, 2]);
  assert.deepStrictEqual(pageOf([1, 2, 3], '99', 2), {items: [3], page: 1, pages: 2});
  assert.deepStrictEqual(pageOf([], '0', 2), {items: [], page: 0, pages: 1});
});

test('a problem is everything but seed, variant and tile', () => {
  const one = row({});
  assert.strictEqual(problemKey(one), problemKey(row({seed: 7, variant: 'x', tile: {a: 1}})));
  for (const other of [{batch: 2}, {seq: 2048}, {gate: 'strong'}, {layout: 'head_first'},
         {options: {lse: 'true'}}, {initial_state: true}, {device: 'another'}, {dtype: 'float16'},
         {backend: 'host'}, {key_seq: 5}]) {
    assert.notStrictEqual(problemKey(one), problemKey(row(other)), JSON.stringify(other));
  }
  // Options as text, as `report --json` has them, and as an object are the same.
  assert.strictEqual(
    problemKey(row({options: {a: '1', b: '2'}})), problemKey(row({options: 'a=1,b=2'})));
});

test('a family differs in length alone, a map in length and batch times heads', () => {
  assert.strictEqual(familyKey(row({seq: 64})), familyKey(row({seq: 128})));
  assert.notStrictEqual(familyKey(row({batch: 1})), familyKey(row({batch: 2})));
  assert.strictEqual(familyKey(softmaxRow({columns: 64})), familyKey(softmaxRow({columns: 128})));
  assert.notStrictEqual(familyKey(softmaxRow({batch: 1})), familyKey(softmaxRow({batch: 2})));
  const decode = row({seq: 1, key_seq: 4096});
  assert.strictEqual(familyKey(decode), familyKey(row({seq: 1, key_seq: 8192})));
  assert.notStrictEqual(familyKey(decode), familyKey(row({seq: 2, key_seq: 4096})));
  assert.strictEqual(
    mapKey(row({batch: 1, heads: 8, seq: 64})), mapKey(row({batch: 4, heads: 16, seq: 128})));
  assert.notStrictEqual(mapKey(row({key_dim: 64})), mapKey(row({key_dim: 128})));
  assert.notStrictEqual(
    mapKey(row({heads: 8, key_heads: 2})), mapKey(row({heads: 8, key_heads: 4})));
});

test('lengths and widths go by what a problem has', () => {
  assert.deepStrictEqual(lengthOf(row({seq: 64})), {axis: 'seq', name: 'T', value: 64});
  assert.strictEqual(lengthOf(row({seq: 1, key_seq: 4096})).name, 'Tk');
  assert.strictEqual(lengthOf(softmaxRow({})).name, 'columns');
  assert.strictEqual(lengthOf(row({seq: null})), null);
  assert.deepStrictEqual(widthOf(row({batch: 4, heads: 8})), {name: 'B·H', value: 32});
  assert.deepStrictEqual(widthOf(softmaxRow({})), {name: 'rows', value: 256});
  assert.deepStrictEqual(widthOf(row({sequences: 16, heads: 8})), {name: 'N·H', value: 128});
});

test('names say once what problems have in common', () => {
  assert.strictEqual(nameOf(row({})), 'gla forward bf16 B=1 T=1k H=16 K=V=128 mild');
  assert.strictEqual(nameOf(softmaxRow({})), 'softmax forward bf16 B=256 columns=4k normal');
  assert.strictEqual(nameOf(row({seq: 1, key_seq: 4096, key_heads: 4, sequences: 2})),
    'gla forward bf16 B=1 T=1 H=16 K=V=128 Tk=4k Hk=4 N=2 mild');
  assert.strictEqual(nameOf(row({
    key_dim: 100,
    value_dim: 72,
    gate: 'none',
    layout: 'head_first',
    initial_state: true,
    options: {in_place: 'true', state_dtype: 'bfloat16'}
  })),
    'gla forward bf16 B=1 T=1k H=16 K=100 V=72 head first initial state in place ' +
      'state dtype=bfloat16');
  const names = namesOf([row({seq: 64}), row({seq: 128, gate: 'strong'})]);
  assert.strictEqual(names.common, 'gla forward bf16 B=1 H=16 K=V=128');
  assert.deepStrictEqual(names.each, ['T=64 mild', 'T=128 strong']);
  assert.deepStrictEqual(namesOf([row({})]), {common: '', each: [nameOf(row({}))]});
  assert.deepStrictEqual(namesOf([]), {common: '', each: []});
  assert.deepStrictEqual(namesOf([row({device: 'A'}), row({device: 'B'})]).each, ['A', 'B']);
  assert.ok(fullNamesOf([row({device: 'A'}), row({device: 'B'})])[1].endsWith(' on B'));
  assert.strictEqual(tileName({chunk: 64, stages: 2}), 'chunk=64 stages=2');
  assert.strictEqual(tileName(null), '');
});

test('who may win is what the program says', () => {
  for (const standing of ['winner', 'tied', 'slower', 'slower_tile']) {
    assert.ok(mayWin(row({standing})), standing);
    assert.ok(!mayWin(row({standing, peer: true})), standing);
  }
  for (const standing of ['peer', 'suspect', 'failed', 'not_verified', 'not_timed']) {
    assert.ok(!mayWin(row({standing, peer: standing === 'peer'})), standing);
  }
});

test('a contest ranks the fastest tile of each variant, and takes the floor from any of its rows',
  () => {
    const rows = [
      row({variant: 'a', cold_ms: 3}), row({variant: 'a', cold_ms: 2}),
      row({variant: 'b', cold_ms: 1}), row({variant: 'c', cold_ms: 0.1, suspect: true}),
      row({variant: 'd', cold_ms: 0.2, status: 'wrong', right: false}), refusedRow({variant: 'e'}),
      peerRow({cold_ms: 0.5, floor_ms: null}), row({seq: 64, cold_ms: 9})
    ];
    const [first, second] = contests(decided(rows));
    assert.deepStrictEqual(
      first.ranked.map(one => [one.variant, one.cold_ms]), [['b', 1], ['a', 2]]);
    assert.deepStrictEqual(first.peers.map(one => one.cold_ms), [0.5]);
    assert.strictEqual(first.floorMs, 0.5);
    assert.strictEqual(first.rows.length, 7);
    assert.strictEqual(second.ranked[0].cold_ms, 9);
    assert.deepStrictEqual(contests([]), []);
    assert.deepStrictEqual(variantsOf(rows), ['a', 'b', 'c', 'chunk', 'd', 'e', 'fla.chunk']);
  });

test('ties and ratios are the program\'s, also where a filter leaves the winner out', () => {
  const rows = [
    row({variant: 'c', contest: 0, standing: 'slower', rank: 3, cold_ms: 1.02, over_winner: 1.0199,
      ties: [2]}),
    row({variant: 'a', contest: 0, standing: 'winner', rank: 1, cold_ms: 1, over_winner: 1,
      ties: [2, 4]}),
    row({variant: 'b', contest: 0, standing: 'tied', rank: 2, cold_ms: 1.005, over_winner: 1.0049,
      ties: [1, 3]}),
    row({variant: 'd', contest: 0, standing: 'tied', rank: 4, cold_ms: 1.03, over_winner: 1.03,
      ties: [1]}),
    row({variant: 'a', contest: 0, standing: 'slower_tile', rank: null, cold_ms: 2})
  ];
  const [all] = contests(rows);
  assert.deepStrictEqual(all.ranked.map(one => one.variant), ['a', 'b', 'c', 'd']);
  assert.deepStrictEqual(all.tied.map(one => one.variant), ['b', 'd'], 'c lies between them');
  assert.strictEqual(runnerUp(all).variant, 'c');
  assert.strictEqual(overFirst(all, rows[0]), 1.0199);
  const [left] = contests(rows.filter(one => one.variant !== 'a'));
  assert.deepStrictEqual(left.tied.map(one => one.variant), ['c']);
  assert.strictEqual(runnerUp(left).variant, 'd');
  assert.strictEqual(overFirst(left, rows[0]), 1.02 / 1.005);
  const [alone] = contests(rows.slice(0, 1));
  assert.strictEqual(runnerUp(alone), null);
  assert.deepStrictEqual(alone.tied, []);
});

test('kinds are counted, the most first', () => {
  assert.deepStrictEqual(countsOf(['x', 'y', 'y'], letter => letter), [['y', 2], ['x', 1]]);
});
