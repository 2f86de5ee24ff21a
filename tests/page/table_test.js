// Sorting, searching, and which lines are in sight; numbers as people read them.

import assert from 'node:assert';
import test from 'node:test';
import {place} from '../../page/hover.js';
import * as formats from '../../page/formats.js';
import {searched, sorted, windowOf} from '../../page/table.js';

const row = (id, cold_ms, name = 'a') => ({id, cold_ms, name, status: 'measured'});

test('rows without a value come last, either way', () => {
  const rows = [row(0, 3), row(1, null), row(2, 1), row(3, NaN), row(4, 1)];
  const ids = descending => sorted(rows, {key: 'cold_ms', descending}).map(({id}) => id);
  assert.deepStrictEqual(ids(false), [2, 4, 0, 1, 3]);
  assert.deepStrictEqual(ids(true), [0, 2, 4, 1, 3]);
  assert.deepStrictEqual(rows.map(({id}) => id), [0, 1, 2, 3, 4], 'the rows stay as they were');
});

test('texts sort as texts', () => {
  const rows = [row(0, 1, 'b'), row(1, 1, 'a')];
  const byName = sorted(rows, {key: 'name', descending: false});
  assert.deepStrictEqual(byName.map(({id}) => id), [1, 0]);
});

test('all words of a search have to be there, in any case and order', () => {
  const rows = [row(0, 1, 'chunk_fused'), row(1, 1, 'Chunk_sm90')];
  assert.strictEqual(searched(rows, ' '), rows);
  assert.deepStrictEqual(searched(rows, 'MEASURED chunk').length, 2);
  assert.deepStrictEqual(searched(rows, 'sm90').map(({id}) => id), [1]);
  assert.deepStrictEqual(searched(rows, 'sm90 fused'), []);
});

test('of 20,000 lines only those in sight are made', () => {
  const [first, last] = windowOf(300000, 600, 20000);
  assert.ok(first > 9900 && last < 10100 && last - first < 60, `${first} to ${last}`);
  assert.ok(first * 30 <= 300000 && last * 30 >= 300600);
  assert.deepStrictEqual(windowOf(0, 600, 5), [0, 5]);
  assert.deepStrictEqual(windowOf(9000, 600, 5), [5, 5]);
});

test('a note stays inside the window', () => {
  const screen = {width: 800, height: 600};
  const box = {width: 300, height: 100};
  assert.deepStrictEqual(place(10, 10, box, screen), {left: 24, top: 24});
  for (const [x, y] of [[790, 590], [400, 300], [0, 599], [799, 0]]) {
    const {left, top} = place(x, y, box, screen);
    assert.ok(left >= 4 && left + 300 <= 800 && top >= 4 && top + 100 <= 600, `${x},${y}`);
  }
});

test('numbers, and what is not there', () => {
  assert.strictEqual(formats.duration(0.01234), '12.34 \u00b5s');
  assert.strictEqual(formats.duration(null), '\u2013');
  assert.strictEqual(formats.bytes(undefined), '\u2013');
  assert.strictEqual(formats.bytes(0), '0 B');
  assert.strictEqual(formats.percent(0.943), '94 %');
  assert.strictEqual(formats.factor(1.4349), '1.43\u00d7');
  assert.strictEqual(formats.error(NaN), 'NaN');
  assert.strictEqual(formats.energy(0.0123), '12.3 mJ');
  assert.strictEqual(formats.energy(2.5), '2.5 J');
  assert.strictEqual(formats.count(1234567), '1,234,567');
  assert.strictEqual(formats.plural(1, 'row'), '1 row');
  assert.strictEqual(formats.plural(2000, 'row'), '2,000 rows');
});
