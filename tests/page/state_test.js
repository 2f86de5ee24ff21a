// Filters, sort order and view, to the address's fragment and back.

import assert from 'node:assert';
import test from 'node:test';
import {everything, filtered, firstState, fromFragment, offers, picked, refiltered, toFragment,
  toggled} from '../../page/state.js';

const rows = [
  {operator: 'softmax', direction: 'forward', dtype: 'float32', shape: 'B=1', variant: 'online'},
  {operator: 'softmax', direction: 'forward', dtype: 'float32', shape: 'B=2', variant: 'online'},
  {operator: 'softmax', direction: 'forward', dtype: 'float32', shape: 'B=2', variant: 'other'},
  {operator: 'gla', direction: 'forward', dtype: 'bfloat16', shape: 'B=1', variant: 'decode'},
  {operator: 'gla', direction: 'forward', dtype: 'float16', shape: 'B=1', variant: 'decode'}
];

test('a reader begins with gla, forward, bfloat16', () => {
  const state = firstState(rows);
  assert.deepStrictEqual(state.filters.operator, ['gla']);
  assert.deepStrictEqual(state.filters.direction, [], 'there is but one');
  assert.deepStrictEqual(state.filters.dtype, ['bfloat16']);
});

test('without gla it is what has most records', () => {
  const other = rows.slice(0, 3).concat({operator: 'attention', direction: 'backward',
    dtype: 'float16'});
  assert.deepStrictEqual(firstState(other).filters.operator, ['softmax']);
  assert.deepStrictEqual(firstState([]), everything());
});

test('a fragment gives the same state back', () => {
  const state = everything();
  state.filters.operator = ['gla', 'a&b=c#d'];
  state.filters.shape = ['B=8 T=4096', ''];
  state.filters.variant = ['</script><b>', 'ü%'];
  state.search = 'two words';
  state.sort = {key: 'hot_ms', descending: true};
  state.view = 'why';
  state.theme = 'dark';
  const fragment = toFragment(state);
  assert.ok(/^[A-Za-z0-9_.!~*'()%&=-]+$/.test(fragment), fragment);
  assert.deepStrictEqual(fromFragment(`#${fragment}`, null), state);
});

test('nothing chosen is not the same as the first state', () => {
  const first = firstState(rows);
  assert.strictEqual(fromFragment('', first), first);
  assert.strictEqual(fromFragment('#', first), first);
  assert.strictEqual(toFragment(everything()), 'all');
  assert.deepStrictEqual(fromFragment('#all', first), everything());
});

test('what is not understood is left out', () => {
  const state = fromFragment('#operator=gla&nothing=1&sort=&theme=pink&dtype=%E0%A4%A&__proto__=x',
    null);
  const expected = everything();
  expected.filters.operator = ['gla'];
  assert.deepStrictEqual(state, expected);
});

test('values of a facet are alternatives, facets have to hold together', () => {
  const {filters} = everything();
  filters.operator = ['softmax', 'gla'];
  filters.shape = ['B=1'];
  assert.deepStrictEqual(filtered(rows, filters).map(row => rows.indexOf(row)), [0, 3, 4]);
  assert.strictEqual(filtered(rows, everything().filters), rows);
});

test('a facet offers what the others leave, and what is chosen', () => {
  const {filters} = everything();
  filters.operator = ['gla'];
  filters.dtype = ['float32'];
  assert.deepStrictEqual(offers(rows, filters, 'dtype'), [{value: 'bfloat16', count: 1},
    {value: 'float16', count: 1}, {value: 'float32', count: 0}]);
});

test('shapes are offered by their lengths, others by the alphabet', () => {
  const shapes = ['B=1 T=32768 H=16', 'B=1 T=64 H=16', 'B=128 T=64 H=4', 'B=2 columns=100'];
  const extentsOf = shape => shape.split(' ').map(part => part.split('=')).map(([name, value]) =>
    ({name, value: Number(value), role: 'TBH'.indexOf(name) > 0 ? 'blocks' : 'amount'}));
  const list = shapes.map((shape, at) =>
    ({shape, extents: extentsOf(shape), gate: ['none', 'mild', 'strong', 'mild'][at]}));
  const names = facet => offers(list, everything().filters, facet).map(({value}) => value);
  assert.deepStrictEqual(names('shape'), [shapes[3], shapes[1], shapes[2], shapes[0]]);
  assert.deepStrictEqual(names('gate'), ['mild', 'none', 'strong']);
});

test('a second toggle takes the first back, and the old state stays as it was', () => {
  const state = everything();
  const once = toggled(state, 'gate', 'mild');
  assert.deepStrictEqual(once.filters.gate, ['mild']);
  assert.deepStrictEqual(toggled(once, 'gate', 'mild').filters.gate, []);
  assert.deepStrictEqual(state, everything());
});

test('what is picked in a figure lives in the fragment, and pages end with their filters', () => {
  const state = picked(picked(everything(), 'tiles', {variant: 'a&b', page: ''}), 'wins',
    {page: '3', order: 'close'});
  const fragment = toFragment(state);
  assert.strictEqual(fragment, 'tiles.variant=a%26b&wins.page=3&wins.order=close');
  assert.deepStrictEqual(fromFragment(fragment, everything()).picks,
    {'tiles.variant': 'a&b', 'wins.page': '3', 'wins.order': 'close'});
  const odd = fromFragment('#.x=1&a.=2&__proto__.x.y=3&tiles=4', everything());
  assert.deepStrictEqual(odd.picks, {});
  const left = {'tiles.variant': 'a&b', 'wins.order': 'close'};
  assert.deepStrictEqual(toggled(state, 'operator', 'gla').picks, left);
  assert.deepStrictEqual(refiltered(state, {operator: ['gla']}).picks, left);
  assert.deepStrictEqual(refiltered(state, {operator: ['gla']}).filters.operator, ['gla']);
});
