// The model of predicted against measured.

import assert from 'assert';
import test from 'node:test';

import {predicted} from './decided.js';
import {refusedRow, row} from './figure_rows.js';

const plain = {
  chosen: {},
  comparison: null
};

test('predicted against measured, by variant, of right times with a prediction', () => {
  const shown = predicted.model(
    [
      row({cold_ms: 2, predicted_ms: 1}), row({cold_ms: 1, predicted_ms: 1.1}),
      row({cold_ms: 1, predicted_ms: 1}), row({variant: 'b', cold_ms: 1, predicted_ms: 4}),
      row({cold_ms: 1, predicted_ms: null}), row({status: 'wrong', cold_ms: 1, predicted_ms: 9})
    ],
    plain);
  assert.deepStrictEqual(
    shown.panels.map(panel => [panel.name, panel.points.map(point => point.over)]),
    [['chunk, gla forward', [0.5, 1.1, 1]], ['b, gla forward', [4]]]);
  assert.ok(Math.abs(shown.panels[0].median - 0.1) < 1e-9);
  assert.ok(Math.abs(shown.panels[0].most - 1) < 1e-9);  // half as long as measured: twice as fast
  assert.ok(predicted.model([row({})], plain).empty);
});

test('predicted: what is left out says why', () => {
  assert.ok(predicted.model([], plain).empty.length > 10);
  assert.ok(predicted.model([refusedRow({})], plain).empty.length > 10);
});
