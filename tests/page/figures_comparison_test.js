// The model of two runs compared.

import assert from 'assert';
import test from 'node:test';

import * as comparison from '../../page/figures/comparison.js';

const compared = (verdict, ratio, outcome) => ({
  row: `chunk [cuda] a=1,b=2 on gla forward bfloat16 seq_first B=1 T=${ratio} gate=mild seed=1`,
  verdict,
  outcome: outcome || 'passed',
  why: '',
  labels: [],
  times: ratio ? {ratio, low: ratio * 0.95, high: ratio * 1.05, base_ms: 1, new_ms: ratio} : null
});

test('a comparison: faults, then regressions by size, then gains, then the rest', () => {
  const shown = comparison.model([], {
    chosen: {},
    comparison: {
      base: 'old',
      new: 'new',
      min_effect: 0.02,
      drift: 0.03,
      outcome: 'wrong',
      rows: [
        compared('same', 1.001), compared('faster', 0.5), compared('slower', 1.2, 'regression'),
        compared('slower', 1.9, 'regression'), compared('wrong', null, 'wrong'),
        compared('inconclusive', 1.1, 'inconclusive')
      ]
    }
  });
  assert.deepStrictEqual(shown.rows.map(one => [one.verdict, one.tone]), [
    ['wrong', 'bad'], ['slower', 'bad'], ['slower', 'bad'], ['faster', 'good'],
    ['inconclusive', 'warn'], ['same', 'muted']
  ]);
  assert.strictEqual(shown.rows[1].times.ratio, 1.9);
  assert.deepStrictEqual(shown.counts[0], {verdict: 'slower', count: 2, tone: 'bad'});
  assert.ok(shown.reach > 1 / 0.475 && shown.reach < 2.2);
  const faster = comparison.model([], {
    chosen: {verdict: 'faster'},
    comparison: {
      base: 'old',
      new: 'new',
      min_effect: 0.02,
      rows: [compared('same', 1), compared('faster', 0.5)]
    }
  });
  assert.deepStrictEqual(faster.rows.map(one => one.verdict), ['faster']);
});

test('a compared row\'s subject in few words; other texts stay whole', () => {
  assert.deepStrictEqual(comparison.subjectOf('chunk [cuda] a=1,b=2 on gla forward bfloat16 ' +
                           'seq_first B=1 T=64 K=128 V=128 gate=mild seed=1'),
    {variant: 'chunk', tile: 'a=1 b=2', problem: 'gla forward bf16 B=1 T=64 K=128 V=128 mild'});
  assert.deepStrictEqual(comparison.subjectOf('naive [host] on softmax forward float32 seq_first'),
    {variant: 'naive', tile: '', problem: 'softmax forward fp32'});
  assert.deepStrictEqual(comparison.subjectOf('<b>something else</b>'),
    {variant: '', tile: '', problem: '<b>something else</b>'});
});

test('filters hold for compared rows, too, but for those that are missing in the new run', () => {
  const all = [{file: 'new.json', row: 1}, {file: 'new.json', row: 2}];
  const rows = [
    Object.assign(compared('same', 1), {file: 'new.json', new_row: 1}),
    Object.assign(compared('same', 1), {file: 'new.json', new_row: 2}),
    Object.assign(compared('missing', null), {file: 'new.json', new_row: null})
  ];
  const context = {
    chosen: {},
    all,
    comparison: {
      base: 'old',
      new: 'new',
      min_effect: 0.02,
      differences: [{key: 'driver', base: '1', new: '2'}],
      rows
    }
  };
  const shown = comparison.model([all[1]], context);
  assert.deepStrictEqual(
    shown.rows.map(one => [one.verdict, one.record]), [['missing', null], ['same', all[1]]]);
  assert.ok(shown.note.includes('driver 1 before, 2 now'));
  const none = comparison.model([],
    Object.assign(
      {}, context, {comparison: {base: 'a', new: 'b', min_effect: 0.02, rows: rows.slice(0, 1)}}));
  assert.strictEqual(none.empty, 'No compared row passes the filters.');
});
